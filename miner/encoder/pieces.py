"""Tokenizer of SentencePiece pieces."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from miner.encoder.script_folding import in_one_script
from miner.encoder.unigram_pieces import SPACE_MARK, UnigramPieces
from miner.encoder.unit_lists import keep_ids
from miner.errors import ArtifactError
from miner.ragged import offsets_of
from miner.text.invisible import visible


class PieceTokenizer:
    """SentencePiece token ids of visible text, without meaningless ones.

    Unknown pieces are dropped, and control pieces never occur. The bare word-boundary mark, which
    SentencePiece puts before an unknown word, is dropped as well: with it, all sentences in a
    script that the model does not know would share one vector. ``one_script`` applies
    :func:`~miner.encoder.script_folding.in_one_script` to sentences.
    """

    def __init__(self, vocabulary: bytes, name: str = "sp.model", one_script: bool = False):
        self._vocabulary, self._name, self._one_script = vocabulary, name, one_script
        self._fast: UnigramPieces | None
        try:
            self._fast = UnigramPieces(vocabulary, one_script)
            self.size, self.meaningful = self._fast.size, self._fast.meaningful
        except ValueError:
            self._fast, self.size = None, int(self.processor.get_piece_size())
            self.meaningful = ~_unknown_or_control(self.processor)
            self.meaningful[self.processor.piece_to_id(SPACE_MARK)] = False

    @cached_property
    def processor(self) -> Any:
        """SentencePiece processor, opened on first use: that takes longer than reading the
        vocabulary.
        """
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(self._vocabulary)
        except Exception as error:  # sentencepiece raises several undocumented types
            raise ArtifactError(f"{self._name}: not a SentencePiece model ({error})") from None
        return processor

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        if self._fast is not None:
            return self._fast(sentences)
        # Lists of ints: the alternative output of SentencePiece, an array for each sentence, takes
        # a third longer.
        lists = self.processor.encode(self._read(sentences), num_threads=1)
        offsets = offsets_of(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
        ids = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=offsets[-1])
        return keep_ids(ids, offsets, self.meaningful[ids])

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """Return the pieces of one sentence as text, and their ids ``(t,) int32``.

        Unknown pieces have the id of the unknown piece.
        """
        (sentence,) = self._read([sentence])
        pieces = self.processor.encode(sentence, out_type=str)
        ids = np.array(self.processor.encode(sentence, out_type=int), dtype=np.int32)
        return [piece.replace(SPACE_MARK, " ") for piece in pieces], ids

    def _read(self, sentences: Sequence[str]) -> list[str]:
        if self._one_script:
            return in_one_script(sentences)
        return [visible(sentence) for sentence in sentences]

    @property
    def digest(self) -> str:
        """SHA-256 of the vocabulary."""
        return hashlib.sha256(self._vocabulary).hexdigest()

    def spellings(self) -> list[str]:
        """Return the text of every piece, in the order of the ids."""
        return self.processor.id_to_piece(list(range(self.size)))


def _unknown_or_control(processor: Any) -> np.ndarray:
    """Return a mask of unknown and control pieces, ``(V,) bool``.

    Two calls for all pieces; a call for each would take longer than reading the model.
    """
    every = list(range(processor.get_piece_size()))
    return np.array(processor.is_unknown(every)) | np.array(processor.is_control(every))
