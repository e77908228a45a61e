"""Protocol of the tokenizers, their one opener, and the one for two vocabularies (P19)."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from miner.encoder.architecture import TARGET, VOCABULARIES, Architecture
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.trigram_units import TrigramTokenizer
from miner.encoder.word_units import WordTokenizer
from miner.names import SIDES

# Key of the segmentation of words beside vocabularies by unit.
SEGMENTATION = "segmentation"


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

    ``column`` is 0 for the source, whose ids are those of its tokenizer, and 1 for the target,
    whose ids follow after all of the source's. ``target`` is the target's own tokenizer; None: it
    has that of the source.
    """

    def __init__(self, source: Tokenizer, column: int, target: Tokenizer | None = None):
        both = source, source if target is None else target
        self.tokenizer: Tokenizer = both[column]
        self.shift = np.int32(source.size * column)
        self.size = both[0].size + both[1].size
        self.meaningful = np.concatenate([one.meaningful for one in both])

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = self.tokenizer(sentences)
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
    target: Mapping[str, bytes] | None = None,
) -> Tokenizer:
    """Open the tokenizer of one kind of ``units``, a key of :data:`VOCABULARIES`.

    ``side``, one of :data:`~miner.names.SIDES`, is needed if the columns share no embedding.
    ``name`` is the file that an ArtifactError names. ``target`` has the target column's own
    vocabularies by unit, and its segmentation by :data:`SEGMENTATION`, if it has some.
    """
    name = name or VOCABULARIES[units]
    source = _plain(units, vocabulary, architecture.fold_case, segmentation, name)
    if not architecture.separate:
        return source
    assert side is not None
    own = None
    if target:
        own = _plain(
            units, target[units], architecture.fold_case, target.get(SEGMENTATION), TARGET + name
        )
    return MarkedTokenizer(source, SIDES.index(side), own)


def _plain(
    units: str, vocabulary: bytes, fold_case: bool, segmentation: bytes | None, name: str
) -> Tokenizer:
    if units == "piece":
        return PieceTokenizer(vocabulary, name)
    if units == "word":
        return WordTokenizer(vocabulary, fold_case, segmentation, name)
    return TrigramTokenizer(vocabulary, fold_case, name)
