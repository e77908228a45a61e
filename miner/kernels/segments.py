"""Joint segments of two spellings of a word, by expectation maximisation (Li et al. 2004).

A word and its transliteration are cut into the same number of segments; the likelihood of both is
the sum over all cuts of the product of the joint probabilities of their segments. A mixture
component of independent letters absorbs the pairs that are no transliterations.

Letters are codes: of a foreign word below 2^14, of a Latin one 1 to 26. Words are ragged: codes
``(t,) int64`` and offsets ``(n + 1,) int64``.
"""

import numpy as np

from miner.kernels.library import kernel

# Shapes of segments: foreign and Latin length, with their initial probabilities.
SHAPES = np.array([(0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 1), (2, 2), (2, 3)])
USUAL = np.array([0.02, 0.02, 0.6, 0.2, 0.1, 0.04, 0.02, 0.03, 0.05, 0.02])
# Maximum letters of a segment, and bits of a letter in its key.
FOREIGN, LATIN = 2, 5
FOREIGN_BITS, LATIN_BITS = 14, 5
ROUNDS = 12
# Count subtracted from each segment, and from longer ones, so that rare segments drop out.
DISCOUNT, LONGER = 0.05, 0.3
# Maximum share of segments that are empty on one side: more would explain any two words.
EMPTY = 0.1
# Bounds of the share of transliterations, which is estimated.
LEAST, MOST = 0.02, 0.95

# Counts all segments of all pairs; with room, writes their keys and their distance from the
# diagonal.
_segments = kernel(
    "list_segments(foreign: i8[f], foreign_offsets: i8[n+1], latin: i8[l], latin_offsets: i8[n+1], "
    "shapes: i8[s, 2], &keys: i8[m], &near: f8[m]) -> int"
)
# Adds the expected counts of all segments, by the forward-backward algorithm. A pair is weighted by
# its probability of being a transliteration, which is written to ``posterior``. ``ids`` are the
# numbers of the segments that `_segments` lists.
_expect = kernel(
    "expect_segments(foreign_offsets: i8[n+1], latin_offsets: i8[n+1], shapes: i8[s, 2], "
    "ids: i8[t], probability: f8[u], noise: f8[n], prior: float, &counts: f8[u], "
    "&posterior: f8[n]) -> memory"
)

Words = tuple[np.ndarray, np.ndarray]


def learn(foreign: Words, latin: Words) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Learn the segments of n pairs of words, some of which are transliterations.

    Returns the segments' keys ``(m,) int64`` (see `letters_of`), their joint probabilities and the
    products of their letters' probabilities, ``(m,) float64``, and the probability of each pair of
    being a transliteration, ``(n,) float64``.
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
        offsets = foreign[1], latin[1]
        _expect(*offsets, SHAPES, ids, probability, noise, prior, counts, posterior)
        counts = np.maximum(counts - DISCOUNT - LONGER * longer, 0)
        share = counts[empty].sum() / max(counts.sum(), 1e-300)
        if share > EMPTY:
            counts[empty] *= EMPTY * (1 - share) / share / (1 - EMPTY)
        probability = counts / max(counts.sum(), 1e-300)
        prior = min(max(float(posterior.mean()), LEAST), MOST)
    kept = probability > 1e-9
    return unique[kept], probability[kept], independent[kept], posterior


def letters_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unpack keys: foreign codes ``(m, FOREIGN)`` and Latin codes ``(m, LATIN)``, padded with 0."""
    latin = keys[:, None] >> (LATIN_BITS * np.arange(LATIN)) & 31
    rest = keys >> (LATIN_BITS * LATIN)
    return rest[:, None] >> (FOREIGN_BITS * np.arange(FOREIGN)) & ((1 << FOREIGN_BITS) - 1), latin


def _summed(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[offsets[1:]] - total[offsets[:-1]]
