"""Token ids of sentences as flat arrays, and a small lexicon."""

import numpy as np

from miner.encoder.lexicon import Lexicon


def flat(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, sentences)])
    return np.array([piece for one in sentences for piece in one], dtype=np.int32), offsets


def random_lexicon(generator: np.random.Generator, size: int) -> Lexicon:
    table = generator.random((size, size)) * (generator.random((size, size)) < 0.1)
    row, column = np.nonzero(table)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    frequency = generator.random(size) + 0.01
    return Lexicon(
        offsets,
        column.astype(np.int32),
        table[row, column].astype(np.float32),
        (frequency / (frequency.sum() + 1)).astype(np.float32),
    )
