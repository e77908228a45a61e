"""Numerals in sentences, normalised across languages: 1,234.5 equals 1.234,5 and 1 234,5.

A numeral is represented by its digits, without separators and leading zeros. Digits are 0 to 9 and
the full-width, Arabic, Persian, Indic, Thai and Lao ones. ``.`` and ``,``, and the Arabic marks for
them, join the digits around them. A space or an apostrophe joins only groups of thousands in the
digits 0 to 9: ``12 500``, but not ``in 1999 200 people``.
"""

import numpy as np

from miner.kernels.library import kernel

_find_numbers = kernel(
    "find_numbers(text: u1[b], offsets: i8[n+1], &values: u8[b], &bounds: i8[n+1])"
)
_shared_numbers = kernel(
    "shared_numbers(source: u8[a], source_offsets: i8[n+1], target: u8[b], "
    "target_offsets: i8[m+1], source_row: i8[c], target_row: i8[c], &out: i8[c])"
)


def find_numbers(text: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct numbers of every sentence, as values modulo 2^64.

    ``text (b,) uint8`` is UTF-8; sentence ``i`` is ``text[offsets[i]:offsets[i + 1]]``. Returns
    ``values (m,) uint64``, ascending in each sentence, and their offsets ``(n + 1,) int64``.
    """
    # One slot for each byte: each number has at least one. Memory that is never written costs
    # nothing.
    values, bounds = np.empty(len(text), np.uint64), np.empty(len(offsets), np.int64)
    _find_numbers(text, offsets, values, bounds)
    return values[: bounds[-1]].copy(), bounds


# Numbers of sentences, and their offsets.
_Numbers = tuple[np.ndarray, np.ndarray]


def shared_numbers(
    source: _Numbers, target: _Numbers, source_row: np.ndarray, target_row: np.ndarray
) -> np.ndarray:
    """Count the numbers that both sentences of each pair contain: ``(m,) int64``.

    ``source`` and ``target`` are values and offsets by :func:`find_numbers`; pair ``c`` is the
    sentence ``source_row[c]`` with ``target_row[c]``, int64.
    """
    out = np.empty(len(source_row), dtype=np.int64)
    _shared_numbers(*source, *target, source_row, target_row, out)
    return out
