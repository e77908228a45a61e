"""Comparer of two sentences: each token with its counterpart, read by a small network.

A token's counterpart is the token of the other sentence with the highest sum of cosine and lexical
evidence, less a little for its distance. The comparer is a small network over tokens and their
counterparts, pooled by mean and maximum (decomposable attention, Parikh et al. 2016, with a hard
alignment).

A hidden Markov model also aligns the tokens (:mod:`miner.kernels.hidden_markov`) and takes their
order into account. Some tokens, such as function words, often have no counterpart. A table of each
token's usual match quality tells how surprising a poor match is.
"""

import numpy as np

from miner.kernels.hidden_markov import COSINES, EVIDENCES
from miner.kernels.library import kernel
from miner.kernels.tokens import table_arguments
from miner.parallel import in_ranges

# Maximum tokens of a sentence that are compared; the rest of a longer text is ignored.
MOST = 384
# Divisor of evidence, the log ratio of a translation's probability to chance.
EVIDENCE = 10.0
# Penalty of a counterpart at the full length of the sentence away.
DISTANCE = 0.15
# Columns that describe a token and its counterpart: of `_describe`, then of `_describe_match`.
COLUMNS = 22
# Column of a token's surprise, in nats.
SURPRISE = 21
# Table of surprise by token id and match quality: number of columns, lowest match, columns per nat
# of match, codes per nat of surprise.
BINS, LOWEST, PER_MATCH, PER_NAT = 24, -9.0, 2.0, 16
# Longest jump that is counted separately.
FARTHEST = 40
# Pairs that a thread takes at a time.
CHUNK = 256


_PAIRS = (
    "first: int, last: int, ids_a: i4[t], offsets_a: i8[n+1], ids_b: i4[u], offsets_b: i8[k+1], "
    "rows_a: i8[m], rows_b: i8[m], codes: u1[V, w], d: int, scale: f4[V], "
    "weight: f4[V], frequency: f4[V], offsets: i8[V+1], translations: i4[e], probability: f4[e], "
    "emission: f4[16, 12], jump: f4[14], unaligned: f4[1]"
)
_count = kernel(
    f"count_pairs({_PAIRS}, &emissions: f8[c, 2, 16, 12], &jumps: f8[c, 81], &counts: f8[c, 2]) "
    "-> memory"
)
_describe = kernel(
    f"describe_pairs({_PAIRS}, surprise: u1[V, 24], starts: i8[m+1], &ids: i4[r, 4], "
    "&numbers: f4[r, 22]) -> memory"
)
_compare = kernel(
    f"compare_pairs({_PAIRS}, surprise: u1[V, 24], units: f4[V, s], token: f4[g, h], "
    "token_bias: f4[h], pair: f4[p, h], pair_bias: f4[h], logit: f4[h], logit_bias: f4[1], "
    "&out: f4[m, 2]) -> memory"
)


def describe(
    source, target, source_row, target_row, table, lexicon, aligner, surprise, starts, ids, numbers
):
    """Describe the tokens of pairs.

    Texts, rows, table and lexicon as in :func:`miner.kernels.tokens.compare`; ``aligner`` as in
    :mod:`miner.kernels.hidden_markov`, and ``surprise (V, BINS) uint8`` in ``PER_NAT`` of a nat.
    Pair ``c`` has the rows ``starts[c]`` to ``starts[c + 1]`` of ``numbers (r, COLUMNS) float32``
    and of ``ids (r, 4) int32``: the token, its counterpart, and the tokens before and after it, -1
    for none.
    """
    known = (
        *source,
        *target,
        source_row,
        target_row,
        *table_arguments(table),
        *lexicon,
        *aligner,
        surprise,
    )
    in_ranges(
        lambda first, last: _describe(first, last, *known, starts, ids, numbers),
        len(source_row),
        CHUNK,
    )


def count(source, target, table, lexicon, aligner):
    """Accumulate an aligner's expected counts over the pairs of two texts, row by row.

    Returns the counts of :func:`miner.kernels.hidden_markov.count_pair`: ``emissions (2, COSINES,
    EVIDENCES)``, ``jumps (2 FARTHEST + 1,)`` and ``unaligned (2,)``, float64.
    """
    rows = np.arange(len(source[1]) - 1)
    sizes = (2, COSINES, EVIDENCES), (2 * FARTHEST + 1,), (2,)
    # Each chunk has its own counts, so that their sums do not depend on the number of threads.
    counts = tuple(np.zeros((-(-len(rows) // CHUNK), *size)) for size in sizes)
    known = *source, *target, rows, rows, *table_arguments(table), *lexicon, *aligner
    in_ranges(lambda first, last: _count(first, last, *known, *counts), len(rows), CHUNK)
    return tuple(chunk_counts.sum(axis=0) for chunk_counts in counts)


def compare_pairs(
    source, target, source_row, target_row, table, lexicon, aligner, surprise, network, out
):
    """Write mean surprise and the comparer's logit of pairs to ``out (m, 2) float32``.

    Both are 0 without tokens. ``network`` is ``(units, token, token_bias, pair, pair_bias, logit,
    logit_bias)``, float32 arrays of :class:`miner.scoring.comparer.Comparer`. The other arguments
    are as in :func:`describe`. The mean is over the tokens of a side, then over both sides, in
    nats.
    """
    known = (
        *source,
        *target,
        source_row,
        target_row,
        *table_arguments(table),
        *lexicon,
        *aligner,
        surprise,
    )
    in_ranges(
        lambda first, last: _compare(first, last, *known, *network, out), len(source_row), CHUNK
    )
