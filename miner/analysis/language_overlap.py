"""Which language helps? Scores of languages against what is known of each (P19, section 5).

Wieting et al. 2019 train one model for each foreign language beside English, and ask what goes
with a high score on English sentences: how many pieces the two languages share, or how near they
are in their grammar, sounds, family or place. Here are that share, and Spearman's correlation of
any such column with the scores. With few languages a correlation says little, so each comes with
their number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner.analysis.text_statistics import spearman
from miner.encoder.tokenizer import Tokenizer
from miner.errors import CorpusError
from miner.text.corpus import Reader
from miner.text.lines import display_name
from miner.text.output import StrPath

# Two points always lie on a line.
FEWEST = 3
# Before a line that is no data, such as where a table is from.
NOTE = "#"

# Figures of languages by their codes, columns of them by their names.
Column = dict[str, float]


@dataclass(frozen=True)
class Overlap:
    """How many distinct pieces the text of each side uses, and how many of them both use."""

    source: int
    target: int
    both: int

    @property
    def share(self) -> float:
        """|V1 ∩ V2| / |V1 ∪ V2|, 0 to 1; 0 where neither side has a piece (P19, section 5)."""
        either = self.source + self.target - self.both
        return self.both / either if either else 0.0


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation over so many languages.

    value: -1 to 1; None for fewer than `FEWEST` languages, or where all have one figure or score.
    """

    value: float | None
    languages: int


def overlap(tokenizer: Tokenizer, source: Sequence[str], target: Sequence[str]) -> Overlap:
    """The pieces that two texts use, cut by one tokenizer.

    That of either side of a model with separate vocabularies will do as well: pieces that are spelt
    alike are then one, though the model has an embedding of each for both sides.
    """
    used = []
    for side in (source, target):
        seen = np.zeros(tokenizer.size, dtype=bool)
        seen[tokenizer(side)[0]] = True
        used.append(seen)
    one, other = used
    return Overlap(int(one.sum()), int(other.sum()), int((one & other).sum()))


def overlap_reference(tokenizer: Tokenizer, source: Sequence[str], target: Sequence[str]) -> float:
    """The share of :func:`overlap` as the paper has it, by sets: what it is tested against."""
    one, other = (set(tokenizer(side)[0].tolist()) for side in (source, target))
    return len(one & other) / len(one | other) if one | other else 0.0


def choice(scores: Column, columns: Mapping[str, Column]) -> dict[str, Correlation]:
    """Spearman's correlation of each column with the scores, over the languages that have both."""
    found = {}
    for name, column in columns.items():
        both = [language for language in scores if language in column]
        x, y = (np.array([values[one] for one in both]) for values in (scores, column))
        enough = len(both) >= FEWEST and x.min() < x.max() and y.min() < y.max()
        found[name] = Correlation(spearman(x, y) if enough else None, len(both))
    return found


def read_scores(path: StrPath) -> Column:
    """Read ``language⇥score`` lines, in the order of the file.

    Empty lines, and those that start with ``#``, are passed over. Raises CorpusError with file and
    line for others, for what is no finite number, and for a language that stands there twice.
    """
    found: Column = {}
    for line, cells in _rows(path):
        if len(cells) != 2:
            raise _fault(path, line, "expected a language and its score, separated by a tab")
        _put(found, cells[0], cells[1], path, line)
    return found


def read_distances(path: StrPath) -> dict[str, Column]:
    """Read a table whose first line is ``language⇥name⇥name…``: its columns, by name.

    A language may lack a figure: its cell is empty. Otherwise as :func:`read_scores`.
    """
    rows = _rows(path)
    line, head = next(rows, (1, []))
    names = head[1:]
    if not names or not all(names) or len(set(names)) < len(names):
        raise _fault(path, line, "expected 'language' and different names of columns, by tabs")
    found: dict[str, Column] = {name: {} for name in names}
    seen: set[str] = set()
    for line, cells in rows:
        if len(cells) != len(head):
            raise _fault(path, line, f"has {len(cells)} cells, the first line {len(head)}")
        if cells[0] in seen:
            raise _fault(path, line, f"{cells[0]} stands there already; remove one")
        seen.add(cells[0])
        for name, cell in zip(names, cells[1:], strict=True):
            if cell:
                _put(found[name], cells[0], cell, path, line)
    return found


def _rows(path: StrPath) -> Iterator[tuple[int, list[str]]]:
    for block in Reader(path, format="plain"):
        for line, text in zip(block.lines.tolist(), block.sentences, strict=True):
            if not text.startswith(NOTE):
                yield line, [cell.strip() for cell in text.split("\t")]


def _put(column: Column, language: str, cell: str, path: StrPath, line: int) -> None:
    if not language or language in column:
        which = f"{language} stands there already; remove one" if language else "no language"
        raise _fault(path, line, which)
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _fault(path, line, f"{cell!r} is not a number; a heading begins with {NOTE}")
    column[language] = value


def _fault(path: StrPath, line: int, what: str) -> CorpusError:
    return CorpusError(f"{display_name(str(path))}, line {line}: {what}")
