"""Filters that select among good pairs: by rank, per source, by length or corpus.

They compare the pairs kept by the filters before them, so their result depends on theirs.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.duplicates import Duplicates
from miner.filters.filter_types import (
    GLOBAL,
    Batch,
    Comparison,
    Context,
    Filter,
    FilterSetting,
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
    """Share of the pairs that a pair is as good as or better than, in per cent."""

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
        place = places_in_groups(group, rank, rows)
        order = np.lexsort((rows, -rank, (place + 1) / weight[group]))
        out = np.empty(len(rows))
        out[order] = np.arange(1, len(rows) + 1)
        return out


def places_in_groups(group: np.ndarray, rank: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rank of each pair in its group, 0 for the best: ``(m,)``."""
    order = np.lexsort((rows, -rank, group))
    size = np.bincount(group, minlength=1)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(size) - size, size)
    return place


FILTERS = (
    Filter(
        "decile",
        "tenth of the remaining pairs that a pair's score falls in, from 1, the worst, to 10",
        "in tenth {value:.0f} of 10, counted from the worst",
        "higher",
        lambda settings, context: Decile(),
        minimum=9,
        settings={
            "of": FilterSetting("cosine", "label of the filter whose score is ranked", score=True)
        },
        stage=GLOBAL,
        whole=True,
        relative=True,
        paper="Wieting & Gimpel 2018, section 3",
        range=(1, 10),
    ),
    Filter(
        "per_source",
        "rank of a pair among those with its source, 1 for the best [--per-source]",
        "number {value:.0f} of the pairs with this source",
        "lower",
        PerSource,
        maximum=1,
        stage=GLOBAL,
        whole=True,
        range=(1, math.inf),
    ),
    Filter(
        "percentile",
        "percentage of the remaining pairs that a pair is at least as good as, 0 to 100",
        "in percentile {value:.1f}",
        "higher",
        lambda settings, context: Percentile(),
        stage=GLOBAL,
        relative=True,
        range=(0, 100),
    ),
    Filter(
        "mixed",
        "rank of a pair in a mixture of lengths or of corpora [--balance, --temperature]",
        "number {value:.0f} of the mixture",
        "lower",
        Mixed,
        settings={
            "of": FilterSetting("length", "kind of group that is mixed", ("length", "corpus")),
            "temperature": FilterSetting(
                1.0, "corpora of n pairs weigh n ** (1 / temperature)", least=1
            ),
        },
        stage=GLOBAL,
        whole=True,
        relative=True,
    ),
)
