"""Plain references of the lexicons: dense tables, and no compiled loops."""

import numpy as np

from miner.encoder.lexicons import LEAST, Lexicons, Table


def random_table(generator: np.random.Generator, size: int, tokens: np.ndarray, others: np.ndarray):
    """Draw a table of translations of ``tokens``, which occur, by ``others``; rows add up to 1."""
    dense = np.zeros((size, size))
    block = generator.random((len(tokens), len(others))) ** 8
    block *= generator.random(block.shape) < 0.6
    dense[np.ix_(tokens, others)] = block / np.maximum(block.sum(axis=1, keepdims=True), 1e-9)
    dense[dense < LEAST] = 0
    row, column = np.nonzero(dense)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    count = np.zeros(size, dtype=np.float32)
    count[tokens] = generator.integers(1, 10_000, len(tokens))
    probability = np.minimum(dense[row, column], 1).astype(np.float32)
    return Table(offsets, column.astype(np.int32), probability, count)


def random_lexicons(generator: np.random.Generator, size: int, pairs: list[str]) -> Lexicons:
    """Draw tables of both directions of ``pairs`` such as ``de-en``, over shared token ids."""
    tables = {}
    for name in pairs:
        a, _, b = name.partition("-")
        left, right = (
            np.sort(generator.permutation(size)[: generator.integers(1, size + 1)]) for _ in "ab"
        )
        tables[a, b] = random_table(generator, size, left, right if a != b else left)
        if a != b:
            tables[b, a] = random_table(generator, size, right, left)
    return Lexicons(tables)


def dense(table) -> np.ndarray:
    """Return a table or lexicon as ``(V, V) float64``, rows translated by columns."""
    size = len(table.offsets) - 1
    out = np.zeros((size, size))
    out[np.repeat(np.arange(size), np.diff(table.offsets)), table.pieces] = table.probability
    return out


def through(first: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Multiply dense tables, and drop what is improbable."""
    product = first @ then
    return np.where(product >= LEAST, product, 0)


def mixed(tables: list[np.ndarray], counts: list[np.ndarray]) -> np.ndarray:
    """Mix dense tables, each row by the counts ``(V,)`` of its token."""
    out = np.zeros_like(tables[0])
    for token in range(len(out)):
        weights = [count[token] for count in counts]
        if sum(weights) > 0:
            parts = zip(weights, tables, strict=True)
            out[token] = sum(weight * table[token] for weight, table in parts) / sum(weights)
    return np.where(out >= LEAST, out, 0)
