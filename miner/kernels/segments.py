"""Joint segments of two spellings of a word, by expectation maximisation (Li et al. 2004).

A word and its transliteration are cut into the same number of segments; the likelihood of both is
the sum over all cuts of the product of the joint probabilities of their segments. A mixture with
independent letters takes up the pairs that are no transliterations.

Letters are codes: of a foreign word below 2^14, of a Latin one 1 to 26. Words are ragged: codes
``(t,) int64`` and offsets ``(n + 1,) int64``.
"""

import numpy as np

from miner.kernels.loops import njit

# Lengths of segments, foreign and Latin, and how likely each is before anything is learned.
SHAPES = np.array([(0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 1), (2, 2), (2, 3)])
USUAL = np.array([0.02, 0.02, 0.6, 0.2, 0.1, 0.04, 0.02, 0.03, 0.05, 0.02])
# Most letters of a segment, and bits of a letter in its key.
FOREIGN, LATIN = 2, 5
FOREIGN_BITS, LATIN_BITS = 14, 5
ROUNDS = 12
# Occurrences taken from each segment, and from longer ones: they must pay for their number.
DISCOUNT, LONGER = 0.05, 0.3
# Largest share of segments that are empty on one side: else they explain any two words.
EMPTY = 0.1
# Bounds of the share of transliterations, which is estimated.
LEAST, MOST = 0.02, 0.95

Words = tuple[np.ndarray, np.ndarray]


def learn(foreign: Words, latin: Words) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Learn the segments of n pairs of words; some are transliterations.

    Returns the segments' keys ``(m,) int64`` (see `letters_of`), their joint probabilities
    and the products of their letters' own ones, ``(m,) float64``, and the probability of each pair
    to be a transliteration, ``(n,) float64``.
    """
    alone = [np.bincount(codes) / max(len(codes), 1) for codes, _ in (foreign, latin)]
    places = np.empty(0, np.int64), np.empty(0)
    size = _segments(*foreign, *latin, SHAPES, *places)
    keys, near = np.empty(size, np.int64), np.empty(size)
    _segments(*foreign, *latin, SHAPES, keys, near)
    unique, ids = np.unique(keys, return_inverse=True)
    letters = letters_of(unique)
    sizes = [(side > 0).sum(axis=1) for side in letters]
    usual = np.zeros((FOREIGN + 1, LATIN + 1))
    usual[tuple(SHAPES.T)] = USUAL
    independent = np.ones(len(unique))
    for side, share in zip(letters, alone, strict=True):
        independent *= np.where(side > 0, share[side], 1.0).prod(axis=1)
    noise = np.exp(
        _summed(np.log(alone[0][foreign[0]]), foreign[1])
        + _summed(np.log(alone[1][latin[0]]), latin[1])
    )
    probability = np.bincount(ids, near, len(unique)) * usual[sizes[0], sizes[1]]
    probability /= max(probability.sum(), 1e-300)
    empty, longer = np.minimum(*sizes) == 0, sizes[0] + sizes[1] > FOREIGN
    prior, posterior = 0.5, np.zeros(len(noise))
    for _ in range(ROUNDS):
        counts = np.zeros(len(unique))
        _expect(*foreign, *latin, SHAPES, ids, probability, noise, prior, counts, posterior)
        counts = np.maximum(counts - DISCOUNT - LONGER * longer, 0)
        share = counts[empty].sum() / max(counts.sum(), 1e-300)
        if share > EMPTY:
            counts[empty] *= EMPTY * (1 - share) / share / (1 - EMPTY)
        probability = counts / max(counts.sum(), 1e-300)
        prior = min(max(float(posterior.mean()), LEAST), MOST)
    kept = probability > 1e-9
    return unique[kept], probability[kept], independent[kept], posterior


def letters_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unpack keys: foreign codes ``(m, FOREIGN)`` and Latin ones ``(m, LATIN)``, 0 for none."""
    latin = keys[:, None] >> (LATIN_BITS * np.arange(LATIN)) & 31
    rest = keys >> (LATIN_BITS * LATIN)
    return rest[:, None] >> (FOREIGN_BITS * np.arange(FOREIGN)) & ((1 << FOREIGN_BITS) - 1), latin


def _summed(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[offsets[1:]] - total[offsets[:-1]]


@njit()
def _key(foreign, j, a, latin, i, b):
    """Pack a segment of ``a`` foreign and ``b`` Latin letters, the first ones in the low bits."""
    key = np.int64(0)
    for place in range(a - 1, -1, -1):
        key = key << FOREIGN_BITS | foreign[j + place]
    for place in range(LATIN - 1, -1, -1):
        key = key << LATIN_BITS | (latin[i + place] if place < b else 0)
    return key


@njit()
def _segments(foreign, foreign_offsets, latin, latin_offsets, shapes, keys, near):
    """Count all segments of all pairs; write keys and nearness to the diagonal, if there is room.

    They are in the order in which `_expect` meets them.
    """
    count = 0
    for pair in range(len(foreign_offsets) - 1):
        first, n = foreign_offsets[pair], foreign_offsets[pair + 1] - foreign_offsets[pair]
        start, m = latin_offsets[pair], latin_offsets[pair + 1] - latin_offsets[pair]
        for j in range(n + 1):
            for i in range(m + 1):
                for s in range(len(shapes)):
                    a, b = shapes[s, 0], shapes[s, 1]
                    if j + a > n or i + b > m:
                        continue
                    if len(keys):
                        keys[count] = _key(foreign, first + j, a, latin, start + i, b)
                        off = (j + a / 2) / max(n, 1) - (i + b / 2) / max(m, 1)
                        near[count] = np.exp(-8 * abs(off))
                    count += 1
    return count


@njit(error_model="numpy")
def _expect(
    foreign,
    foreign_offsets,
    latin,
    latin_offsets,
    shapes,
    ids,
    probability,
    noise,
    prior,
    counts,
    posterior,
):
    """Add the expected counts of all segments, by the forward-backward algorithm.

    A pair counts as much as its probability to be a transliteration, which is written to
    ``posterior``. ``ids`` are the numbers of the segments that `_segments` lists.
    """
    first = 0
    for pair in range(len(foreign_offsets) - 1):
        n = foreign_offsets[pair + 1] - foreign_offsets[pair]
        m = latin_offsets[pair + 1] - latin_offsets[pair]
        before, after = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1))
        before[0, 0] = after[n, m] = 1.0
        at = first
        for j in range(n + 1):
            for i in range(m + 1):
                for s in range(len(shapes)):
                    a, b = shapes[s, 0], shapes[s, 1]
                    if j + a <= n and i + b <= m:
                        before[j + a, i + b] += before[j, i] * probability[ids[at]]
                        at += 1
        last, likely = at, before[n, m]
        both = prior * likely + (1 - prior) * noise[pair]
        posterior[pair] = prior * likely / both if both > 0 else 0.0
        if posterior[pair] > 1e-6:
            for j in range(n, -1, -1):
                for i in range(m, -1, -1):
                    for s in range(len(shapes) - 1, -1, -1):
                        a, b = shapes[s, 0], shapes[s, 1]
                        if j + a <= n and i + b <= m:
                            at -= 1
                            part = probability[ids[at]] * after[j + a, i + b]
                            after[j, i] += part
                            counts[ids[at]] += posterior[pair] * before[j, i] * part / likely
        first = last
