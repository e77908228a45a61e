"""Lexicons of translation probabilities: IBM Model 1 over the tokens of the training text."""

from collections.abc import Mapping

import numpy as np

from miner.encoder.lexicons import LEAST, Direction, Lexicons, Table
from miner.kernels.model1 import distinct, expectation, maximisation, occurrences, partners
from miner.machine import thread_count
from miner_train.data import PairData, Sentences, join

ITERATIONS = 5
# Tokens that occur together in fewer pairs than this are no translations.
TOGETHER = 2
# Entries below this probability are dropped after each iteration but the first.
UNLIKELY = 0.001
# Entries that are expected in fewer sentences of the training text are dropped at the end: chance
# put most of them there, and they are two thirds of the table of a small language.
EXPECTED = 1.0


def learn_lexicons(data: PairData, rows_of: Mapping[Direction, np.ndarray], size: int) -> Lexicons:
    """Learn translation probabilities of ``size`` token ids (Brown et al. 1993).

    ``rows_of`` are the rows of each pair of languages, source first; each of its two directions
    has a table of its own. Text of one language, or of unknown ones, is read in both directions
    into one table.
    """
    groups: dict[Direction, list[tuple[Sentences, Sentences]]] = {}
    for (source, target), rows in rows_of.items():
        part = data.take(rows)
        groups.setdefault((source, target), []).append((part.source, part.target))
        groups.setdefault((target, source), []).append((part.target, part.source))
    tables = {}
    for pair, parts in sorted(groups.items()):
        left, right = (join(side) for side in zip(*parts, strict=True))
        tables[pair] = _table(left, right, size)
    return Lexicons(tables)


def _table(source: Sentences, target: Sentences, size: int) -> Table:
    """Learn the translations of the source's tokens."""
    left, right = Sentences(*distinct(*_flat(source))), Sentences(*distinct(*_flat(target)))
    lanes = thread_count()
    starts, where = occurrences(left.ids, left.offsets, size)
    none = np.empty(0, dtype=np.int32)
    rows = np.zeros(size + 1, dtype=np.int64)
    arguments = (starts, where, right.ids, right.offsets, TOGETHER)
    np.cumsum(partners(*arguments, rows, none, lanes), out=rows[1:])
    columns = np.empty(rows[-1], dtype=np.int32)
    if len(columns):
        partners(*arguments, rows, columns, lanes)
    probability = np.repeat(1 / np.maximum(np.diff(rows), 1), np.diff(rows)).astype(np.float32)
    opposite = np.bincount(right.ids, minlength=size) + 0.5
    frequency = (opposite / (opposite.sum() + 1)).astype(np.float32)
    expected = np.empty(len(right.ids), dtype=np.float32)
    for iteration in range(ITERATIONS):
        expectation(*_flat(left), *_flat(right), rows, columns, probability, frequency, expected)
        probability = maximisation(
            starts, where, *_flat(right), rows, columns, probability, expected, lanes
        )
        if iteration > 0:
            keep = probability >= UNLIKELY
            rows, columns, probability = _select(rows, columns, probability, keep)
    count = np.diff(starts).astype(np.float32)
    expected = probability * np.repeat(count, np.diff(rows))
    keep = (probability >= LEAST) & (expected >= EXPECTED)
    return Table(*_select(rows, columns, probability, keep), count)


def _flat(sentences: Sentences) -> tuple[np.ndarray, np.ndarray]:
    return sentences.ids, sentences.offsets


def _select(
    rows: np.ndarray, columns: np.ndarray, probability: np.ndarray, keep: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Select entries of the table by a mask, ``keep (m,) bool``."""
    kept = np.zeros(len(keep) + 1, dtype=np.int64)
    np.cumsum(keep, out=kept[1:])
    return kept[rows], columns[keep], probability[keep]
