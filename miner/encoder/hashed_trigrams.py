"""Tokenizer without a vocabulary, for comparing texts of any script: hashed character trigrams."""

from collections.abc import Sequence

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.encoder.unit_lists import code_points

BITS = 18


class HashedTrigrams:
    """Token ids are hashes of the trigram around each character, in ``[0, size)``."""

    size = 1 << BITS

    def __init__(self) -> None:
        self.meaningful = np.ones(self.size, dtype=bool)
        self.normalise = Normaliser.by_rule(True)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return a ragged array: ``ids (t,) int32`` and ``offsets (n + 1,) int64``."""
        from miner.kernels.units import trigram_keys

        codes, offsets = code_points(self.normalise(sentences))
        keys = np.empty(len(codes), dtype=np.uint64)
        trigram_keys(codes, offsets, keys)
        mixed = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(64 - BITS)).astype(np.int32), offsets

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """Return the characters of one sentence, and the id of the trigram around each."""
        texts = self.normalise([sentence])
        return list(texts[0]), self(texts)[0]
