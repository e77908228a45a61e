"""Windows for the comparison of long texts: a token is compared with the tokens around its place.

Both texts are cut into the same number of parts. A token of part w is compared with the parts w -
reach to w + reach of the other text: in time that grows with the length and not with its square,
and with features as of texts that are as long as a window.
"""

# Most tokens of a part, a multiple of miner.kernels.dots.ROWS, and parts on either side of its
# place that a token is compared with.
PART, REACH = 40, 1
# Likewise for features of order, which need parts that are compared with each other alone.
ORDER_PART, ORDER_REACH = 128, 0


def windows(
    own: int, others: int, size: int = PART, reach: int = REACH
) -> list[tuple[slice, slice]]:
    """List the parts of a text of ``own`` tokens, each with its window in a text of ``others``."""
    parts = max(1, -(-max(own, others) // size))
    spans = []
    for w in range(parts):
        low, high = max(0, w - reach), min(parts, w + reach + 1)
        part = slice(own * w // parts, own * (w + 1) // parts)
        spans.append((part, slice(others * low // parts, others * high // parts)))
    return spans
