"""Windows for comparing long texts: each token meets the tokens around the same relative position.

Both texts are cut into the same number of parts. A token of part w is compared with the parts w -
reach to w + reach of the other text. So time grows with the length and not with its square, and
features look like those of texts as long as a window.
"""

# Maximum tokens of a part, a multiple of miner.kernels.dots.ROWS, and number of neighbouring parts
# on either side in a window.
PART, REACH = 40, 1
# The same for features of order: each part is compared with the corresponding part only.
ORDER_PART, ORDER_REACH = 128, 0


def windows(
    count: int, other_count: int, size: int = PART, reach: int = REACH
) -> list[tuple[slice, slice]]:
    """Return the parts of ``count`` tokens, each with its window in a text of ``other_count``."""
    parts = max(1, -(-max(count, other_count) // size))
    spans = []
    for w in range(parts):
        low, high = max(0, w - reach), min(parts, w + reach + 1)
        part = slice(count * w // parts, count * (w + 1) // parts)
        spans.append((part, slice(other_count * low // parts, other_count * high // parts)))
    return spans
