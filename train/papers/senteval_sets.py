"""Files of SentEval (Conneau and Kiela 2018) in their official layout.

A set is read from ``DIR/NAME``, ``DIR/downstream/NAME`` or ``DIR/senteval/NAME``. MRPC, SICK-R and
STS-B are read from the layout of ``miner data get`` too (``paraphrase/msrpc.train.tsv``,
``sts/sick-r.train.tsv``, ``sts/stsb.en.train.tsv``).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.errors import CorpusError
from miner.evaluation.labelled_text import find_file, read_labelled
from miner.text.lines import read_lines


@dataclass(frozen=True, eq=False)
class SetPart:
    """Items of a set: one sentence or two each, and their labels or grades ``(n,)``."""

    first: list[str]
    second: list[str] | None
    label: np.ndarray


# Parts by name: "all", or "train", "dev" (in some sets) and "test".
Parts = dict[str, SetPart]
# Sentence, second sentence or None, and label; text labels are numbered in order of appearance.
Row = tuple[str, str | None, float | str]
ALL, SPLIT, LEARNED = ("all", "all"), ("train", "dev", "test"), ("train", "test")


@dataclass(frozen=True)
class SetLayout:
    """Set of SentEval: its official folder, its files with their parts, and their reader."""

    folder: str
    files: tuple[str, ...]
    parts: tuple[str, ...]
    rows: Callable[[Path], Iterator[Row]]
    # Files of ``miner data get`` with the same content, without their suffix, and their parts.
    converted: tuple[tuple[str, str], ...] = ()


def find(data: Path, name: str) -> Callable[[], Parts] | None:
    """Find the set ``name`` of :data:`LAYOUTS`; return its reader, None where it is not there."""
    layout = LAYOUTS[name]
    for folder in (data / "downstream", data / "senteval", data):
        paths = [find_file(folder / layout.folder, file) for file in layout.files]
        official = [(part, path) for part, path in zip(layout.parts, paths, strict=True) if path]
        if len(official) == len(paths):
            return lambda: _read(official, layout.rows)
    ours = {file: find_file(data, f"{file}.tsv") for file, _ in layout.converted}
    if ours and all(path or file.endswith((".dev", ".val")) for file, path in ours.items()):
        converted = [(part, path) for file, part in layout.converted if (path := ours[file])]
        return lambda: _read(converted, _converted)
    return None


def _read(files: Iterable[tuple[str, Path]], rows: Callable[[Path], Iterator[Row]]) -> Parts:
    """Read the files of each part. Raises CorpusError for a faulty one."""
    names: dict[str, int] = {}
    listed: dict[str, list[Row]] = {}
    for part, path in files:
        read_rows = list(rows(path))
        if not read_rows:
            raise CorpusError(f"{path}: no sentences in it; download it again")
        listed.setdefault(part, []).extend(read_rows)
    parts = {}
    for part, every in listed.items():
        second = None if every[0][1] is None else [row[1] or "" for row in every]
        labels = (row[2] for row in every)
        numbers = [
            names.setdefault(label, len(names)) if isinstance(label, str) else label
            for label in labels
        ]
        parts[part] = SetPart(
            [row[0] for row in every], second, np.array(numbers, dtype=np.float64)
        )
    return parts


def _converted(path: Path) -> Iterator[Row]:
    pairs = read_labelled(path)
    return zip(pairs.first, pairs.second, pairs.score.tolist(), strict=True)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each non-blank line, as Latin-1 if it is not UTF-8."""
    for number, line in enumerate(read_lines(str(path)), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode("latin-1")
        if text.strip():
            yield number, text.rstrip("\r\n")


def _of_one_label(path: Path) -> Iterator[Row]:
    """Read a file of sentences whose label is in its name."""
    label = float(".pos" in path.name or ".objective" in path.name)
    for _, text in _lines(path):
        yield text.strip(), None, label


def _sentiment(path: Path) -> Iterator[Row]:
    """Read 'sentence, tab, label' (binary), or 'label sentence' of files with five labels."""
    for number, text in _lines(path):
        head, _, tail = text.rpartition("\t")
        sentence, label = (head, tail) if head else (text[2:], text[:1])
        if not label.strip().isdigit():
            raise CorpusError(f"{path}, line {number}: {label!r} is not a label")
        yield sentence.strip(), None, float(label)


def _questions(path: Path) -> Iterator[Row]:
    """Read 'COARSE:fine question'; the coarse label counts."""
    for number, text in _lines(path):
        label, colon, rest = text.partition(":")
        if not colon:
            raise CorpusError(f"{path}, line {number}: no label before a colon")
        yield rest.partition(" ")[2], None, label


ENTAILMENT = {"CONTRADICTION": 0.0, "NEUTRAL": 1.0, "ENTAILMENT": 2.0}


def _table(
    columns: int, label: int, first: int, head: bool = True, judged: bool = False
) -> Callable[[Path], Iterator[Row]]:
    """Return a reader of tables: column of the label, and of the first of two sentences.

    ``head``: skip the first line. ``judged``: the label is one of `ENTAILMENT`.
    """

    def rows(path: Path) -> Iterator[Row]:
        for number, text in _lines(path):
            cells = text.split("\t")
            if len(cells) < columns:
                raise CorpusError(
                    f"{path}, line {number}: {len(cells)} columns, not {columns}; it is not the "
                    "official file of SentEval"
                )
            if number == 1 and head:
                continue
            cell = cells[label]
            try:
                value = ENTAILMENT[cell.strip()] if judged else float(cell)
            except (KeyError, ValueError):
                kind = "judgement" if judged else "number"
                raise CorpusError(f"{path}, line {number}: {cell!r} is no {kind}") from None
            yield cells[first], cells[first + 1], value

    return rows


_SICK = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
_SENTIMENT = tuple(f"sentiment-{part}" for part in SPLIT)
LAYOUTS = {
    "MR": SetLayout("MR", ("rt-polarity.pos", "rt-polarity.neg"), ALL, _of_one_label),
    "CR": SetLayout("CR", ("custrev.pos", "custrev.neg"), ALL, _of_one_label),
    "SUBJ": SetLayout("SUBJ", ("subj.objective", "subj.subjective"), ALL, _of_one_label),
    "MPQA": SetLayout("MPQA", ("mpqa.pos", "mpqa.neg"), ALL, _of_one_label),
    "SST2": SetLayout("SST/binary", _SENTIMENT, SPLIT, _sentiment),
    "SST5": SetLayout("SST/fine", _SENTIMENT, SPLIT, _sentiment),
    "TREC": SetLayout("TREC", ("train_5500.label", "TREC_10.label"), LEARNED, _questions),
    "MRPC": SetLayout(
        "MRPC",
        ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
        LEARNED,
        _table(5, label=0, first=3),
        (  # the official split has no development part
            ("paraphrase/msrpc.train", "train"),
            ("paraphrase/msrpc.val", "train"),
            ("paraphrase/msrpc.test", "test"),
        ),
    ),
    "SICK-E": SetLayout("SICK", _SICK, SPLIT, _table(5, label=4, first=1, judged=True)),
    "SICK-R": SetLayout(
        "SICK",
        _SICK,
        SPLIT,
        _table(5, label=3, first=1),
        tuple((f"sts/sick-r.{part}", part) for part in SPLIT),
    ),
    "STS-B": SetLayout(
        "STS/STSBenchmark",
        tuple(f"sts-{part}.csv" for part in SPLIT),
        SPLIT,
        _table(7, label=4, first=5, head=False),
        tuple((f"sts/stsb.en.{part}", part) for part in SPLIT),
    ),
}
