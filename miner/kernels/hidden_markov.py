"""Alignment of the tokens of two sentences by a hidden Markov model (Vogel et al. 1996).

The tokens of one sentence follow from positions in the other: from one token to the next the
position jumps, and the token at the new position emits the token. A token without counterpart
leaves the position where it is. Unlike the best counterpart of each token by itself, this sees
order, and a counterpart that serves twice. :mod:`miner_train.learn_alignment` learns the
probabilities, which are common to all languages.

An aligner is ``(emission, jump, unaligned)``:

- ``emission (COSINES, EVIDENCES) float32``: how much likelier than chance a token is beside its
  counterpart, by their cosine and lexical evidence.
- ``jump (JUMPS,) float32``: probabilities of jumps from -REACH to REACH, and of farther ones, to
  any position.
- ``unaligned (1,) float32``: share of the tokens without counterpart.
"""

import numpy as np

from miner.kernels.loops import njit

# Bins of cosines, the last one for equal tokens; bins that 1.0 spans; where the first one begins.
COSINES, PER_COSINE, LEAST = 16, 13.0, -0.2
# Bins of lexical evidence, the first one for pairs without, and bins that 1.0 spans.
EVIDENCES, PER_EVIDENCE = 12, 12.0
# Farthest jump with a probability of its own, and the numbers that describe jumps.
REACH = 6
JUMPS = 2 * REACH + 2
# Most that the tokens after it tell of a position: float32 would overflow.
HIGHEST = np.float32(1e30)
# Posterior that is added to each counterpart's, so that the logarithm of none is finite.
FLOOR = 0.001
# Least posterior of a counterpart whose jumps are counted.
COUNTED = 0.02


def workspace(most: int) -> tuple[np.ndarray, ...]:
    """Allocate what `align_both` works in, for sentences of ``most`` tokens.

    It is vectors of positions, the likelihoods of both sides' tokens, jumps forward and back in
    time, and emissions.
    """
    return (
        np.zeros((4, most + 2 * REACH), dtype=np.float32),
        np.zeros((2, most), dtype=np.float32),
        np.zeros((2, JUMPS), dtype=np.float32),
        np.empty((most, most), dtype=np.float32),
    )


@njit(error_model="numpy")
def emission_bin(cosine, evidence, same):
    """Return row and column of a pair of tokens in the table of emissions."""
    row = COSINES - 1 if same else min(max(int((cosine - LEAST) * PER_COSINE), 0), COSINES - 2)
    column = min(1 + int(evidence * PER_EVIDENCE), EVIDENCES - 1) if evidence > 0 else 0
    return row, column


@njit(error_model="numpy")
def _jumped(x, n, jump, out):
    """Write the probability of each position ``(n,)`` after a jump from ``x[REACH:][:n]``.

    ``x`` is 0 on REACH places before and after these.
    """
    far = np.float32(0.0)
    for i in range(n):
        far += x[REACH + i]
    far *= jump[2 * REACH + 1] / np.float32(n)
    for i in range(n):
        total = far
        for d in range(2 * REACH + 1):
            total += jump[d] * x[i + 2 * REACH - d]
        out[i] = total


@njit(error_model="numpy")
def _posteriors(sizes, emission, jumps, unaligned, posterior, likelihood, vectors):
    """Write the posterior of each position for each token, by the forward-backward algorithm.

    ``sizes`` are the numbers of tokens, m, and of positions, n. ``emission (m, n)`` tells how much
    likelier than chance a token is at a position. ``jumps`` are the probabilities of jumps, and of
    the same back in time. ``posterior (m, n)``; ``likelihood (m,)`` is how much likelier than
    chance a token is after the tokens before it.
    """
    m, n = sizes
    # Rows by number are contiguous for the compiler, unpacked ones are not.
    x, jumped, inside, here = vectors[0], vectors[1], vectors[2], vectors[3]
    one = np.float32(1.0)
    for i in range(n + 2 * REACH):
        x[i] = one if REACH <= i < n + REACH else np.float32(0.0)
    _jumped(x, n, jumps[1], inside)
    for i in range(n):
        # Jumps out of the sentence are impossible; their share goes to the others.
        inside[i] = (one - unaligned) / inside[i]
        jumped[i], here[i] = (one - unaligned) / n, one / n
    for j in range(m):
        given, own = emission[j], posterior[j]
        total = np.float32(0.0)
        for i in range(n):
            own[i] = jumped[i] * given[i]
            here[i] = own[i] + unaligned * here[i]
        for i in range(n):
            total += here[i]
        likelihood[j] = total
        share = one / total
        for i in range(n):
            own[i] *= share
            here[i] *= share
            x[REACH + i] = here[i] * inside[i]
        _jumped(x, n, jumps[0], jumped)
    for i in range(n):
        here[i] = one
    for j in range(m - 1, 0, -1):
        given, own = emission[j], posterior[j]
        for i in range(n):
            own[i] *= here[i]
            x[REACH + i] = given[i] * here[i]
        _jumped(x, n, jumps[1], jumped)
        share = one / likelihood[j]
        for i in range(n):
            here[i] = min((jumped[i] * inside[i] + unaligned * here[i]) * share, HIGHEST)
    for i in range(n):
        posterior[0, i] *= here[i]


@njit(error_model="numpy")
def align_both(a, b, tables, aligner, work):
    """Align two sentences in both directions, by tables of all pairs of their tokens.

    ``tables (5, s, s) float32`` have a row for each token of ``b (m,)`` and a column for each token
    of ``a (n,)``. The first holds cosines, the fourth lexical evidence. The second gets the
    posteriors ``(m, n)`` of positions in ``a``, the third ``(n, m)`` in ``b``, and the fifth
    emissions. ``work`` is by :func:`workspace`; its likelihoods are of ``a``, then of ``b``.
    """
    emission, jump, unaligned = aligner
    vectors, likelihood, jumps, turned = work
    n, m = len(a), len(b)
    for j in range(m):
        cosine, evidence, emitted = tables[0, j], tables[3, j], tables[4, j]
        for i in range(n):
            emitted[i] = emission[emission_bin(cosine[i], evidence[i], a[i] == b[j])]
            turned[i, j] = emitted[i]
    for d in range(JUMPS):
        jumps[0, d] = jumps[1, 2 * REACH - d if d <= 2 * REACH else d] = jump[d]
    for side in range(2):  # numba would compile it twice for constants
        sizes, given = ((m, n), tables[4]) if side == 0 else ((n, m), turned)
        own = likelihood[1 - side]
        _posteriors(sizes, given, jumps, unaligned[0], tables[1 + side], own, vectors)


@njit(error_model="numpy")
def match_tokens(a, b, tables, aligner, work, out):
    """Write how well each token of ``a (n,)``, then of ``b (m,)``, is matched: ``out (n + m, 2)``.

    The first number is the logarithm of how much likelier than chance the token is, the second the
    logarithm of the posterior of its best counterpart, a product of both directions. Their sum is
    the match. Arguments as in :func:`align_both`.
    """
    align_both(a, b, tables, aligner, work)
    likelihood, n = work[1], len(a)
    for i in range(n + len(b)):
        out[i, 0] = np.log(likelihood[0, i] if i < n else likelihood[1, i - n])
        out[i, 1] = 0.0
    for j in range(len(b)):
        for i in range(n):
            both = tables[1, j, i] * tables[2, i, j]
            out[i, 1], out[n + j, 1] = max(out[i, 1], both), max(out[n + j, 1], both)
    for i in range(n + len(b)):
        out[i, 1] = np.log(out[i, 1] + FLOOR)


@njit(error_model="numpy")
def count_pair(a, b, tables, aligner, work, emissions, jumps, unaligned):
    """Add what one pair tells of an aligner to counts; arguments as in :func:`align_both`.

    ``emissions (2, COSINES, EVIDENCES)`` get expected counts of aligned pairs of tokens by bin, and
    counts of all pairs, in which a token of the longer sentence is one. ``jumps (2f + 1,)`` get
    expected jumps from -f to f, farther ones at the ends. ``unaligned (2,)`` get tokens without
    counterpart, and all tokens.
    """
    align_both(a, b, tables, aligner, work)
    n, m, farthest = len(a), len(b), len(jumps) // 2
    for j in range(m):
        for i in range(n):
            row, column = emission_bin(tables[0, j, i], tables[3, j, i], a[i] == b[j])
            emissions[0, row, column] += (tables[1, j, i] + tables[2, i, j]) / 2
            emissions[1, row, column] += 1.0 / max(n, m)
    for side in range(2):
        rows, columns = (m, n) if side == 0 else (n, m)
        posterior = tables[1 + side]
        for j in range(rows):
            aligned = 0.0
            for i in range(columns):
                aligned += posterior[j, i]
                if j > 0 and posterior[j, i] >= COUNTED:
                    for k in range(columns):
                        jump = min(max(i - k, -farthest), farthest)
                        jumps[farthest + jump] += posterior[j, i] * posterior[j - 1, k]
            unaligned[0] += 1.0 - aligned
            unaligned[1] += 1.0
