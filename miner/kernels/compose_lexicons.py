"""Composition of two sparse tables of translation probabilities, by way of a third language.

A table is a ragged array of the translations of each token: ``rows``, ``columns`` and ``probability
(m,) float32``.
"""

import numpy as np

from miner.kernels.library import kernel
from miner.kernels.model1 import Entries
from miner.parallel import in_lanes
from miner.ragged import offsets_of

# Writes products of at least ``least`` to ``columns`` and ``probability``, from ``rows[token]`` on,
# by ascending column; if these arrays are empty, it only counts. ``sizes`` gets the number of
# products of each token.
_composed = in_lanes(
    kernel(
        "composed(lane: int, lanes: int, first_rows: i8[V+1], first_columns: i4[e], "
        "first_probability: f4[e], then_rows: i8[V+1], then_columns: i4[f], "
        "then_probability: f4[f], least: float, rows: i8[V+1], &columns: i4[m], "
        "&probability: f4[m], &sizes: i8[V]) -> memory"
    )
)


def composed(first: Entries, then: Entries, least: float) -> Entries:
    """Compose two tables: p(y | x) is the sum over e of p(e | x) of ``first`` × p(y | e) of
    ``then``.

    Products below ``least`` are dropped.
    """
    rows, sizes = np.zeros_like(first[0]), np.zeros(len(first[0]) - 1, np.int64)
    for _ in range(2):  # sizes, then entries
        columns, probability = np.empty(rows[-1], np.int32), np.empty(rows[-1], np.float32)
        _composed(*first, *then, least, rows, columns, probability, sizes)
        rows = offsets_of(sizes)
    return rows, columns, probability
