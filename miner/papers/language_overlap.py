"""Languages compared: vocabulary overlap and distances, correlated with scores (P19, section 5).

Wieting et al. 2019 train a model for each foreign language beside English, and ask what correlates
with a high score on English sentences: common vocabulary, or nearness in grammar, sounds, family or
place. With few languages a correlation says little, so each comes with their number.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.tokenizer import Tokenizer
from miner.errors import CorpusError
from miner.evaluation.labelled_text import number_in, tab_rows
from miner.evaluation.metrics import spearman, value_of
from miner.text.bitext import read_bitext
from miner.text.lines import display_name
from miner.text.output import StrPath
from miner.text_table import aligned

# Fewest languages for a correlation: two points always lie on a line.
FEWEST = 3
# Starts a line that is a comment, for example on the source of a table.
COMMENT = "#"
# Name of the column of vocabulary overlaps.
OVERLAP = "overlap"

# Values by language code.
Column = dict[str, float]


@dataclass(frozen=True)
class Overlap:
    """Numbers of distinct pieces that the source and the target text use, and that both use."""

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
    """Spearman's correlation over a number of languages.

    value: -1 to 1; None for fewer than `FEWEST` languages, or where a column is constant.
    """

    value: float | None
    languages: int


@dataclass(frozen=True)
class LanguageComparison:
    """Scores of languages, further columns, and the correlation of each column with the scores.

    pieces: counts behind the column `OVERLAP`. split: correlations by group of languages.
    """

    scores: Column
    columns: dict[str, Column]
    pieces: dict[str, Overlap]
    spearman: dict[str, Correlation]
    split: dict[str, dict[str, Correlation]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison ready for JSON."""
        plain = asdict(self)
        return plain | plain.pop("split")


def compare_languages(
    scores: str,
    distances: str | None,
    models: Mapping[str, str],
    texts: Mapping[str, str],
    split: float | None = None,
) -> LanguageComparison:
    """Correlate the scores of a file with the columns of another and with vocabulary overlaps.

    models and texts: by language, a model directory and a bitext in TSV. split: correlate the
    languages whose overlap is at most this, and those above it, apart. Raises CorpusError.
    """
    known = read_scores(scores)
    if not known:
        raise CorpusError(f"{scores}: holds no score; give lines of 'language, tab, score'")
    unknown = [language for language in models if language not in known]
    if unknown:
        raise CorpusError(f"{scores}: has no score of {unknown[0]}, which --model names; add it")
    columns = {} if distances is None else read_distances(distances)
    if models and OVERLAP in columns:
        raise CorpusError(f"{distances}: has a column {OVERLAP!r}, as --model has; rename it")
    overlaps = {}
    for language, model in models.items():
        tokenizer = Encoder.load(model, side="source").tokenizer
        bitext = read_bitext(texts[language])
        overlaps[language] = overlap(tokenizer, bitext.source, bitext.target)
    if overlaps:
        columns[OVERLAP] = {language: one.share for language, one in overlaps.items()}
    parts = {} if split is None else correlate_apart(known, columns, split)
    return LanguageComparison(known, columns, overlaps, correlate(known, columns), parts)


def overlap(tokenizer: Tokenizer, source: Sequence[str], target: Sequence[str]) -> Overlap:
    """Count the distinct pieces that two texts use, tokenised by one tokenizer.

    For a model with separate vocabularies, give the tokenizer of either side: pieces of one
    spelling count as one, though the model has an embedding of each for both sides.
    """
    one, other = (np.unique(tokenizer(side)[0]) for side in (source, target))
    return Overlap(len(one), len(other), len(np.intersect1d(one, other, assume_unique=True)))


def correlate(scores: Column, columns: Mapping[str, Column]) -> dict[str, Correlation]:
    """Return Spearman's correlation of each column with the scores, over their common languages."""
    found = {}
    for name, column in columns.items():
        both = [language for language in scores if language in column]
        x, y = (np.array([values[one] for one in both]) for values in (scores, column))
        enough = len(both) >= FEWEST and x.min() < x.max() and y.min() < y.max()
        value = value_of(spearman(x, y), len(both)) if enough else None
        found[name] = Correlation(value, len(both))
    return found


def correlate_apart(
    scores: Column, columns: Mapping[str, Column], split: float
) -> dict[str, dict[str, Correlation]]:
    """Correlate languages with an overlap of at most ``split``, and others, apart (P19, table 5).

    Languages without an overlap are in neither group. Raises CorpusError without the column.
    """
    if OVERLAP not in columns:
        raise CorpusError(f"there is no column {OVERLAP!r} to split languages by")
    share = columns[OVERLAP]
    groups = {
        f"overlap <= {split:g}": {one: scores[one] for one in scores if share.get(one, 2) <= split},
        f"overlap > {split:g}": {one: scores[one] for one in scores if share.get(one, -1) > split},
    }
    return {name: correlate(own, columns) for name, own in groups.items()}


def table(found: LanguageComparison) -> list[str]:
    """Lines of a table of the languages, from the best, and below them the correlations."""
    rows = [["language", "score", *found.columns]]
    for language in sorted(found.scores, key=lambda one: (-found.scores[one], one)):
        values = [found.scores[language], *(one.get(language) for one in found.columns.values())]
        rows.append([language, *map(_cell, values)])
    if not found.columns:
        return aligned(rows)
    for group, own in {"Spearman": found.spearman, **found.split}.items():
        rows.append([group, "", *(_cell(own[name].value) for name in found.columns)])
        rows.append(["languages", "", *(str(own[name].languages) for name in found.columns)])
    lines, below = aligned(rows), 2 + 2 * len(found.split)
    return [*lines[:-below], "", *lines[-below:]]


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def read_scores(path: StrPath) -> Column:
    """Read ``language⇥score`` lines, in the order of the file.

    Empty lines and comments are skipped. Raises CorpusError with file and line for other lines,
    for a score that is no finite number, and for a language with two lines.
    """
    wrong = "expected a language and its score, separated by a tab"
    return _columns(path, _rows(path), ["score"], wrong)["score"]


def read_distances(path: StrPath) -> dict[str, Column]:
    """Read a table with the header ``language⇥name⇥name…``: its columns, by name.

    An empty cell means that the language has no value. Otherwise as :func:`read_scores`.
    """
    rows = _rows(path)
    line, (_, *names) = next(rows, (1, [""]))
    if not names or not all(names) or len(set(names)) < len(names):
        wrong = "expected 'language' and different column names, separated by tabs"
        raise _fault(path, line, wrong)
    return _columns(path, rows, names)


def _rows(path: StrPath) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each line that is no comment."""
    for line, cells in tab_rows(path):
        if not cells[0].startswith(COMMENT):
            yield line, [cell.strip() for cell in cells]


def _columns(
    path: StrPath, rows: Iterator[tuple[int, list[str]]], names: Sequence[str], wrong: str = ""
) -> dict[str, Column]:
    """Read the columns ``names``; with ``wrong``, said of other lines, no cell may be empty."""
    found: dict[str, Column] = {name: {} for name in names}
    seen = {""}
    for line, (language, *cells) in rows:
        if len(cells) != len(names):
            counts = f"has {len(cells) + 1} cells, the first line {len(names) + 1}"
            raise _fault(path, line, wrong or counts)
        if language in seen:
            twice = f"{language} is listed twice; remove one line" if language else "no language"
            raise _fault(path, line, twice)
        seen.add(language)
        for name, cell in zip(names, cells, strict=True):
            if not (cell or wrong):
                continue
            value = number_in(cell)
            if not math.isfinite(value):
                said = f"{cell!r} is not a number; a heading begins with {COMMENT}"
                raise _fault(path, line, said)
            found[name][language] = value
    return found


def _fault(path: StrPath, line: int, what: str) -> CorpusError:
    return CorpusError(f"{display_name(str(path))}, line {line}: {what}")
