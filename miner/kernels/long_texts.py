"""Windows for the comparison of long texts: a token is compared with the tokens around its place.

Both texts are cut into the same number of parts. A token of part w is compared with the parts w -
reach to w + reach of the other text: in time that grows with the length and not with its square,
and with features as of texts that are as long as a window.
"""

import numpy as np

from miner.kernels.dots import dots, sums_of_tile
from miner.kernels.loops import njit

# Most tokens of a part, a multiple of miner.kernels.dots.ROWS, and parts on either side of its
# place that a token is compared with.
PART, REACH = 40, 1
# Likewise for features of order, which need parts that are compared with each other alone.
ORDER_PART, ORDER_REACH = 128, 0


@njit(error_model="numpy")
def part_count(own, others, size):
    """Return the number of parts of at most ``size`` tokens of texts of ``own`` and ``others``."""
    return max(1, (max(own, others) + size - 1) // size)


@njit(error_model="numpy")
def bounds(own, others, parts, w, reach):
    """Return the bounds of part ``w`` of a text, and of its window in the other text."""
    low, high = max(0, w - reach), min(parts, w + reach + 1)
    return (
        own * w // parts,
        own * (w + 1) // parts,
        others * low // parts,
        others * high // parts,
    )


def windows(
    own: int, others: int, size: int = PART, reach: int = REACH
) -> list[tuple[slice, slice]]:
    """List the parts of a text of ``own`` tokens, each with its window in a text of ``others``."""
    parts = part_count(own, others, size)
    spans = (bounds.py_func(own, others, parts, w, reach) for w in range(parts))
    return [(slice(a, b), slice(c, d)) for a, b, c, d in spans]


def window_scratch(table: tuple[np.ndarray, ...], longest: int) -> tuple[np.ndarray, ...]:
    """Allocate what `compare_windows` works in, for texts of ``longest`` tokens and fewer."""
    codes = table[0]
    part, window = max(PART, ORDER_PART), max((2 * REACH + 1) * PART, ORDER_PART)
    return (
        np.zeros((part, codes.shape[1]), dtype=np.int16),
        np.empty((window, part), dtype=np.float32),
        sums_of_tile(),
        np.zeros(len(codes), dtype=np.float32),
        np.zeros(len(codes), dtype=np.bool_),
        np.empty((2, longest), dtype=np.float32),
        np.empty((2, longest), dtype=np.int64),
        np.empty(longest, dtype=np.bool_),
    )


@njit(error_model="numpy")
def compare_windows(own, others, part, reach, table, lexicon, scratch):
    """Compare every token of ``own (n,)`` with its window of ``others (m,)``, both token ids.

    ``table`` and ``lexicon`` as in :func:`miner.kernels.tokens.compare`. The last three arrays of
    ``scratch`` (`window_scratch`) get, for each token of ``own``: its best similarity, 0 if the
    window has no tokens, and its summed translation probability; the position in ``others`` of the
    first token that has the best similarity, and the tokens of the window, at least 1; and True if
    the window has the same token.
    """
    codes, scale = table[:2]
    offsets, translations, probability = lexicon
    rows, similar, sums, translated, seen, values, places, shared = scratch
    best, total = values[0], values[1]
    place, size = places[0], places[1]
    parts = part_count(len(own), len(others), part)
    for w in range(parts):
        first, last, begin, end = bounds(len(own), len(others), parts, w, reach)
        n, window = last - first, others[begin:end]
        if n == 0:
            continue
        for i in range(n):
            code, row = codes[own[first + i]], rows[i]
            for k in range(len(code)):
                row[k] = code[k]
        dots(rows, n, codes, window, len(window), similar, sums)
        for token in window:
            seen[token] = True
            for entry in range(offsets[token], offsets[token + 1]):
                translated[translations[entry]] += probability[entry]
        for i in range(n):
            token = own[first + i]
            nearest, position = np.float32(-np.inf), 0
            for j in range(len(window)):
                value = similar[j, i] * (scale[window[j]] * scale[token])
                if value > nearest:
                    nearest, position = value, begin + j
            best[first + i] = nearest if len(window) else np.float32(0.0)
            place[first + i] = position
            total[first + i] = translated[token]
            size[first + i] = max(1, len(window))
            shared[first + i] = seen[token]
        for token in window:
            seen[token] = False
            for entry in range(offsets[token], offsets[token + 1]):
                translated[translations[entry]] = 0.0
