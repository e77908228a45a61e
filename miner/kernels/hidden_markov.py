"""Alignment of the tokens of two sentences by a hidden Markov model (Vogel et al. 1996).

The tokens of one sentence follow from positions in the other: from one token to the next the
position jumps, and the token at the new position emits the token. A token without counterpart
leaves the position where it is. Unlike the best counterpart of each token by itself, this sees
order, and a counterpart that serves twice. :mod:`miner_train.learn_match_quantiles` learns the
probabilities, which are common to all languages.

An aligner is ``(emission, jump, unaligned)``:

- ``emission (COSINES, EVIDENCES) float32``: how much likelier than chance a token is beside its
  counterpart, by their cosine and lexical evidence.
- ``jump (JUMPS,) float32``: probabilities of jumps from -REACH to REACH, and of farther ones, to
  any position.
- ``unaligned (1,) float32``: share of the tokens without counterpart.
"""

from miner.kernels.library import kernel

# Cosine bins, the last one for equal tokens; bins per unit of cosine; lower edge of the first bin.
COSINES, PER_COSINE, LEAST = 16, 13.0, -0.2
# Bins of lexical evidence, the first one for pairs without, and bins per unit of evidence.
EVIDENCES, PER_EVIDENCE = 12, 12.0
# Longest jump with a probability of its own, and the number of jump parameters.
REACH = 6
JUMPS = 2 * REACH + 2
# Floor added to each counterpart's posterior, so that its logarithm is finite.
FLOOR = 0.001

_PAIR = (
    "a: i4[n], b: i4[m], &tables: f4[5, s, s], emission: f4[16, 12], jump: f4[14], unaligned: f4[1]"
)
# The next two kernels are called by the functions of :mod:`miner.kernels.aligned` in the library,
# and from Python in tests. ``tables`` have a row for each token of ``b`` and a column for each
# token of ``a``. The first holds cosines, the fourth lexical evidence. The second gets the
# posteriors ``(m, n)`` of positions in ``a``, the third ``(n, m)`` in ``b``, and the fifth
# emissions.  Writes how well each token of ``a``, then of ``b``, is matched: ``out (r, 2)``, r = n
# + m. The first number is the logarithm of how much likelier than chance the token is, the second
# the logarithm of the posterior of its best counterpart, a product of both directions. Their sum is
# the match.
match_tokens = kernel(f"match_tokens({_PAIR}, &out: f4[r, 2]) -> memory")
# Adds the expected counts of one pair to an aligner's counts. ``emissions`` get expected counts of
# aligned token pairs by bin, and counts of all pairs in which a token of the longer sentence takes
# part. ``jumps (2f + 1,)`` get expected jumps from -f to f, with longer ones at the ends.
# ``counts`` get unaligned tokens, and all tokens.
count_pair = kernel(
    f"count_pair({_PAIR}, &emissions: f8[2, 16, 12], &jumps: f8[j], &counts: f8[2]) -> memory"
)
