"""Candidates of the rows and of the columns of a float32 block of the similarity matrix.

:mod:`miner.kernels.fused` is faster, but rounds vectors to int8.
"""

from miner.kernels.fused import put
from miner.kernels.loops import njit

# Columns compared at a time, in a few vector registers.
STRIP = 64


@njit(nogil=True, error_model="numpy")
def merge_block(
    matrix, s, t, f_similarity, f_position, f_least, b_similarity, b_position, b_least
):  # fmt: skip
    """Merge ``matrix (a, b) float32``, of rows from ``s`` and columns from ``t``, into both lists.

    ``f_*`` and ``b_*`` are the lists of rows and columns, as in :func:`miner.kernels.fused.merge`.
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


@njit(nogil=True, error_model="numpy")
def merge_lists(similarity, position, first, f_similarity, f_position, f_least):
    """Merge lists ``(b, c)`` of the rows from ``first`` into running lists; -1 is an empty place.

    ``f_*`` are the running lists, as in :func:`miner.kernels.fused.merge`.
    """
    for i in range(len(position)):
        row = first + i
        for j in range(position.shape[1]):
            value = similarity[i, j]
            if position[i, j] >= 0 and value >= f_least[row]:
                put(f_similarity, f_position, f_least, row, value, position[i, j])
