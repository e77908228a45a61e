"""Stratified sampling of pairs: the order of questions, and each pair's probability of selection.

Within a stratum pairs are ordered by a hash of their texts. So the first n of them are a simple
random sample for every n, a review can stop and resume at any time, and rows added to the file
later do not change the order of the others.

Strata have equal sums of √(p (1 - p)) + LEAST, where p is the score of a pair, if it is a
probability. So equal numbers of questions in each approximate Neyman's allocation (1934): pairs
with an uncertain answer are asked about far more often. For other scores the strata have equal sums
of the square root of the frequency (Dalenius & Hodges 1959).
"""

from collections.abc import Iterator

import numpy as np

# Number of strata of the score, and weight of a pair whose answer seems certain.
STRATA, LEAST = 10, 0.1
# Bins of a score that is not a probability.
BINS = 100


def is_probability(score: np.ndarray) -> bool:
    """Return True if all scores ``(n,)`` could be probabilities, and are not all equal."""
    return bool(len(score) and score.min() >= 0 and score.max() <= 1 and np.ptp(score) > 0)


def strata(score: np.ndarray) -> np.ndarray:
    """Return the stratum of each pair ``(n,) int64``, at most `STRATA`, best scores last.

    Pairs of equal score share a stratum.
    """
    order = np.argsort(score, kind="stable")
    ascending = score[order]
    if is_probability(score):
        weight = np.sqrt(ascending * (1 - ascending)) + LEAST
    elif len(score) and np.ptp(score) > 0:
        edges = np.linspace(ascending[0], ascending[-1], BINS + 1)[1:-1]
        bins = np.searchsorted(edges, ascending, side="right")
        frequency = np.bincount(bins, minlength=BINS)
        weight = 1 / np.sqrt(frequency[bins])
    else:
        return np.zeros(len(score), dtype=np.int64)
    middle = np.cumsum(weight) - weight / 2
    number = np.minimum(middle / weight.sum() * STRATA, STRATA - 1).astype(np.int64)
    # All pairs of equal score get the stratum of the first.
    number = number[np.searchsorted(ascending, ascending, side="left")]
    out = np.empty(len(score), dtype=np.int64)
    out[order] = np.unique(number, return_inverse=True)[1]
    return out


def asking_order(key: np.ndarray, stratum: np.ndarray, first: np.ndarray) -> Iterator[int]:
    """Yield the rows of all pairs in the order of questions, in rounds of one per stratum.

    ``key (n,)`` is the random order within strata; strata take turns in the order of ``first``.
    """
    order = np.lexsort((key, stratum))
    starts = np.searchsorted(stratum[order], np.arange(stratum.max(initial=-1) + 2))
    for turn in range(int(np.diff(starts).max(initial=0))):
        for number in first.tolist():
            if starts[number] + turn < starts[number + 1]:
                yield int(order[starts[number] + turn])
