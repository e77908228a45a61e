"""Integer dot products of the token vectors of two sentences. Exact, so the same on every machine.

A tile of products is computed at a time, by instructions that multiply int16 and add neighbours to
sums of int32: 4 x 2 with AVX2, 4 x 4 with AVX-512 VNNI.
"""

import numpy as np

from miner.kernels.library import kernel

# Rows per tile.
ROWS = 4
# Components multiplied per step at every instruction level; vectors are zero-padded to a multiple.
STEP = 32

# Writes the products of the first ``n`` of ``rows`` with ``codes[wanted]`` to ``out``, for tests;
# other functions of the compiled library call it. ``r`` is a multiple of ROWS, ``d`` of STEP;
# columns of ``out`` from n on are undefined.
dots = kernel("dots(rows: i2[r, d], n: int, codes: i1[v, d], wanted: i4[m], &out: f4[m, r])")


def dots_reference(rows, codes, wanted):
    """Numpy reference of :func:`dots`: ``rows (n, d)`` by ``codes[wanted]``, ``(m, n) int64``."""
    return codes[wanted].astype(np.int64) @ rows.astype(np.int64).T


def cosines(codes, scale, left, right):
    """Return cosines ``(n, m) float32`` of the rows ``left (n,)`` and ``right (m,)`` of a table.

    The table of unit rows is ``codes (V, d) int8`` times ``scale (V,) float32``.
    """
    product = dots_reference(codes[right], codes, left).astype(np.float32)
    return product * (scale[left][:, None] * scale[right])
