"""int8 vectors by position: packs of any rows, and similarities of any pairs.

The vectors of a side are rounded once (:func:`miner.kernels.fused.quantise`, tiles of one vector)
to ``codes (n, p) int8``, padded with zeros to a multiple of 4, with ``scale (n,) float32`` and
``correction (n,) int32``. Similarities equal those of :func:`miner.kernels.fused.merge` to the last
bit, so that a list recognises a repeated pair.
"""

import numpy as np

from miner.kernels.fused import Pack, empty_pack
from miner.kernels.library import kernel

_copy = kernel(
    "copy_codes(codes: u4[n, quads], scale: f4[n], correction: i4[n], places: i4[m], "
    "&tiles: u4[t, quads, width], raised: int, &to_scale: f4[all], &to_correction: i4[all])"
)
# Computes the similarities of the pairs (rows[i], columns[i, j]) for i in [first, last). ``a`` and
# ``b`` are codes, ``rows`` and ``columns`` positions in them; -inf where a column is -1.
# ``swapped``: products are rounded as in a block with ``b`` as rows.
similarities = kernel(
    "similarities(a: i1[n, p], a_scale: f4[n], b: i1[m, p], b_scale: f4[m], rows: i4[q], "
    "columns: i4[q, w], first: int, last: int, swapped: int, &out: f4[q, w])"
)
# Inserts the pairs (rows[i], columns[i, j]) with their values into the lists of both sides. Only
# lists with number ≡ ``lane`` modulo ``lanes`` change, so that the lanes can run in parallel.
put_pairs = kernel(
    "put_pairs(rows: i4[q], columns: i4[q, c], values: f4[q, c], lane: int, lanes: int, "
    "&f_similarity: f4[n, w], &f_position: i4[n, w], &f_least: f4[n], &b_similarity: f4[m, v], "
    "&b_position: i4[m, v], &b_least: f4[m])"
)


def gather(
    codes: np.ndarray,
    scale: np.ndarray,
    correction: np.ndarray,
    places: np.ndarray,
    *,
    columns: bool,
) -> Pack:
    """Pack the vectors at ``places (m,) int32`` as rows or as columns of a product."""
    packed = empty_pack(len(places), codes.shape[1], columns=columns)
    words, tiles = codes.view(np.uint32), packed.tiles.view(np.uint32)[..., 0]
    _copy(words, scale, correction, places, tiles, columns, packed.scale, packed.correction)
    return packed
