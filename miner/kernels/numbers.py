"""Numerals in sentences, normalised across languages: 1,234.5 equals 1.234,5 and 1 234,5.

A numeral is represented by its digits, without separators and leading zeros. Digits are 0 to 9 and
the full-width, Arabic, Persian, Indic, Thai and Lao ones. ``.`` and ``,``, and the Arabic marks for
them, join the digits that they stand between. A space or an apostrophe joins only groups of
thousands, of the digits 0 to 9: ``12 500``, but not ``in 1999 200 people``.
"""

import numpy as np

from miner.kernels.loops import njit


@njit()
def _digit(text, place, end):
    """Return the length in bytes of a digit at ``place``, or 0."""
    if place >= end:
        return 0
    byte = text[place]
    if byte < 0xD9:
        return 1 if 48 <= byte <= 57 else 0
    if place + 1 >= end:
        return 0
    second = text[place + 1]
    if byte == 0xD9:  # Arabic
        return 2 if 0xA0 <= second <= 0xA9 else 0
    if byte == 0xDB:  # Persian
        return 2 if 0xB0 <= second <= 0xB9 else 0
    if place + 2 >= end:
        return 0
    third = text[place + 2]
    if byte == 0xE0 and 0xA5 <= second <= 0xB5:  # Devanagari to Malayalam
        return 3 if second & 1 and 0xA6 <= third <= 0xAF else 0
    thai_or_wide = (byte == 0xE0 and (second == 0xB9 or second == 0xBB)) or (
        byte == 0xEF and second == 0xBC
    )
    return 3 if thai_or_wide and 0x90 <= third <= 0x99 else 0


@njit()
def _value(text, place, width):
    """Return the value of the digit of this many bytes at ``place``."""
    last = text[place + width - 1]
    return np.uint64((last & 15) - (6 if width == 3 and last >= 0xA6 else 0))


@njit()
def _joiner(text, place, end):
    """Return the length in bytes of a mark at ``place`` that joins two digits, or 0."""
    if place < end and (text[place] == 46 or text[place] == 44):
        return 1
    arabic = place + 1 < end and text[place] == 0xD9
    return 2 if arabic and (text[place + 1] == 0xAB or text[place + 1] == 0xAC) else 0


@njit()
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


@njit()
def _run(text, place, end, value):
    """Append a run of digits to ``value``; returns it, their number, and the end of the run."""
    digits = 0
    width = _digit(text, place, end)
    while width > 0:
        value = value * np.uint64(10) + _value(text, place, width)
        digits += 1
        place += width
        width = _digit(text, place, end)
    return value, digits, place


@njit()
def _number(text, place, end):
    """Read the numeral that starts at ``place``; returns its value modulo 2^64 and its end."""
    value, digits, place = _run(text, place, end, np.uint64(0))
    if digits <= 3:
        while True:
            width = _separator(text, place, end)
            group = place + width
            if width == 0 or not (
                _digit(text, group, end) == 1
                and _digit(text, group + 1, end) == 1
                and _digit(text, group + 2, end) == 1
                and not _digit(text, group + 3, end)
            ):
                break
            for at in range(group, group + 3):
                value = value * np.uint64(10) + np.uint64(text[at] - 48)
            place = group + 3
    while True:
        mark = _joiner(text, place, end)
        if mark == 0 or not _digit(text, place + mark, end):
            break
        value, _, place = _run(text, place + mark, end, value)
    return value, place


@njit()
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
    # Each number has a byte of its own; memory that none is written to costs nothing.
    values, bounds = np.empty(len(text), np.uint64), np.zeros(len(offsets), dtype=np.int64)
    _find_numbers(text, offsets, values, bounds)
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
