"""Protocol of the tokenizers, their one opener, and the one for two vocabularies (P19)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from miner.encoder.architecture import VOCABULARIES, Architecture
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.trigram_units import TrigramTokenizer
from miner.encoder.word_units import WordTokenizer
from miner.names import SIDES


class Tokenizer(Protocol):
    """Protocol: sentences to token ids. Units out of the vocabulary are dropped.

    ``size`` is the number of token ids; ``meaningful (size,) bool`` marks those that a call can
    return.
    """

    size: int
    meaningful: np.ndarray

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return a ragged array: ``ids (t,) int32`` and ``offsets (n + 1,) int64``."""
        ...

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """Return the units of one sentence as text, and their ids ``(t,) int32``.

        Joined, the text is the sentence as the model reads it: normalised, and with folded case if
        the model folds case. Units without an id are included and have -1.
        """
        ...


class MarkedTokenizer:
    """Tokenizer of one column of a model whose columns share no embedding (P19).

    ``column`` is 0 for the source, whose ids are those of ``tokenizer``, and 1 for the target,
    whose ids follow after all of the source's.
    """

    def __init__(self, tokenizer: Tokenizer, column: int):
        self.tokenizer = tokenizer
        self.shift = np.int32(tokenizer.size * column)
        self.size = 2 * tokenizer.size
        self.meaningful = np.concatenate([tokenizer.meaningful] * 2)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = self.tokenizer(sentences)
        return ids + self.shift, offsets

    def sample(
        self, sentences: Sequence[str], alpha: float, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sample as :meth:`PieceTokenizer.sample`; ``tokenizer`` must be one of pieces."""
        assert isinstance(self.tokenizer, PieceTokenizer)
        ids, offsets = self.tokenizer.sample(sentences, alpha, seed, first)
        return ids + self.shift, offsets

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        texts, ids = self.tokenizer.surfaces(sentence)
        return texts, np.where(ids >= 0, ids + self.shift, ids)


def open_tokenizer(
    units: str,
    vocabulary: bytes,
    architecture: Architecture,
    segmentation: bytes | None = None,
    side: str | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Open the tokenizer of one kind of ``units``, a key of :data:`VOCABULARIES`.

    ``side``, one of :data:`~miner.names.SIDES`, is needed if the columns share no embedding.
    ``name`` is the file that an ArtifactError names.
    """
    name = name or VOCABULARIES[units]
    tokenizer: Tokenizer
    if units == "piece":
        tokenizer = PieceTokenizer(vocabulary, name)
    elif units == "word":
        tokenizer = WordTokenizer(vocabulary, architecture.fold_case, segmentation, name)
    else:
        tokenizer = TrigramTokenizer(vocabulary, architecture.fold_case, name)
    if not architecture.separate:
        return tokenizer
    assert side is not None
    return MarkedTokenizer(tokenizer, SIDES.index(side))
