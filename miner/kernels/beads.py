"""Alignment of two documents as a semi-Markov chain of beads, within a band.

A bead joins a source sentences with b target sentences; ``kinds (K, 2) int64`` lists the (a, b)
that are allowed, (1, 0) and (0, 1) among them. In state (i, j) the first i and j sentences are
aligned. The states of row i are ``low[i] <= j < low[i] + first[i + 1] - first[i]``, and their cells
follow ``first (n + 2,)``. A bead belongs to the cell where it ends: arrays of beads are ``(cells,
K)``, with minus infinity for beads that do not exist.
"""

import numpy as np

from miner.kernels.library import kernel

# Features of a bead besides its kind.
FEATURES = ("similarity", "usual", "cosine", "delta", "left_out", "loose")

# Arrays of two documents, flattened: see :func:`score_beads`.
_DOCUMENTS = (
    "flat: f4[p], flat_low: i8[n], flat_first: i8[n+1], norms: f4[n, A], other_norms: f4[m, A], "
    "usual: f4[n, A], other_usual: f4[m, A], lengths: i8[n+1], other_lengths: i8[m+1], "
    "ratio: float, loose: float, level: float"
)
Pair = tuple[np.ndarray, np.ndarray]
Products = tuple[np.ndarray, np.ndarray, np.ndarray]

_score_beads = kernel(
    f"score_beads(low: i8[n+1], first: i8[n+2], {_DOCUMENTS}, kinds: i8[K, 2], weights: f8[K+6], "
    "&scores: f4[cells, K])"
)
_bead_features = kernel(f"bead_features(spans: i8[beads, 4], {_DOCUMENTS}, &out: f8[beads, 6])")
_forward_backward = kernel(
    "forward_backward(scores: f4[cells, K], low: i8[n+1], first: i8[n+2], kinds: i8[K, 2], "
    "&out: f4[cells, K], &before: f8[cells], &after: f8[cells], &ways: f8[K]) -> float"
)
_best_path = kernel(
    "best_path(values: f4[cells, K], low: i8[n+1], first: i8[n+2], kinds: i8[K, 2], "
    "&beads: i8[most, 2], &best: f8[cells], &choice: i1[cells]) -> int"
)
# Lowers ``low`` and raises ``high (n + 1,)`` around gaps from ``starts`` to ``ends (g, 2)``. A gap
# of at most ``rectangle`` states is in the band as a whole. Of a larger gap only the states near
# its diagonal are: the longer the gap, the wider the strip.
widen_band = kernel(
    "widen_band(starts: i8[g, 2], ends: i8[g, 2], width: int, rectangle: int, &low: i8[n], "
    "&high: i8[n])"
)
# Multiplies each row of ``source`` with rows of ``target``, from ``left`` on. ``out`` receives the
# products of each row from ``starts`` on. Sums have the lanes of :mod:`miner.kernels.exact`.
band_products = kernel(
    "band_products(source: f4[n, d], target: f4[m, d], left: i8[n], starts: i8[n+1], &out: f4[p])"
)
_block_norms = kernel(
    "block_norms(sums: f4[n, d], usual: f4[d], &norms: f4[n, A], &cosines: f4[n, A], &total: f4[d])"
)
_heaviest_chain = kernel(
    "heaviest_chain(target: i8[p], weight: f8[p], &keep: u1[p], &tree: f8[size+1], "
    "&last: i8[size+1], &before: i8[p])"
)


def score_beads(
    band: Pair,
    products: Products,
    norms: Pair,
    usual: Pair,
    lengths: Pair,
    facts: tuple[float, float, float],
    kinds: np.ndarray,
    weights: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Score the beads of a band.

    ``band``: low, first. ``products``: flat products of single sentences, and likewise low and
    first of each source sentence's columns. ``norms``: ``(n, A)`` and ``(m, A) float32``, lengths
    of the summed vectors of the next 1 to A sentences; ``usual`` likewise their cosine with the
    mean of the other document. ``lengths``: characters before each sentence, ``(n + 1,)`` and
    ``(m + 1,)``. ``facts``: target characters for one of the source, how loosely the documents
    follow each other, and the usual cosine of a pair. ``weights (K + F,) float64``.
    ``scores (cells, K) float32`` is written.
    """
    known = *products, *norms, *usual, *lengths, *facts
    _score_beads(*band, *known, kinds, weights, scores)


def bead_features(
    spans: np.ndarray,
    products: Products,
    norms: Pair,
    usual: Pair,
    lengths: Pair,
    facts: tuple[float, float, float],
    out: np.ndarray,
) -> None:
    """Write the features of beads ``spans (p, 4)`` to ``out (p, F) float64``.

    Other arguments are as of :func:`score_beads`.
    """
    _bead_features(spans, *products, *norms, *usual, *lengths, *facts, out)


def forward_backward(scores: np.ndarray, band: Pair, kinds: np.ndarray, out: np.ndarray) -> float:
    """Write the posterior probability of each bead to ``out (cells, K) float32``.

    Returns the logarithm of the sum over all alignments; minus infinity where there is none, and
    then ``out`` is all zero. Memory: 16 bytes a cell.
    """
    before, after = np.empty((2, len(scores)))
    ways = np.empty(len(kinds))
    whole: float = _forward_backward(scores, *band, kinds, out, before, after, ways)
    return whole


def best_path(values: np.ndarray, band: Pair, kinds: np.ndarray, beads: np.ndarray) -> int:
    """Find the alignment with the largest sum of ``values (cells, K)``; return its length.

    ``beads (n + m, 2) int64`` receives the cell and the kind of each bead, from the last bead to
    the first. The first kind wins a tie. Returns 0 if there is no alignment.
    """
    best, choice = np.empty(len(values)), np.empty(len(values), np.int8)
    size: int = _best_path(values, *band, kinds, beads, best, choice)
    return size


def block_norms(
    sums: np.ndarray, usual: np.ndarray, norms: np.ndarray, cosines: np.ndarray
) -> None:
    """Write lengths of the sums of 1 to A rows from each row of ``sums (n, d)`` on: ``(n, A)``.

    ``cosines (n, A)`` receives their cosines with ``usual (d,)``, times its length.
    """
    _block_norms(sums, usual, norms, cosines, np.empty(len(usual), np.float32))


def heaviest_chain(target: np.ndarray, weight: np.ndarray, size: int, keep: np.ndarray) -> None:
    """Mark in ``keep (p,) bool`` the heaviest chain of pairs that increases on both sides.

    Pairs are sorted by source, one pair for each source; ``target (p,) int64 < size``, ``weight
    (p,)`` > 0.
    """
    tree, last = np.empty(size + 1), np.empty(size + 1, np.int64)
    _heaviest_chain(target, weight, keep, tree, last, np.empty(len(target), np.int64))
