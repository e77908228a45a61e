"""Lexicons of translation probabilities: IBM Model 1 over the tokens of the training text."""

from collections.abc import Mapping

import numpy as np

from miner.encoder.lexicons import LEAST, Direction, Lexicons, TranslationTable
from miner.kernels.model1 import learn, select
from miner_train.data import PairData, Sentences, join

# Minimum number of pairs in which two tokens occur together to be translations.
TOGETHER = 2
# Probability below which entries are dropped after each iteration except the first.
UNLIKELY = 0.001
# Minimum expected number of sentences of an entry in the training text; others, mostly there by
# chance, are dropped at the end.
EXPECTED = 1.0


def learn_lexicons(data: PairData, rows_of: Mapping[Direction, np.ndarray], size: int) -> Lexicons:
    """Learn translation probabilities of ``size`` token ids (Brown et al. 1993).

    ``rows_of``: rows of each pair of languages, source first; each direction has a table. Text in
    a single or an unknown language is read in both directions into one table.
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


def _table(source: Sentences, target: Sentences, size: int) -> TranslationTable:
    """Learn the translations of the source's tokens."""
    left, right = ((side.ids, side.offsets) for side in (source, target))
    rows, columns, probability, count = learn(left, right, size, TOGETHER, UNLIKELY)
    count = count.astype(np.float32)
    expected = probability * np.repeat(count, np.diff(rows))
    keep = (probability >= LEAST) & (expected >= EXPECTED)
    return TranslationTable(*select(rows, columns, probability, keep), count)
