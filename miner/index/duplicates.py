"""Duplicate sentences of a text, by partitions of the hashes of their plain forms.

All repeats of a sentence are in the same partition, in whatever file or span they occur.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miner.text.words import plain_form

# A sentence: its hash, and its row in a span or in the whole text.
HASHED = np.dtype([("hash", "<u8"), ("row", "<i8")])
# Rows written at a time.
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Duplicates of a partition: each ``row``, ascending, repeats the earlier row ``first``."""

    row: np.ndarray
    first: np.ndarray


def hashed(hashes: np.ndarray) -> np.ndarray:
    """Return the sentences of a span by hash, ``(n,)`` of HASHED."""
    order = np.argsort(hashes, kind="stable")
    table = np.empty(len(order), dtype=HASHED)
    table["hash"], table["row"] = hashes[order], order
    return table


def partition_of(
    spans: Sequence[np.ndarray], firsts: Sequence[int], partition: int, partitions: int
) -> np.ndarray:
    """Return the sentences of all spans whose hashes fall in a partition, ``(m,)`` of HASHED.

    ``firsts`` are the first rows of the spans in the text.
    """
    parts = [np.empty(0, dtype=HASHED)]
    for span, first in zip(spans, firsts, strict=True):
        low, high = (
            len(span) if edge == 1 << 64 else int(np.searchsorted(span["hash"], np.uint64(edge)))
            for edge in ((part << 64) // partitions for part in (partition, partition + 1))
        )
        part = np.array(span[low:high])
        part["row"] += first
        parts.append(part)
    return np.concatenate(parts)


def duplicates_of(rows: np.ndarray, sentence: Callable[[int], str]) -> Duplicates:
    """Find the duplicates among rows ``(m,)`` of HASHED; ``sentence`` returns the text of a row.

    Sentences with equal hashes but different plain forms are no duplicates.
    """
    ordered = rows[np.lexsort((rows["row"], rows["hash"]))]
    row, hashes = ordered["row"], ordered["hash"]
    begins = np.append(True, hashes[1:] != hashes[:-1])[: len(row)]
    first = row[np.maximum.accumulate(np.where(begins, np.arange(len(row)), 0))]
    for i in np.flatnonzero(~begins).tolist():
        if plain_form(sentence(int(row[i]))) != plain_form(sentence(int(first[i]))):
            first[i] = row[i]
    repeats = np.flatnonzero(first != row)
    repeats = repeats[np.argsort(row[repeats])]
    return Duplicates(row[repeats], first[repeats])


def first_rows(hashes: np.ndarray, sentence: Callable[[int], str]) -> np.ndarray:
    """Return the first row with the same plain form as each, ``(n,) int64``."""
    repeats = duplicates_of(hashed(hashes), sentence)
    first = np.arange(len(hashes))
    first[repeats.row] = repeats.first
    return first


def write_first(first: np.ndarray, row: Sequence[np.ndarray], firsts: Sequence[np.ndarray]) -> None:
    """Write the first row with each row's plain form, ``(n,)``, from the results of all
    partitions.
    """
    for start in range(0, len(first), BLOCK):
        end = min(start + BLOCK, len(first))
        block = np.arange(start, end)
        for rows, of in zip(row, firsts, strict=True):
            low, high = np.searchsorted(rows, (start, end))
            block[rows[low:high] - start] = of[low:high]
        first[start:end] = block
