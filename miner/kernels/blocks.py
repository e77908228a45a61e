"""The nearest columns of a block's rows and the nearest rows of its columns.

The block is float32 and comes from a library's matrix product; :mod:`miner.kernels.fused` is
faster, but less precise.
"""

import numba
import numpy as np

from miner.kernels.fused import put

# Columns that are compared together: a few registers.
STRIP = 64


def merge_reference(
    matrix: np.ndarray, first: int, similarity: np.ndarray, position: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lists of the matrix's rows after :func:`merge_block`, in plain numpy."""
    n, m = matrix.shape
    width = similarity.shape[1]
    values = np.concatenate([similarity, matrix], axis=1)
    places = np.concatenate([position, np.tile(np.arange(first, first + m), (n, 1))], axis=1)
    order = np.lexsort((places, -values), axis=1)[:, :width]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(places, order, axis=1)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def merge_block(
    matrix, s, t, f_similarity, f_position, f_least, b_similarity, b_position, b_least
):  # fmt: skip
    """Merge ``matrix (a, b) float32``, of rows from ``s`` and columns from ``t``, into both lists.

    The lists are those of :func:`miner.kernels.fused.merge`.
    """
    a, b = matrix.shape
    for i in range(a):
        row = matrix[i]
        for start in range(0, b, STRIP):
            end = min(b, start + STRIP)
            least = f_least[s + i]
            hit = False
            for j in range(start, end):
                hit |= (row[j] >= least) | (row[j] >= b_least[t + j])
            if not hit:
                continue
            for j in range(start, end):
                value = row[j]
                if value >= f_least[s + i]:
                    put(f_similarity, f_position, f_least, s + i, value, t + j)
                if value >= b_least[t + j]:
                    put(b_similarity, b_position, b_least, t + j, value, s + i)
