"""Numerals in sentences, normalised across languages: 1,234.5 equals 1.234,5 and 1 234,5.

A numeral is represented by its digits 0 to 9, without separators and leading zeros. ``.`` and ``,``
between two digits join them. A space or an apostrophe joins only groups of thousands: ``12 500``,
but not ``in 1999 200 people``.
"""

import numpy as np

from miner.kernels.cache import helper, njit
from miner.kernels.half import read_only


@helper()
def _digit(text, place, end):
    return place < end and 48 <= text[place] <= 57


@helper()
def _separator(text, place, end):
    """Return the length in bytes of a space or apostrophe between thousands at ``place``, or 0."""
    if place >= end:
        return 0
    byte = text[place]
    if byte == 32 or byte == 39:
        return 1
    if byte == 0xC2 and place + 1 < end and text[place + 1] == 0xA0:
        return 2
    if byte != 0xE2 or place + 2 >= end or text[place + 1] != 0x80:
        return 0
    return 3 if text[place + 2] == 0xAF or text[place + 2] == 0x99 else 0


@helper()
def _number(text, place, end):
    """Read the numeral that starts at ``place``; returns its value modulo 2^64 and its end."""
    value = np.uint64(0)
    digits = 0
    while _digit(text, place, end):
        value = value * np.uint64(10) + np.uint64(text[place] - 48)
        digits += 1
        place += 1
    if digits <= 3:
        while True:
            width = _separator(text, place, end)
            group = place + width
            if width == 0 or not (
                _digit(text, group, end)
                and _digit(text, group + 1, end)
                and _digit(text, group + 2, end)
                and not _digit(text, group + 3, end)
            ):
                break
            for at in range(group, group + 3):
                value = value * np.uint64(10) + np.uint64(text[at] - 48)
            place = group + 3
    while place < end and (text[place] == 46 or text[place] == 44) and _digit(text, place + 1, end):
        place += 1
        while _digit(text, place, end):
            value = value * np.uint64(10) + np.uint64(text[place] - 48)
            place += 1
    return value, place


@helper()
def _scan(text, start, end, out, first):
    """Write the distinct numbers of a sentence to ``out`` from ``first``; returns their count."""
    count = 0
    place = start
    while place < end:
        if not _digit(text, place, end):
            place += 1
            continue
        value, place = _number(text, place, end)
        at = count
        while at > 0 and out[first + at - 1] > value:
            at -= 1
        if at > 0 and out[first + at - 1] == value:
            continue
        for later in range(count, at, -1):
            out[first + later] = out[first + later - 1]
        out[first + at] = value
        count += 1
    return count


def find_numbers(text: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the distinct numbers of every sentence, as values modulo 2^64.

    ``text (b,) uint8`` is UTF-8; sentence ``i`` is ``text[offsets[i]:offsets[i + 1]]``. Returns
    ``values (m,) uint64``, ascending in each sentence, and their offsets ``(n + 1,) int64``.
    """
    digits = np.count_nonzero((text >= 48) & (text <= 57))
    values, bounds = np.empty(digits, dtype=np.uint64), np.zeros(len(offsets), dtype=np.int64)
    _find_numbers(read_only(text), offsets, values, bounds)
    return values[: bounds[-1]].copy(), bounds


@njit(nogil=True)
def _find_numbers(text, offsets, values, bounds):
    for i in range(len(offsets) - 1):
        bounds[i + 1] = bounds[i] + _scan(text, offsets[i], offsets[i + 1], values, bounds[i])


# Numbers of sentences, and their offsets.
_Numbers = tuple[np.ndarray, np.ndarray]


def shared_numbers(
    source: _Numbers, target: _Numbers, source_row: np.ndarray, target_row: np.ndarray
) -> np.ndarray:
    """Count the numbers that occur in both sentences of each pair: ``(m,) int64``.

    ``source`` and ``target`` are values and offsets by :func:`find_numbers`; pair ``c`` is the
    sentence ``source_row[c]`` with ``target_row[c]``.
    """
    out = np.zeros(len(source_row), dtype=np.int64)
    _shared_numbers(*source, *target, source_row, target_row, out)
    return out


@njit(nogil=True)
def _shared_numbers(source, source_offsets, target, target_offsets, source_row, target_row, out):
    for c in range(len(source_row)):
        i, last = source_offsets[source_row[c]], source_offsets[source_row[c] + 1]
        j, end = target_offsets[target_row[c]], target_offsets[target_row[c] + 1]
        while i < last and j < end:
            if source[i] == target[j]:
                out[c] += 1
                i += 1
                j += 1
            elif source[i] < target[j]:
                i += 1
            else:
                j += 1
