"""Filters that select among good pairs: by rank, per source, by length or corpus.

They compare the pairs kept by the filters before them, so their result depends on theirs.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.duplicates import Duplicates
from miner.filters.filter_types import (
    Batch,
    Comparison,
    Context,
    Rivals,
)

# Tokens per bin of lengths, and number of bins; the last bin has all longer texts.
WIDTH, BINS = 5, 11


class PerSource(Duplicates):
    """Rank of a pair among the pairs with its source, 1 the best."""

    def __init__(self, settings: Mapping[str, Any], context: Context):
        super().__init__({"of": "source", "exact": False}, context)
        self.by = "all"

    def scores(self, rivals: Rivals) -> np.ndarray:
        group = np.unique(rivals.keys[:, 0], return_inverse=True)[1]
        return places_in_groups(group, rivals.rank, rivals.rows) + 1.0


class Percentile(Comparison):
    """Percentile rank of a pair: the share of the pairs that are no better, in per cent."""

    by = "place"

    def scores(self, rivals: Rivals) -> np.ndarray:
        return np.asarray((rivals.total - rivals.place) * 100 / max(rivals.total, 1))


class Decile(Comparison):
    """Tenth of the pairs that a pair is in, 1 (the worst) to 10."""

    by = "place"

    def scores(self, rivals: Rivals) -> np.ndarray:
        worse = rivals.total - 1 - rivals.place
        return np.asarray(np.floor(worse * 10 / max(rivals.total, 1)) + 1)


class Mixed(Comparison):
    """Rank of a pair in a mixture of groups, 1 for the first pair selected.

    The pairs of a group are selected best first, and groups in proportion to their weight, size to
    the power of 1 / temperature. An exhausted group leaves its share to the others.
    """

    by = "all"

    def __init__(self, settings: Mapping[str, Any], context: Context):
        self.of, self.temperature = settings["of"], settings["temperature"]
        if self.of == "length":
            self.field = ("length", "<u4", 1)

    def sketch(self, batch: Batch) -> np.ndarray:
        return np.minimum(np.maximum(batch.lengths[1] - 1, 0) // WIDTH, BINS - 1)[:, None]

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        return sketches.astype(np.uint64)

    def scores(self, rivals: Rivals) -> np.ndarray:
        rows, rank, corpora = rivals.rows, rivals.rank, self.of == "corpus"
        group = np.searchsorted(rivals.starts, rows, "right") if corpora else rivals.keys[:, 0]
        _, group, count = np.unique(group, return_inverse=True, return_counts=True)
        weight = np.ones(len(count))
        if corpora:
            weight = count ** (1 / self.temperature)
        group_rank = places_in_groups(group, rank, rows)
        order = np.lexsort((rows, -rank, (group_rank + 1) / weight[group]))
        out = np.empty(len(rows))
        out[order] = np.arange(1, len(rows) + 1)
        return out


def places_in_groups(group: np.ndarray, rank: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rank of each pair in its group, 0 for the best: ``(m,)``."""
    order = np.lexsort((rows, -rank, group))
    size = np.bincount(group, minlength=1)
    group_rank = np.empty(len(order), np.int64)
    group_rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    return group_rank


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "decile": {"build": lambda settings, context: Decile()},
    "per_source": {"build": PerSource},
    "percentile": {"build": lambda settings, context: Percentile()},
    "mixed": {"build": Mixed},
}
