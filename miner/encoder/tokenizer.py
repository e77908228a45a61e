"""Protocol of the tokenizers, the function that opens them, and the tokenizer of two
vocabularies (P19).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from miner.encoder.architecture import SEGMENTATION, TARGET, VOCABULARIES, Architecture
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.trigram_units import TrigramTokenizer
from miner.encoder.word_units import WordTokenizer
from miner.option_values import SIDES


class Tokenizer(Protocol):
    """Protocol: sentences to token ids. Units out of the vocabulary are dropped.

    ``size`` is the number of token ids; ``meaningful (size,) bool`` marks the ids that a call can
    return.
    """

    size: int
    meaningful: np.ndarray

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return a ragged array: ``ids (t,) int32`` and ``offsets (n + 1,) int64``."""
        ...


class MarkedTokenizer:
    """Tokenizer of one column of a model with separate vocabularies for the columns (P19).

    ``column`` is 0 for the source, 1 for the target, whose ids follow those of the source.
    ``target`` is the target's tokenizer; None: both columns share one. ``alike``: pieces of the
    target that the source also has get the source's ids.
    """

    def __init__(
        self, source: Tokenizer, column: int, target: Tokenizer | None = None, alike: bool = False
    ):
        both = source, source if target is None else target
        self.tokenizer: Tokenizer = both[column]
        self.size = both[0].size + both[1].size
        self.meaningful = np.concatenate([tokenizer.meaningful for tokenizer in both])
        size = self.tokenizer.size
        # (size,) int32: id in the model for each id of the column's vocabulary.
        self.place = np.arange(size, dtype=np.int32) + np.int32(source.size * column)
        if alike and column:
            assert isinstance(source, PieceTokenizer) and isinstance(target, PieceTokenizer)
            known = {piece: i for i, piece in enumerate(source.spellings())}
            shared = [known.get(piece, -1) for piece in target.spellings()]
            self.place = np.where(np.array(shared) >= 0, shared, self.place).astype(np.int32)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        ids, offsets = self.tokenizer(sentences)
        return self.place[ids], offsets


def open_tokenizer(
    units: str,
    files: Mapping[str, bytes],
    architecture: Architecture,
    side: str | None = None,
    place: Path | None = None,
) -> Tokenizer:
    """Open the tokenizer of one kind of ``units``, a key of :data:`VOCABULARIES`.

    ``files`` are the vocabularies by their names in a model directory, ``place`` the directory that
    an ArtifactError names. ``side``, one of :data:`~miner.option_values.SIDES`, is needed if the
    columns have separate vocabularies.
    """

    def opened(prefix: str) -> Tokenizer:
        name = prefix + VOCABULARIES[units]
        path = name if place is None else str(place / name)
        if units == "piece":
            return PieceTokenizer(files[name], path, architecture.one_script)
        if units == "trigram":
            return TrigramTokenizer(files[name], architecture.fold_case, path)
        morphs = files.get(prefix + SEGMENTATION)
        return WordTokenizer(files[name], architecture.fold_case, morphs, path)

    source = opened("")
    if not architecture.separate:
        return source
    assert side is not None
    target = opened(TARGET) if TARGET + VOCABULARIES[units] in files else None
    return MarkedTokenizer(source, SIDES.index(side), target, architecture.alike)
