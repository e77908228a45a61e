"""Result of an alignment: rows of beads with their texts, documents and lines, and output files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miner.alignment.ladder import write_ladder
from miner.index.text_files import TextFile
from miner.libraries import library
from miner.option_values import SIDES, Languages
from miner.results import Results, estimated
from miner.text.corpus import CorpusReader
from miner.text.formats import TABLES, check_suffix, file_format
from miner.text.language_codes import primary
from miner.text.words import MARKS, joined
from miner.text.write_bitext import write_bitext

if TYPE_CHECKING:
    from typing_extensions import Self

LADDER = ".ladder"
# Cells of a TSV line without `lines`.
FEW = ("score", *SIDES)
# Sentences per line from which lines are split. Text with a sentence a line has up to 1.3, because
# the splitter also cuts at abbreviations and quotations.
UNSPLIT = 1.5
# Sentence ends of Khmer and Tibetan, which sentencex does not know.
FURTHER_END = re.compile(r"(?<=[។៕༎།])(?=\s+[^\s།༎])|(?<=[។៕])(?=[\u1780-\u17b3])")
# Text wrapped at a fixed width: maximum width, minimum lines, minimum share of lines of nearly that
# width, and minimum share that end within a sentence.
WIDEST, FEWEST, FULL, WITHIN = 120, 20, 0.6, 0.5
# Characters other than letters at which a wrapped line may end within a sentence: commas, and vowel
# signs.
_WITHIN = f",-،、，፣՝{MARKS}"


@dataclass(frozen=True)
class Document:
    """Sentences of a document, the line of each, from 0, and the document's name, URL and
    domain.
    """

    name: str
    texts: list[str]
    lines: np.ndarray
    url: str = ""
    domain: str = ""

    def split(self, language: str) -> Document:
        """Split the lines into sentences, unless most lines are single sentences.

        Lines of a fixed width are first joined to paragraphs, which blank lines separate. A
        sentence gets the number of its line, or of its paragraph's first line. Raises
        DependencyError.
        """
        wrapped = is_wrapped(self.texts)
        document = self._paragraphs() if wrapped else self
        parts = [sentences(language, text) for text in document.texts]
        sizes = list(map(len, parts))
        if not wrapped and sum(sizes) < UNSPLIT * len(parts):
            return self
        return replace(self, texts=list(chain(*parts)), lines=np.repeat(document.lines, sizes))

    def _paragraphs(self) -> Document:
        """Join lines that follow each other without a blank line between."""
        starts = np.flatnonzero(np.diff(self.lines, prepend=-2) > 1)
        ends = [*starts[1:].tolist(), len(self.texts)]
        texts = [joined(self.texts[i:j]) for i, j in zip(starts.tolist(), ends, strict=True)]
        return replace(self, texts=texts, lines=self.lines[starts])


def sentences(language: str, text: str) -> list[str]:
    """Split a text into sentences. Raises DependencyError."""
    segment = library("sentencex", "splitting sentences", "split").segment
    parts = (
        part
        for sentence in segment(primary(language), text)
        for part in FURTHER_END.split(sentence)
    )
    return [part for part in map(str.strip, parts) if part]


def is_wrapped(texts: Sequence[str]) -> bool:
    """Check that lines are cut at a width, as in books of Project Gutenberg."""
    lengths = np.array([len(text) for text in texts])
    if len(texts) < FEWEST or lengths.max() > WIDEST:
        return False
    full = lengths >= 0.8 * np.quantile(lengths, 0.95)
    within = np.array([text[-1:].isalnum() or text[-1:] in _WITHIN for text in texts])
    return bool(full.mean() >= FULL and within[full].mean() >= WITHIN)


@dataclass(frozen=True)
class DocumentFile:
    """File of a document with a sentence a line."""

    file: TextFile

    @property
    def bytes(self) -> int:
        return self.file.stamp[0]

    def read(self) -> Document:
        """Read the lines that have text. Raises CorpusError."""
        with self.file.opened() as path:
            blocks = list(CorpusReader(path))
        texts = [text for block in blocks for text in block.sentences]
        lines = [np.zeros(0, np.int64), *(block.lines - 1 for block in blocks)]
        return Document(self.file.name, texts, np.concatenate(lines))


@dataclass(frozen=True, eq=False, repr=False)
class Aligned(Results):
    """Result of :func:`miner.alignment.align.align`: a row for each bead, in the documents' order.

    ``pair (k,)``: index in ``documents`` of each bead. ``spans (k, 4)``: its sentences, as first
    and end of the source and of the target; empty on one side for a sentence without a counterpart.
    ``score (k,)``: its probability; ``threshold``: the minimum kept. ``warnings``: doubts about
    documents and texts. ``languages``: their codes.
    """

    documents: Sequence[tuple[Document, Document]]
    pair: np.ndarray
    spans: np.ndarray
    score: np.ndarray
    threshold: float | None
    warnings: tuple[str, ...]
    languages: Languages

    def __repr__(self) -> str:
        return f"<{len(self)} beads{estimated(self.precision)}>"

    def __len__(self) -> int:
        return len(self.score)

    def take(self, keep: Any) -> Self:
        return replace(self, pair=self.pair[keep], spans=self.spans[keep], score=self.score[keep])

    @property
    def precision(self) -> float | None:
        """Estimated precision of the beads with both sides: the mean of their probabilities."""
        scores = self.score[both_sides(self.spans)]
        return float(scores.mean()) if len(scores) else None

    @property
    def alone(self) -> tuple[int, int]:
        """Numbers of source and target sentences that are in no row with both sides."""
        spans = self.spans[both_sides(self.spans)]
        source, target = (
            sum(len(both[side].texts) for both in self.documents)
            - int((spans[:, 2 * side + 1] - spans[:, 2 * side]).sum())
            for side in (0, 1)
        )
        return source, target

    def columns(self) -> dict[str, Any]:
        """Return score, texts, documents, lines, and URLs if there are any.

        Several sentences are joined by a space if their script has any, and their line numbers by
        commas.
        """
        more = ["document", "lines"]
        if any(document.url for both in self.documents for document in both):
            more.append("url")
        names = [*SIDES, *(f"{side}_{name}" for side in SIDES for name in more)]
        cells: dict[str, Any] = {"score": self.score, **{name: [] for name in names}}
        for pair, span in zip(self.pair.tolist(), self.spans.tolist(), strict=True):
            for number, (side, document) in enumerate(
                zip(SIDES, self.documents[pair], strict=True)
            ):
                part = slice(span[2 * number], span[2 * number + 1])
                cells[side].append(joined([text.strip() for text in document.texts[part]]))
                values = document.name, numbers(document.lines[part]), document.url
                for name, cell in zip(more, values, strict=False):
                    cells[f"{side}_{name}"].append(cell)
        return cells

    def write(
        self, path: str | Path, target: str | Path | None = None, *, lines: bool = False
    ) -> None:
        """Write the rows in the format of the path, or sources there and targets to ``target``.

        A path ending in ``.ladder`` gets the line numbers of a single pair of documents. TSV has
        score, source and target; with ``lines`` all cells, which two output files have in a third:
        `out.ids` for `out.de`. Raises ValueError for the suffix of another format, and
        ResourceError.
        """
        paths = [str(output) for output in (path, target) if output is not None]
        if paths[0].endswith(LADDER):
            write_ladder(path, ((row["source_lines"], row["target_lines"]) for row in self))
            return
        for output in paths:
            check_suffix(output, TABLES if target is None else ())
        every = lines or (target is None and file_format(paths[0]) not in ("plain", "tsv"))
        rows = (row | {"score": round(row["score"], 4)} for row in self)
        if not every:
            rows = ({name: row[name] for name in FEW} for row in rows)
        more = [name for name in self[:1].columns() if name not in SIDES]
        write_bitext(rows, paths, self.languages, ids=more if lines else ())


def both_sides(spans: np.ndarray) -> np.ndarray:
    """Mask the beads ``(k, 4)`` that have sentences on both sides: ``(k,) bool``."""
    mask: np.ndarray = (spans[:, 0] < spans[:, 1]) & (spans[:, 2] < spans[:, 3])
    return mask


def numbers(lines: np.ndarray) -> str:
    """Join the distinct line numbers by commas."""
    return ",".join(map(str, dict.fromkeys(lines.tolist())))
