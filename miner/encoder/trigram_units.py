"""Tokenizers of character trigrams, and the packing of trigrams into integers."""

from collections.abc import Sequence

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.encoder.unit_lists import code_points, keep_ids, vocabulary_lines
from miner.errors import ArtifactError

# Bits of a hashed trigram.
HASH_BITS = 18


class TrigramTokenizer:
    """Character trigrams of a sentence with a space before and after it.

    Each character is the centre of one trigram, so trigrams cross word boundaries. ``vocabulary``
    is UTF-8, one trigram a line.
    """

    def __init__(self, vocabulary: bytes, fold_case: bool, name: str = "trigrams.txt"):
        from miner.kernels.units import table

        types = vocabulary_lines(vocabulary, name)
        for line, trigram in enumerate(types, 1):
            if len(trigram) != 3:
                raise ArtifactError(
                    f"{name}, line {line}: {len(trigram)} characters, not 3; copy or train the "
                    "model again"
                )
        self.size = len(types)
        self.meaningful = np.ones(self.size, dtype=bool)
        self.normalise = Normaliser.by_rule(fold_case)
        self._table = table(pack_trigrams(types))

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        from miner.kernels.units import trigrams

        codes, offsets = code_points(self.normalise(sentences))
        ids = np.empty(len(codes), dtype=np.int32)
        trigrams(codes, offsets, *self._table, ids)
        return keep_ids(ids, offsets, ids >= 0)


class HashedTrigrams:
    """Tokenizer without a vocabulary, to compare texts in any script.

    Token ids are hashes of the trigram around each character, in ``[0, size)``.
    """

    size = 1 << HASH_BITS

    def __init__(self) -> None:
        self.meaningful = np.ones(self.size, dtype=bool)
        self.normalise = Normaliser.by_rule(True)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return a ragged array: ``ids (t,) int32`` and ``offsets (n + 1,) int64``."""
        from miner.kernels.units import trigram_keys

        codes, offsets = code_points(self.normalise(sentences))
        keys = trigram_keys(codes, offsets)
        mixed = (keys ^ (keys >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(64 - HASH_BITS)).astype(np.int32), offsets


def pack_trigrams(trigrams: Sequence[str]) -> np.ndarray:
    """Pack texts of three characters into integers, ``(n,) uint64``, with the same order."""
    from miner.kernels.units import BITS

    codes = code_points(trigrams)[0].reshape(-1, 3).astype(np.uint64)
    shifts = np.array([2 * BITS, BITS, 0], dtype=np.uint64)
    return (codes << shifts).sum(axis=1, dtype=np.uint64)


def unpack_trigrams(keys: np.ndarray) -> list[str]:
    """Invert :func:`pack_trigrams`."""
    from miner.kernels.units import BITS

    shifts = np.array([2 * BITS, BITS, 0], dtype=np.uint64)
    codes = (keys[:, None] >> shifts) & np.uint64((1 << BITS) - 1)
    text = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [text[start : start + 3] for start in range(0, len(text), 3)]
