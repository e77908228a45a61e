"""Conversion of downloaded sets into the layout that is evaluated: one record a line, in TSV.

These sources have no quoting, whatever their suffix. Rows that a set's protocol skips, for example
pairs without a gold score, are skipped and counted.

Similarity sets are STS 2012 to 2017, the STS Benchmark and SICK-R; scores stay as the source
writes them. Labelled pairs become ``score or label⇥sentence⇥sentence``.

Opusparcus (Creutz 2018, "Open Subtitles Paraphrase Corpus for Six Languages") has an archive for
each language, with ``LL-dev.txt`` and ``LL-test.txt``, annotated by two people each, and
``LL-train.txt.bz2``, millions of pairs that no one has judged, the likeliest paraphrases first.
They become ``pmi⇥sentence⇥sentence`` in the same order, for ``miner train --keep`` (S18).

PPDB (Pavlick et al. 2015) has phrases of one language with a score, SimpWiki (Coster and Kauchak
2011) sentences of Wikipedia beside the simple ones: both are text that P17 compares with.

PIT-2015 (Xu, Callison-Burch and Dolan 2015, SemEval-2015 task 1) has pairs of tweets. The grade is
the number of five judges who see a paraphrase, in ``test.data`` an expert's, 0 to 5. It becomes a
set of similarity, as P17 uses it, and one of labels without the grades that are called debatable.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path, PurePosixPath

from miner.datasets.archive import lines
from miner.datasets.catalog import STS_NAMES, STS_TRACKS
from miner.datasets.converted_files import (
    Convert,
    Converted,
    PartWriter,
    Row,
    both_sides,
    first_member,
    line_pairs,
    missing_members,
    table_rows,
    wanted_members,
)
from miner.errors import CorpusError
from miner.progress import Reporter, silent
from miner.text.bitext import number_in
from miner.text.output import all_or_none

NO_GOLD, DEBATABLE = "without a gold score", "of a debatable grade"
SPLITS = {"train", "dev", "test"}
SICK_SPLITS = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
SICK_COLUMNS = ("sentence_A", "sentence_B", "relatedness_score", "SemEval_set")
# Columns of PIT-2015: topic and its name, two sentences, votes "(3, 2)" or a grade, and their tags.
PIT_COLUMNS = 7
# Columns of an annotated file: id, two sentences, the annotators' mean grade (1.0 to 4.0).
GRADED_COLUMNS = 4
# Columns of the ranked training pairs: id, two sentences, sum of pointwise mutual information over
# pivot languages, expected back-translations, number of pivot languages, edit distance.
RANKED_COLUMNS = 7


def _sts(
    prefix: str, names: Sequence[str], writer: PartWriter, part: str, files: Sequence[Path]
) -> None:
    """Join the pairs in ``STS.input.NAME.txt`` (2016: ``STS2016.``) and ``STS.gs.NAME.txt``."""
    for name in names:
        with ExitStack() as stack:
            sides = []
            for side in ("input", "gs"):
                wanted = rf"STS(\d{{4}})?\.{side}\.(surprise\.)?{re.escape(name)}\.txt"
                sides.append(first_member(stack, files, wanted, f"{side} of {name}"))
            where = f"{files[0]}, {name}"
            rows = _sts_rows(where, line_pairs(where, *sides))
            writer.rows(f"sts/{prefix}.{name}.tsv", rows)


def _sts_rows(where: str, pairs: Iterable[tuple[str, str]]) -> Iterator[Row | str]:
    for number, (pair, score) in enumerate(pairs, 1):
        cells = pair.split("\t")  # 2016 also names the sources of the sentences
        if len(cells) < 2:
            raise CorpusError(f"{where}, line {number}: no tab between two sentences")
        yield _scored_row(where, number, score, cells[:2])


def _stsb(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read genre, file, year, number, score, two sentences, and at times their sources."""
    for split, where, file in wanted_members(files[0], r"sts-(train|dev|test)\.csv", SPLITS):
        rows = (
            _scored_row(where, number, cells[4], cells[5:7])
            for number, cells in table_rows(where, lines(file), 7)
        )
        writer.rows(f"sts/stsb.en.{split}.tsv", rows)


def _sick(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read the table, whose last column names the split, once for each split."""
    for split, name in SICK_SPLITS.items():
        output = f"sts/sick-r.{name}.tsv"
        for _, where, file in wanted_members(files[0], r"SICK\.txt()"):
            writer.rows(output, _sick_rows(where, lines(file), split))
        if not writer.done.written.get(output):
            raise missing_members(files[0], [split])


def _sick_rows(where: str, texts: Iterable[str], wanted: str) -> Iterator[Row | str]:
    table = table_rows(where, texts, len(SICK_COLUMNS))
    _, head = next(table, (1, []))
    if not set(SICK_COLUMNS) <= set(head):
        raise CorpusError(f"{where}, line 1: names no column {' or '.join(SICK_COLUMNS)}")
    first, second, score, split = (head.index(column) for column in SICK_COLUMNS)
    for number, cells in table:
        if len(cells) != len(head) or cells[split] not in SICK_SPLITS:
            raise CorpusError(f"{where}, line {number}: not a row of TRAIN, TRIAL or TEST")
        if cells[split] == wanted:
            yield _scored_row(where, number, cells[score], (cells[first], cells[second]), least=1)


def _scored_row(
    where: str, number: int, score: str, pair: Sequence[str], least: int = 0
) -> Row | str:
    """Return score and sentences, or `NO_GOLD` for a blank score.

    Raises CorpusError for a score outside of ``least`` to 5.
    """
    score = score.strip()
    if not score:
        return NO_GOLD
    if not least <= number_in(score) <= 5:
        raise CorpusError(f"{where}, line {number}: score {score!r} is not from {least} to 5")
    return score, pair[0].strip(), pair[1].strip()


def _msrpc(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read the rows of MSRPC under their header: a label, two ids and two sentences."""
    for path, split in zip(files, ("train", "test"), strict=True):
        with ExitStack() as stack:
            rows = _msrpc_rows(path, first_member(stack, [path]))
            writer.rows(f"paraphrase/msrpc.{split}.tsv", rows)


def _msrpc_rows(path: Path, texts: Iterable[str]) -> Iterator[Row]:
    table = table_rows(str(path), texts, 5)
    next(table, None)
    for number, cells in table:
        if cells[0] not in ("0", "1"):
            raise CorpusError(f"{path}, line {number}: label {cells[0]!r} is not 0 or 1")
        yield cells[0], cells[3].strip(), cells[4].strip()


def _pit(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read ``train.data``, ``dev.data`` and ``test.data``, each for two outputs."""
    for folder, rows_of in (("sts", _pit_rows), ("paraphrase", _pit_labels)):
        for split, where, file in wanted_members(files[0], r"(train|dev|test)\.data", SPLITS):
            writer.rows(f"{folder}/pit-2015.{split}.tsv", rows_of(where, split, lines(file)))


def _pit_rows(where: str, part: str, texts: Iterable[str]) -> Iterator[Row]:
    """Yield grade and both sentences of each line."""
    for number, cells in table_rows(where, texts, PIT_COLUMNS):
        cell = cells[4].strip()
        match = re.fullmatch(r"([0-5])" if part == "test" else r"\(([0-5]), ?[0-5]\)", cell)
        if match is None:
            raise CorpusError(f"{where}, line {number}: {cell!r} is no grade; download it again")
        yield match[1], cells[2].strip(), cells[3].strip()


def _pit_labels(where: str, part: str, texts: Iterable[str]) -> Iterator[Row | str]:
    debatable = "3" if part == "test" else "2"
    for grade, first, second in _pit_rows(where, part, texts):
        label = "1" if grade > debatable else "0"
        yield DEBATABLE if grade == debatable else (label, first, second)


def _opusparcus(writer: PartWriter, language: str, files: Sequence[Path]) -> None:
    names = rf"{language}-(?:(dev|test)\.txt|train\.txt(?:\.bz2)?)"
    for split, where, file in wanted_members(files[0], names, {"dev", "test"}):
        if split:
            output = f"paraphrase/opusparcus.{language}.{split}.tsv"
            writer.rows(output, _opusparcus_rows(where, lines(file)))
        else:
            output = f"train/paraphrases/opusparcus.{language}.tsv.gz"
            writer.rows(output, _ranked_rows(where, lines(file)))


def _opusparcus_rows(where: str, texts: Iterable[str]) -> Iterator[Row]:
    """Yield grade and both sentences of each line of an annotated file."""
    for number, (_, first, second, cell) in table_rows(where, texts, GRADED_COLUMNS, True):
        grade = number_in(cell)
        if not 1 <= grade <= 4:
            raise CorpusError(
                f"{where}, line {number}: grade {cell} is not between 1 and 4; download it again"
            )
        yield str(grade), first, second


def _ranked_rows(where: str, texts: Iterable[str]) -> Iterator[Row | str]:
    """Yield pointwise mutual information and both sentences of each line of ranked pairs."""
    for number, cells in table_rows(where, texts, RANKED_COLUMNS):
        _, first, second, cell = cells[:4]
        if math.isnan(number_in(cell)):
            raise CorpusError(
                f"{where}, line {number}: {cell!r} is not a number; download it again"
            )
        pair = both_sides((first, second))
        yield pair if isinstance(pair, str) else (cell, *pair)


def _ppdb(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read ``LHS ||| phrase ||| paraphrase ||| NAME=VALUE ... ||| ...``; keep score and phrases."""

    row = re.compile(r".*? \|\|\| (.*?) \|\|\| (.*?) \|\|\| .*?PPDB2\.0Score=(\S+).*")

    def rows(texts: Iterable[str]) -> Iterator[Row]:
        for number, text in enumerate(texts, 1):
            if (match := row.fullmatch(text)) is None:
                raise CorpusError(f"{files[0]}, line {number}: no PPDB2.0Score; is it PPDB 2.0?")
            yield match[3], match[1], match[2]

    with ExitStack() as stack:
        writer.rows("train/paraphrases/ppdb.tsv.gz", rows(first_member(stack, files)))


def _simpwiki(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Pair ``normal.aligned`` with ``simple.aligned``: title, paragraph and sentence, by lines."""
    with ExitStack() as stack:
        names = "normal.aligned", "simple.aligned"
        sides = [first_member(stack, files, re.escape(name), name) for name in names]
        pairs = line_pairs(str(files[0]), *sides)
        rows = (both_sides([side.rpartition("\t")[2] for side in pair]) for pair in pairs)
        writer.rows("train/paraphrases/simpwiki.tsv.gz", rows)


# SentEval's folder for each file of the archive of small sets (Wang and Manning 2012).
SMALL = {
    "rt-polarity.pos": "MR",
    "rt-polarity.neg": "MR",
    "custrev.pos": "CR",
    "custrev.neg": "CR",
    "subj.subjective": "SUBJ",
    "subj.objective": "SUBJ",
    "mpqa.pos": "MPQA",
    "mpqa.neg": "MPQA",
}
# Destination of each download of SentEval's sets (Conneau and Kiela 2018).
SENTEVAL = {
    "sst": [
        f"SST/{kind}/sentiment-{part}"
        for kind in ("binary", "fine")
        for part in ("train", "dev", "test")
    ],
    "trec": ["TREC/train_5500.label", "TREC/TREC_10.label"],
    "sick-e": [f"SICK/SICK_{part}.txt" for part in ("train", "trial", "test_annotated")],
}


def _bucc(writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    """Copy ``id⇥sentence`` and gold ``source id⇥target id`` files unchanged."""
    for path, split in zip(files, ("sample", "training", "test"), strict=True):
        # The gold of test is not known to be published; it is copied if it is there.
        ends = (*pair.split("-"), "gold")
        needed = {f"{pair}.{split}.{end}" for end in ends if (split, end) != ("test", "gold")}
        names = rf"({pair}\.{split}\.(?:{'|'.join(ends)}))"
        for name, where, file in wanted_members(path, names, needed):
            writer.copy(f"bucc2018/{pair}/{name}", _lines_with_tabs(where, file))


def _lines_with_tabs(where: str, file: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file, 1):
        if b"\t" not in line and line.strip():
            raise CorpusError(f"{where}, line {number}: no tab; it is not BUCC's format")
        yield line if line.endswith(b"\n") else line + b"\n"


def _tatoeba(writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    with ExitStack() as stack:
        sides = [first_member(stack, [path]) for path in files]
        rows = line_pairs(f"{files[0]} and {files[1].name}", *sides)
        writer.rows(f"tatoeba/{pair}.tsv", map(both_sides, rows))


def _small(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    names = f"({'|'.join(map(re.escape, SMALL))})"
    for name, _, file in wanted_members(files[0], names, set(SMALL)):
        target = f"senteval/{SMALL[name]}/{name}"
        if target not in writer.done.written:
            writer.copy(target, file)


def _senteval(places: Sequence[str], writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Copy each download, or the only matching member of its archive, to its destination."""
    for path, target in zip(files, places, strict=True):
        name = PurePosixPath(target).name if path.suffix == ".zip" else path.name
        for _, _, file in wanted_members(path, f"({re.escape(name)})", {name}):
            writer.copy(f"senteval/{target}", file)


CONVERTERS: Mapping[str, Convert] = {
    "bucc2018": _bucc,
    "tatoeba": _tatoeba,
    **{f"sts{year}": partial(_sts, str(year), names) for year, names in STS_NAMES.items()},
    "sts2017": partial(_sts, "2017", STS_TRACKS),
    "stsb": _stsb,
    "sick-r": _sick,
    "msrpc": _msrpc,
    "pit-2015": _pit,
    "opusparcus": _opusparcus,
    "ppdb": _ppdb,
    "simpwiki": _simpwiki,
    "senteval-small": _small,
    **{name: partial(_senteval, places) for name, places in SENTEVAL.items()},
}


def convert(
    name: str, part: str, files: Sequence[Path], into: Path, report: Reporter = silent
) -> Converted:
    """Convert ``files``, the downloads of a part of the set ``name``, to files below ``into``.

    The files of a part are written together or not at all. Raises CorpusError (a damaged archive,
    an unexpected layout, sides that do not match) and ResourceError.
    """
    with all_or_none() as waiting:
        writer = PartWriter(into, waiting, report)
        CONVERTERS[name](writer, part, files)
    return writer.done
