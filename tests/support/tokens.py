"""Text of every script for tests of tokenizers, token ids as lists or flat arrays, a lexicon."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from miner.encoder.lexicon import Lexicon

# Text of every script; odd characters are oversampled.
odd = st.sampled_from(
    ["", " ", "\t", "\n", "\x85", "\u2028", "\u3000", "\u2581", "\u200b", "\ufeff", "\0", "\ue000"]
    + ["\ud800", "\udfff", "e\u0301", "\u0301", "\ufb01", "ẞ", "İ", "\U0001f600", "한", "_", "a1"]
)
text = st.lists(st.one_of(st.text(max_size=6), odd, st.sampled_from(["a", "ab ", "ba b"]))).map(
    "".join
)
texts = st.lists(text, max_size=6)


def lines(units: Sequence[str]) -> bytes:
    return "".join(f"{unit}\n" for unit in units).encode()


def lists(found: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    """Return the ids of each sentence; check types and offsets."""
    ids, offsets = found
    assert ids.dtype == np.int32 and offsets.dtype == np.int64
    assert offsets[0] == 0 and offsets[-1] == len(ids)
    return [ids[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


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
