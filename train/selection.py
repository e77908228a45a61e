"""Selection of the pairs of a bitext to train on: by label, score, chance and other files."""

from collections.abc import Sequence

import numpy as np

from miner.errors import CorpusError
from miner.scoring.decontaminate import Unwanted
from miner.text.lines import display_name


def labels(column: Sequence[str], origin: str, lines: np.ndarray) -> np.ndarray:
    """Parse a column of labels, 1 for translations or paraphrases and 0 for others: ``(n,) bool``.

    Raises CorpusError for other values, for example a score.
    """
    for line, text in zip(lines, column, strict=True):
        if text.strip() not in ("1", "0", "1.0", "0.0"):
            raise CorpusError(
                f"{display_name(origin)}, line {line}: the label {text!r} is neither 1 nor 0; "
                "mend the line or choose another column"
            )
    return np.array([text.strip().startswith("1") for text in column], dtype=bool)


def cut(count: int, share: float, scores: np.ndarray | None = None) -> np.ndarray:
    """Select the best ``share`` of ``count`` pairs; return their rows, ascending: ``(m,) int64``.

    The best have the highest ``scores (n,)``, or come first (S18). At least one row is kept, if
    there are any.
    """
    keep = min(count, max(1, round(count * share)))
    if scores is None:
        return np.arange(keep)
    return np.sort(np.argsort(-scores, kind="stable")[:keep])


def cut_clean(probability: np.ndarray, clean: float) -> np.ndarray:
    """Select the longest run of best pairs that is clean enough: ascending rows ``(m,) int64``.

    Cleanliness is the share of good pairs (S18, section 4.2: sets of 80, 70 and 60%), estimated by
    the mean of ``probability (n,)``, each in [0, 1]. The run may be empty.
    """
    order = np.argsort(-probability, kind="stable")
    # Means of sorted values decrease, so the rows that are clean enough come first.
    means = np.cumsum(probability[order]) / np.arange(1, len(order) + 1)
    return np.sort(order[: np.count_nonzero(means >= clean - 1e-12)])


def draw(count: int, sample: int, seed: int) -> np.ndarray:
    """Draw ``sample`` rows of ``count`` at random, ascending: ``(m,) int64``; all if it is 0."""
    if sample == 0 or sample >= count:
        return np.arange(count)
    generator = np.random.default_rng([seed, 7])
    return np.sort(generator.choice(count, size=sample, replace=False))


def seen(sides: Sequence[Sequence[str]], unwanted: Sequence[Unwanted]) -> np.ndarray:
    """Find the pairs with a side that ``unwanted`` excludes: ``(n,) bool``.

    ``sides`` are the columns, ``n`` sentences each.
    """
    mask = np.zeros(len(sides[0]), dtype=bool)
    for exclusion in unwanted:
        for number, side in enumerate(sides):
            mask |= exclusion.hits(side, number) > 0
    return mask
