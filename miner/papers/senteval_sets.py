"""Files of SentEval (Conneau and Kiela 2018) in their official layout.

A set is read from ``DIR/NAME``, ``DIR/downstream/NAME`` or ``DIR/senteval/NAME``. MRPC, SICK-R and
STS-B are read from the layout of ``miner data get`` too (``paraphrase/msrpc.train.tsv``,
``sts/sick-r.train.tsv``, ``sts/stsb.en.train.tsv``).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.errors import CorpusError
from miner.evaluation.labelled_text import find_file, read_labelled
from miner.text.lines import read_lines


@dataclass(frozen=True, eq=False)
class Part:
    """Items of a set: one sentence each or two, and their labels or grades ``(n,)``."""

    first: list[str]
    second: list[str] | None
    label: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


# Parts by name: "all", or "train", "dev" (in some sets) and "test".
Parts = dict[str, Part]


@dataclass(frozen=True)
class Layout:
    """Set of SentEval: its official folder, its files, and how they become parts."""

    folder: str
    files: tuple[str, ...]
    read: Callable[[Sequence[Path]], Parts]
    # Files of ``miner data get`` that hold the same, without their suffix, by part.
    converted: tuple[tuple[str, str], ...] = ()


def find(data: Path, name: str) -> Callable[[], Parts] | None:
    """Find the set ``name`` of :data:`LAYOUTS`; return its reader, None where it is not there."""
    layout = LAYOUTS[name]
    for folder in (data / "downstream", data / "senteval", data):
        found = [find_file(folder / layout.folder, file) for file in layout.files]
        paths = [path for path in found if path is not None]
        if len(paths) == len(found):
            return lambda: layout.read(paths)
    ours = {part: find_file(data, f"{file}.tsv") for part, file in layout.converted}
    if ours and all(ours[part] is not None for part in ("train", "test")):
        return lambda: _converted([(part, path) for part, path in ours.items() if path], name)
    return None


def _converted(files: Sequence[tuple[str, Path]], name: str) -> Parts:
    parts: Parts = {}
    for part, path in files:
        pairs = read_labelled(path)
        parts[part] = Part(pairs.first, pairs.second, pairs.score)
    if name == "MRPC" and "dev" in parts:  # the official split has no development part
        parts["train"] = _join([parts["train"], parts.pop("dev")])
    return parts


def _join(parts: Sequence[Part]) -> Part:
    second = None
    if parts[0].second is not None:
        second = [text for part in parts for text in part.second or []]
    first = [text for part in parts for text in part.first]
    return Part(first, second, np.concatenate([part.label for part in parts]))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line that is not blank; Latin-1 where it is not UTF-8."""
    for number, line in enumerate(read_lines(str(path)), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode("latin-1")
        if text.strip():
            yield number, text.rstrip("\r\n")


def _cells(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    for number, text in _lines(path):
        cells = text.split("\t")
        if len(cells) < columns:
            raise CorpusError(
                f"{path}, line {number}: {len(cells)} columns, not {columns}; it is not the "
                "official file of SentEval"
            )
        yield number, cells


def _part(path: Path, rows: Iterable[tuple[str, str | None, float]]) -> Part:
    listed = list(rows)
    if not listed:
        raise CorpusError(f"{path}: no sentences in it; download it again")
    second = None if listed[0][1] is None else [row[1] or "" for row in listed]
    return Part([row[0] for row in listed], second, np.array([row[2] for row in listed]))


def _two_files(paths: Sequence[Path]) -> Parts:
    """Read a file of sentences for each label, 1 and 0."""
    both = [
        _part(path, ((text.strip(), None, label) for _, text in _lines(path)))
        for path, label in zip(paths, (1.0, 0.0), strict=True)
    ]
    return {"all": _join(both)}


def _sentiment(paths: Sequence[Path]) -> Parts:
    """Read 'sentence, tab, label' (binary), or 'label sentence' of files with five labels."""

    def rows(path: Path) -> Iterator[tuple[str, None, float]]:
        for number, text in _lines(path):
            head, _, tail = text.rpartition("\t")
            sentence, label = (head, tail) if head else (text[2:], text[:1])
            if not label.strip().isdigit():
                raise CorpusError(f"{path}, line {number}: {label!r} is not a label")
            yield sentence.strip(), None, float(label)

    return {part: _part(path, rows(path)) for part, path in zip(SPLIT, paths, strict=True)}


def _questions(paths: Sequence[Path]) -> Parts:
    """Read 'COARSE:fine question'; the coarse label counts."""
    names: dict[str, int] = {}

    def rows(path: Path) -> Iterator[tuple[str, None, float]]:
        for number, text in _lines(path):
            label, colon, rest = text.partition(":")
            if not colon:
                raise CorpusError(f"{path}, line {number}: no label before a colon")
            question = rest.partition(" ")[2]
            yield question, None, float(names.setdefault(label, len(names)))

    return {part: _part(path, rows(path)) for part, path in zip(LEARNED, paths, strict=True)}


def _mrpc(paths: Sequence[Path]) -> Parts:
    def rows(path: Path) -> Iterator[tuple[str, str, float]]:
        for number, cells in _cells(path, 5):
            if number > 1:
                yield cells[3], cells[4], _number(path, number, cells[0])

    return {part: _part(path, rows(path)) for part, path in zip(LEARNED, paths, strict=True)}


ENTAILMENT = {"CONTRADICTION": 0.0, "NEUTRAL": 1.0, "ENTAILMENT": 2.0}


def _sick(entailment: bool) -> Callable[[Sequence[Path]], Parts]:
    """Make the reader of SICK: pair, two sentences, grade of relatedness, entailment."""

    def rows(path: Path) -> Iterator[tuple[str, str, float]]:
        for number, cells in _cells(path, 5):
            if number == 1:
                continue
            if not entailment:
                yield cells[1], cells[2], _number(path, number, cells[3])
            elif cells[4].strip() in ENTAILMENT:
                yield cells[1], cells[2], ENTAILMENT[cells[4].strip()]
            else:
                raise CorpusError(f"{path}, line {number}: {cells[4]!r} is no judgement")

    return lambda paths: {
        part: _part(path, rows(path)) for part, path in zip(SPLIT, paths, strict=True)
    }


def _benchmark(paths: Sequence[Path]) -> Parts:
    def rows(path: Path) -> Iterator[tuple[str, str, float]]:
        for number, cells in _cells(path, 7):
            yield cells[5], cells[6], _number(path, number, cells[4])

    return {part: _part(path, rows(path)) for part, path in zip(SPLIT, paths, strict=True)}


def _number(path: Path, line: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise CorpusError(f"{path}, line {line}: {cell!r} is no number") from None


SPLIT = ("train", "dev", "test")
LEARNED = ("train", "test")
_SICK_FILES = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
_SENTIMENT = tuple(f"sentiment-{part}" for part in SPLIT)
LAYOUTS = {
    "MR": Layout("MR", ("rt-polarity.pos", "rt-polarity.neg"), _two_files),
    "CR": Layout("CR", ("custrev.pos", "custrev.neg"), _two_files),
    "SUBJ": Layout("SUBJ", ("subj.objective", "subj.subjective"), _two_files),
    "MPQA": Layout("MPQA", ("mpqa.pos", "mpqa.neg"), _two_files),
    "SST2": Layout("SST/binary", _SENTIMENT, _sentiment),
    "SST5": Layout("SST/fine", _SENTIMENT, _sentiment),
    "TREC": Layout("TREC", ("train_5500.label", "TREC_10.label"), _questions),
    "MRPC": Layout(
        "MRPC",
        ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
        _mrpc,
        (
            ("train", "paraphrase/msrpc.train"),
            ("dev", "paraphrase/msrpc.val"),
            ("test", "paraphrase/msrpc.test"),
        ),
    ),
    "SICK-E": Layout("SICK", _SICK_FILES, _sick(entailment=True)),
    "SICK-R": Layout(
        "SICK",
        _SICK_FILES,
        _sick(entailment=False),
        tuple((part, f"sts/sick-r.{part}") for part in SPLIT),
    ),
    "STS-B": Layout(
        "STS/STSBenchmark",
        tuple(f"sts-{part}.csv" for part in SPLIT),
        _benchmark,
        tuple((part, f"sts/stsb.en.{part}") for part in SPLIT),
    ),
}
