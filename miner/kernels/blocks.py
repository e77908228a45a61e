"""Candidates of the rows and of the columns of a float32 block of the similarity matrix.

:mod:`miner.kernels.fused` is faster, but rounds vectors to int8.
"""

from miner.kernels.library import kernel

# Merges ``matrix (a, b)``, of rows from ``s`` and columns from ``t``, into the lists of both, as in
# :func:`miner.kernels.fused.merge`. Lists that receive nothing may be shorter than ``f_least``.
merge_block = kernel(
    "merge_block(matrix: f4[a, b], s: int, t: int, &f_similarity: f4[n, w], &f_position: i4[n, w], "
    "&f_least: f4[f], &b_similarity: f4[m, v], &b_position: i4[m, v], &b_least: f4[g])"
)
# Merges lists ``(b, c)`` of the rows from ``first`` into running lists; -1 marks an empty slot.
merge_lists = kernel(
    "merge_lists(similarity: f4[b, c], position: i4[b, c], first: int, &f_similarity: f4[n, w], "
    "&f_position: i4[n, w], &f_least: f4[n])"
)
