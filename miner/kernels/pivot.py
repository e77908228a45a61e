"""Products of two sparse tables of translation probabilities: translation by a third language.

A table is a ragged array of the translations of each token: ``rows``, ``columns`` and ``probability
(m,) float32``.
"""

import numpy as np

from miner.kernels.loops import njit


@njit(lanes=True)
def composed(lane, lanes, first, then, least, out, sizes):
    """Multiply two tables: p(y | x) sums p(e | x) of ``first`` times p(y | e) of ``then`` over e.

    ``sizes (V,) int64`` gets the number of translations of at least ``least`` of each token. If the
    columns of the table ``out`` are not empty, they are written there from ``rows[token]``,
    ascending.
    """
    first_rows, first_columns, first_probability = first
    then_rows, then_columns, then_probability = then
    rows, columns, probability = out
    size = len(first_rows) - 1
    total = np.zeros(size, dtype=np.float64)
    seen = np.empty(size, dtype=np.int32)
    for x in range(lane, size, lanes):
        found = 0
        for i in range(first_rows[x], first_rows[x + 1]):
            e = first_columns[i]
            for j in range(then_rows[e], then_rows[e + 1]):
                y = then_columns[j]
                if total[y] == 0.0:
                    seen[found] = y
                    found += 1
                total[y] += np.float64(first_probability[i]) * then_probability[j]
        kept = 0
        for y in np.sort(seen[:found]):
            if total[y] >= least:
                if len(columns):
                    columns[rows[x] + kept] = y
                    probability[rows[x] + kept] = min(total[y], 1.0)
                kept += 1
            total[y] = 0.0
        sizes[x] = kept
