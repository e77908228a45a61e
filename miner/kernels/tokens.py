"""Pair features: the tokens of two sentences compared. The inner loop of verification.

Every candidate pair is compared on its own, so its features do not depend on the batch.
"""

import numpy as np

from miner.kernels.library import kernel
from miner.parallel import in_ranges

# Maximum tokens of a sentence that is compared as a whole; longer ones are compared by windows.
LONGEST = 128
# Weight of a token's unigram frequency in its translation probability: Model 1's empty word.
EMPTY = 0.02
# Minimum similarity of a matched token to its counterpart.
MATCHED = 0.35
# Maximum distance of the counterparts of neighbouring tokens, and minimum number of matched tokens
# for a correlation.
NEAR, FEWEST = 2, 4
# Candidates that a thread takes at a time: of normal and of long texts.
CHUNK, LONG_CHUNK = 4096, 64
# Columns of the result: four features for source and target each, and one for the pair; and two
# features of order for source and target each.
COLUMNS, ORDER_COLUMNS = 9, 4

_negative_logarithms = kernel("negative_logarithms(values: f4[n], &out: f4[n])")
_compare = kernel(
    "compare(pairs: i8[c], first: int, last: int, ids_a: i4[t], offsets_a: i8[n+1], ids_b: i4[u], "
    "offsets_b: i8[k+1], rows_a: i8[m], rows_b: i8[m], codes: u1[V, w], d: int, scale: f4[V], "
    "weight: f4[V], frequency: f4[V], information: f4[V], offsets: i8[V+1], translations: i4[e], "
    "probability: f4[e], &out: f4[m, 9], &order: f4[o, 4]) -> memory"
)


def table_arguments(table):
    """Return a table of tokens as kernels take it: bytes of codes, and numbers of a row of them."""
    codes, *rest = table
    return codes.view(np.uint8), codes.shape[1] * (2 if codes.dtype == np.uint8 else 1), *rest


def compare(source, target, source_row, target_row, table, lexicon, out, order):
    """Write the pair features of every candidate pair to ``out (m, COLUMNS) float32``.

    ``source`` and ``target`` are token ids ``(t,) int32`` with offsets ``(n + 1,) int64``; pair
    ``c`` is the sentence ``source_row[c]`` with ``target_row[c]``. ``table`` is ``(codes, scale,
    weight, frequency)`` of V tokens: ``codes (V, p) int8``, with p a multiple of
    :data:`miner.kernels.dots.STEP`, or ``(V, p / 2) uint8`` of :func:`miner.kernels.pool.packed`,
    times ``scale (V,) float32`` are unit rows, ``weight (V,)`` > 0 and ``frequency (V,)`` in
    (0, 1). ``lexicon`` is ``(offsets, translations, probability)``.

    Columns 0 to 7 are four features, each for the tokens of the source, then of the target:

    - mean similarity to the most similar token of the other side, by weight;
    - share of the weight in tokens whose best similarity is below MATCHED;
    - mean of log p(token | other sentence) / p(token) by IBM Model 1 (Brown et al. 1993);
    - share of the information (-log frequency) that the other sentence translates.

    Column 8 is the share of the source's information in tokens that the target has too. All are
    zero for a sentence without tokens. If a sentence has more than LONGEST tokens, each token is
    compared with a window (:mod:`miner.kernels.long_texts`).

    ``order (m, 4) float32`` gets features of word order; with no rows, they are not computed. A
    token is matched if its best similarity is at least MATCHED; the most similar token, the first
    of equals, is its counterpart. Columns 0 and 1, in [0, 1], are the share of neighbouring tokens
    of each side, both matched, whose counterparts are at most NEAR apart; a neighbourhood weighs as
    much as its lighter token. Columns 2 and 3, in [-1, 1], are the correlation of the ranks of the
    matched tokens, FEWEST or more, with the positions of their counterparts. A feature that is
    undefined is 1.

    Candidates sorted by source are several times faster: what relates a target token to a source is
    computed once for consecutive candidates of that source.
    """
    information = np.empty(len(table[0]), dtype=np.float32)
    _negative_logarithms(table[3], information)
    known = *table_arguments(table), information, *lexicon
    rest = *source, *target, source_row, target_row, *known, out, order
    source_counts, target_counts = np.diff(source[1])[source_row], np.diff(target[1])[target_row]
    long = (np.maximum(source_counts, target_counts) > LONGEST) & (
        np.minimum(source_counts, target_counts) > 0
    )

    def compare_some(pairs: np.ndarray, size: int) -> None:
        in_ranges(lambda first, last: _compare(pairs, first, last, *rest), len(pairs), size)

    compare_some(np.flatnonzero(~long), CHUNK)
    compare_some(np.flatnonzero(long), LONG_CHUNK)
