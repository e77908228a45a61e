"""Lexicon of translation probabilities: IBM Model 1 over the tokens of the training text."""

import numpy as np

from miner.encoder.lexicon import Lexicon
from miner.kernels.model1 import distinct, expectation, maximisation, occurrences, partners
from miner.machine import thread_count
from miner_train.data import PairData, Sentences, join

ITERATIONS = 5
# Tokens that occur together in fewer pairs than this are no translations.
TOGETHER = 2
# Entries below these probabilities are dropped after each iteration but the first, and at the end.
UNLIKELY, KEPT = 0.001, 0.003


def learn_lexicon(data: PairData, size: int) -> Lexicon:
    """Learn translation probabilities of ``size`` token ids (Brown et al. 1993).

    The text is read in both directions, into one table.
    """
    left, right = join([data.source, data.target]), join([data.target, data.source])
    left, right = Sentences(*distinct(*_flat(left))), Sentences(*distinct(*_flat(right)))
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
    count = np.bincount(right.ids, minlength=size) + 0.5
    frequency = (count / (count.sum() + 1)).astype(np.float32)
    expected = np.empty(len(right.ids), dtype=np.float32)
    for iteration in range(ITERATIONS):
        expectation(*_flat(left), *_flat(right), rows, columns, probability, frequency, expected)
        probability = maximisation(
            starts, where, *_flat(right), rows, columns, probability, expected, lanes
        )
        if iteration > 0:
            rows, columns, probability = _likely(rows, columns, probability, UNLIKELY)
    rows, columns, probability = _likely(rows, columns, probability, KEPT)
    return Lexicon(rows, columns, probability, frequency)


def _flat(sentences: Sentences) -> tuple[np.ndarray, np.ndarray]:
    return sentences.ids, sentences.offsets


def _likely(
    rows: np.ndarray, columns: np.ndarray, probability: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Select the entries of the table with a probability of at least ``least``."""
    keep = probability >= least
    kept = np.zeros(len(keep) + 1, dtype=np.int64)
    np.cumsum(keep, out=kept[1:])
    return kept[rows], columns[keep], probability[keep]
