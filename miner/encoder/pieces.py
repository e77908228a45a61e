"""Tokenizer of SentencePiece pieces, and subword sampling (Kudo 2018)."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.encoder.unit_lists import code_points, keep_ids
from miner.errors import ArtifactError
from miner.ragged import offsets_of, take_lists

SPACE_MARK = "\u2581"  # SentencePiece's mark for a space


class PieceTokenizer:
    """SentencePiece token ids without those that carry no meaning.

    Unknown pieces are dropped, and control pieces never occur. The bare word-boundary mark, which
    SentencePiece puts before an unknown word, is dropped as well: with it, all sentences in a
    script that the model does not know would share one vector.
    """

    def __init__(self, vocabulary: bytes, name: str = "sp.model"):
        import sentencepiece

        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(vocabulary)
        except Exception as error:  # sentencepiece raises several undocumented types
            raise ArtifactError(f"{name}: not a SentencePiece model ({error})") from None
        self.size: int = self.processor.get_piece_size()
        self.meaningful = ~_unknown_or_control(self.processor)
        self.meaningful[self.processor.piece_to_id(SPACE_MARK)] = False
        self._vocabulary = vocabulary
        self._sampler: _Sampler | None = None

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        # Lists of ints: SentencePiece's only other output, an array for each sentence, takes a
        # third longer.
        lists = self.processor.encode(list(sentences), num_threads=1)
        offsets = offsets_of(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
        ids = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=offsets[-1])
        return keep_ids(ids, offsets, self.meaningful[ids])

    def sample(
        self, sentences: Sequence[str], alpha: float, seed: int, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tokenise with segmentations drawn at random (Kudo 2018, without the n-best limit).

        A segmentation is drawn in proportion to its probability to the power of ``alpha`` >= 0: 0
        makes all equally likely, and a large ``alpha`` draws the best. The random numbers of
        sentence ``i`` follow from ``seed`` and ``first + i`` alone, so that a large text may be
        sampled in blocks of any size. A sentence with meaningful pieces always keeps one.
        """
        if self._sampler is None:
            self._sampler = _Sampler(self.processor, self._vocabulary)
        ids, offsets = self._sampler(sentences, alpha, seed, first)
        ids, offsets = keep_ids(ids, offsets, (ids >= 0) & self.meaningful[ids])
        bare = np.flatnonzero(np.diff(offsets) == 0)
        if not len(bare):
            return ids, offsets
        best, best_offsets = self([sentences[row] for row in bare.tolist()])
        rows = np.arange(len(sentences))
        rows[bare] = len(sentences) + np.arange(len(bare))
        both = np.concatenate([offsets, offsets[-1] + best_offsets[1:]])
        return take_lists(np.concatenate([ids, best]), both, rows)

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """Return the pieces of one sentence as text, and their ids ``(t,) int32``.

        Unknown pieces have the id of the unknown piece.
        """
        pieces = self.processor.encode(sentence, out_type=str)
        ids = np.array(self.processor.encode(sentence, out_type=int), dtype=np.int32)
        return [piece.replace(SPACE_MARK, " ") for piece in pieces], ids


def _unknown_or_control(processor: Any) -> np.ndarray:
    """``(V,) bool``, in two calls: one for each piece would take longer than reading the model."""
    every = list(range(processor.get_piece_size()))
    return np.array(processor.is_unknown(every)) | np.array(processor.is_control(every))


class _Sampler:
    """Pieces and their log-probabilities in the form that the sampling loop reads."""

    def __init__(self, processor: Any, vocabulary: bytes):
        from miner.kernels.unigram import trie

        ids = np.flatnonzero(~_unknown_or_control(processor)).tolist()
        pieces, scores = processor.id_to_piece(ids), processor.get_score(ids)
        self.trie = trie(pieces, ids, scores)
        self.longest = max(map(len, pieces), default=0)
        self.unknown = min(scores, default=0.0) - 10.0  # SentencePiece's penalty
        self.normalise = Normaliser.of_model(vocabulary)
        self.prefix = SPACE_MARK if processor.normalize("a").startswith(SPACE_MARK) else ""

    def __call__(
        self, sentences: Sequence[str], alpha: float, seed: int, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sampled ids of all sentences, -1 for unknown pieces, and their offsets."""
        from miner.kernels.unigram import sample

        texts = [text and self.prefix + text for text in self.normalise(sentences)]
        codes, offsets = code_points([text.replace(" ", SPACE_MARK) for text in texts])
        ids, lengths = np.empty(len(codes), np.int32), np.empty(len(texts), np.int64)
        count = sample(
            codes,
            offsets,
            self.trie,
            self.longest,
            self.unknown,
            float(alpha),
            np.uint64(seed),
            np.uint64(first),
            ids,
            lengths,
        )
        return ids[:count], offsets_of(lengths)
