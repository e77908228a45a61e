"""Comparison of languages: vocabulary overlap and distances, correlated with scores (P19, section
4.2).

Wieting et al. 2019 train a model for each foreign language beside English, and ask what correlates
with a high score on English sentences: common vocabulary, or nearness in grammar, sounds, family or
place. With few languages a correlation says little, so each is reported with their number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner.encoder.tokenizer import Tokenizer
from miner.evaluation.metrics import spearman, value_of

# Fewest languages for a correlation: two points always lie on a line.
FEWEST = 3
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
        """Overlap |V1 ∩ V2| / |V1 ∪ V2|, 0 to 1; 0 if neither side has a piece (P19, section
        4.2).
        """
        either = self.source + self.target - self.both
        return self.both / either if either else 0.0


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation over a number of languages.

    value: -1 to 1; None for fewer than `FEWEST` languages, or where a column is constant.
    """

    value: float | None
    languages: int


def overlap(
    tokenizer: Tokenizer,
    source: Sequence[str],
    target: Sequence[str],
    of_target: Tokenizer | None = None,
) -> Overlap:
    """Count the distinct pieces in two texts; ``of_target`` is the tokenizer of the second.

    Without it, both have one. Two tokenizers need one id for each spelling, as those of a model
    with vocabularies ``alike`` have.
    """
    source_pieces, target_pieces = (
        np.unique(tokenize(side)[0])
        for tokenize, side in ((tokenizer, source), (of_target or tokenizer, target))
    )
    return Overlap(
        len(source_pieces),
        len(target_pieces),
        len(np.intersect1d(source_pieces, target_pieces, assume_unique=True)),
    )


def correlate(scores: Column, columns: Mapping[str, Column]) -> dict[str, Correlation]:
    """Return Spearman's correlation of each column with the scores, over their common languages."""
    correlations = {}
    for name, column in columns.items():
        both = [language for language in scores if language in column]
        x, y = (np.array([values[code] for code in both]) for values in (scores, column))
        enough = len(both) >= FEWEST and x.min() < x.max() and y.min() < y.max()
        value = value_of(spearman(x, y), len(both)) if enough else None
        correlations[name] = Correlation(value, len(both))
    return correlations


def correlate_apart(
    scores: Column, columns: Mapping[str, Column], split: float
) -> dict[str, dict[str, Correlation]]:
    """Correlate languages with an overlap of at most ``split``, and the others, separately (P19,
    table 5).

    ``columns`` include one of `OVERLAP`. Languages without an overlap are in neither group.
    """
    share = columns[OVERLAP]
    groups = {
        f"overlap <= {split:g}": {
            language: scores[language] for language in scores if share.get(language, 2) <= split
        },
        f"overlap > {split:g}": {
            language: scores[language] for language in scores if share.get(language, -1) > split
        },
    }
    return {name: correlate(group_scores, columns) for name, group_scores in groups.items()}
