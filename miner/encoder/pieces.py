"""Tokenizer of SentencePiece pieces: a C loop that takes less than half of SentencePiece's time.

SentencePiece's normalisation is learned character by character. SentencePiece itself is called for
sentences with characters that depend on others, such as combining accents.
"""

import hashlib
import re
import threading
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from miner.arrays import distinct
from miner.encoder.cached_arrays import cached_arrays, key_of
from miner.encoder.normaliser import Normaliser
from miner.encoder.script_folding import dependent, depends, in_one_script
from miner.encoder.unigram_model import ARRAYS, CODE_POINTS, SPACE_MARK, piece_texts, read_pieces
from miner.encoder.unit_lists import code_points, keep_ids
from miner.errors import ArtifactError
from miner.kernels import unigram
from miner.ragged import offsets_of
from miner.text.invisible import JOINED, JOINER, NON_JOINER, visible

# Characters that normalisation can join with the preceding one, and a few others in their ranges.
JOINING = re.compile(
    "[\u0300-\u036f\u0653-\u0655\u093c\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5"
    "\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u102e\u1161-\u11ff\u1b35\u3099\u309a\u3130-\u318f"
    "\uff9e-\uffdc\U00011000-\U00016fff]"
)

_DIGITS = [code for code in JOINED if chr(code).isdecimal()]


class UnigramPieces:
    """Ids of the unigram pieces of sentences, without the space mark and unknown characters.

    ``meaningful (size,) bool`` marks the possible ids. Raises ValueError for an unsupported
    vocabulary: another algorithm, other rules for spaces, or other kinds of pieces.
    """

    def __init__(self, vocabulary: bytes, one_script: bool):
        import sentencepiece

        self._one_script = one_script
        key = key_of(hashlib.sha256(vocabulary).hexdigest())
        arrays = cached_arrays("pieces", ARRAYS, key, lambda: read_pieces(vocabulary))
        self._trie, self._scores, self._numbers = (arrays[name] for name in ARRAYS[:3])
        self.meaningful, self.spans = arrays["meaningful"], arrays["spans"]
        self.size: int = len(self.meaningful)
        start, end, self._mark, self._dropped = arrays["places"].tolist()
        try:
            normalizer = sentencepiece.SentencePieceNormalizer(
                normalizer_spec=vocabulary[start:end],
                add_dummy_prefix=False,
                escape_whitespaces=False,
            )
        except RuntimeError as error:
            raise ValueError("damaged rules of normalisation") from error
        self._normalise = Normaliser(normalizer)
        # Action of unigram.segment by code point; UNSEEN until a text contains it.
        self._actions = np.zeros(CODE_POINTS, np.int32)
        self._longer = np.zeros(0, np.int32)
        # Actions of joiners in scripts that need them; elsewhere joiners are dropped.
        joiners = (self._action(chr(code), chr(JOINED[0])) for code in (NON_JOINER, JOINER))
        self._joiners = np.array(
            [action if isinstance(action, int) else unigram.REFUSE for action in joiners]
        )
        self._lock = threading.Lock()
        self._stores: list[Any] = []  # one cache for each concurrent thread

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return a ragged array: ``ids (t,) int32`` and ``offsets (n + 1,) int64``."""
        codes, offsets = code_points(sentences)
        actions = self._actions[codes]
        unseen = actions == unigram.UNSEEN
        if unseen.any():
            rare = codes[unseen]
            rare = distinct(rare[(rare != NON_JOINER) & (rare != JOINER)])
            if len(rare):
                self._learn(rare)
                actions = self._actions[codes]
            self._join(codes, offsets, actions)
        if self._one_script:
            actions[offsets[dependent(codes, offsets)]] = unigram.REFUSE
        ids, counts = self._segment(actions, offsets)
        left = np.flatnonzero(counts < 0)
        if len(left):
            segmented = counts >= 0
            more, counts[left] = self._normalised([sentences[row] for row in left.tolist()])
            joined, from_segments = np.empty(counts.sum(), np.int32), np.repeat(segmented, counts)
            joined[from_segments], joined[~from_segments] = ids, more
            ids = joined
        return ids, offsets_of(counts)

    def _normalised(self, sentences: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return ``ids (t,) int32`` and ``counts (n,) int64`` of ids, for any characters."""
        texts = in_one_script(sentences) if self._one_script else sentences
        codes, offsets = code_points(self._normalise(texts))
        actions = np.where(codes == ord(" "), unigram.SPACE, self._numbers[codes] + np.int32(1))
        return self._segment(actions, offsets)

    def _segment(self, actions: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ids, counts = np.empty(len(actions), np.int32), np.empty(len(offsets) - 1, np.int64)
        try:
            store = self._stores.pop()
        except IndexError:
            store = unigram.no_words()
        total = unigram.segment(
            *(actions, offsets, self._longer, self._mark, self._trie, self._scores, self._dropped),
            *(unigram.room_for(offsets), store, ids, counts),
        )
        self._stores.append(store)
        return ids[:total].copy(), counts

    def _join(self, codes: np.ndarray, offsets: np.ndarray, actions: np.ndarray) -> None:
        """Set the actions of joiners, which are always UNSEEN, from the characters beside them."""
        places = np.flatnonzero(actions == unigram.UNSEEN)
        if not len(places):
            return
        edge = np.zeros(len(codes) + 1, bool)
        edge[offsets] = True
        letter, hidden = [], np.zeros(len(places), bool)
        for near, outside in ((places - 1, edge[places]), (places + 1, edge[places + 1])):
            code = np.where(outside, 0, codes.take(near, mode="wrap"))
            action = np.where(outside, 0, actions.take(near, mode="wrap"))
            letter.append((code >= JOINED[0]) & (code <= JOINED[-1]))
            # The characters beside the joiner are dropped, or joiners too: the whole text decides.
            hidden |= ~outside & ((action == unigram.DROP) | (action == unigram.UNSEEN))
            # they may become 0 to 9, which do not count as letters there
            hidden |= np.isin(code, _DIGITS)
        joiner = codes[places] - NON_JOINER
        joined = np.where(
            letter[0] & (letter[1] | (joiner == 1)), self._joiners[joiner], unigram.DROP
        )
        actions[places] = np.where(hidden, unigram.REFUSE, joined)

    def _learn(self, codes: np.ndarray) -> None:
        """Determine the actions of new characters."""
        actions = [self._action(chr(code)) for code in codes.tolist()]
        with self._lock:
            longer = self._longer.tolist()
            for i, characters in enumerate(actions):
                if isinstance(characters, list):
                    actions[i] = unigram.LONGER - len(longer)
                    longer += len(characters), *characters
            # Set before the actions that refer to it: other threads read both without the lock.
            self._longer = np.array(longer, np.int32)
            self._actions[codes] = actions

    def _action(self, character: str, beside: str = "a") -> int | list[int]:
        """Return the action of a character; a list of numbers if it becomes several characters."""
        if JOINING.match(character) or (self._one_script and depends(character)):
            return unigram.REFUSE
        # Between two letters, because normalisation strips spaces at both ends.
        text = [f"{beside}{character}{beside}"]
        normalised = self._normalise(in_one_script(text) if self._one_script else text)[0][1:-1]
        if normalised in ("", " "):
            return unigram.SPACE if normalised else unigram.DROP
        if " " in normalised or SPACE_MARK in normalised:
            return unigram.REFUSE
        numbers = self._numbers[code_points([normalised])[0]].tolist()
        return numbers if len(numbers) > 1 else numbers[0] + 1


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
        if self._fast is not None:
            return piece_texts(self._vocabulary, self._fast.spans)
        return self.processor.id_to_piece(list(range(self.size)))


def _unknown_or_control(processor: Any) -> np.ndarray:
    """Return a mask of unknown and control pieces, ``(V,) bool``.

    Two calls for all pieces; a call for each would take longer than reading the model.
    """
    every = list(range(processor.get_piece_size()))
    return np.array(processor.is_unknown(every)) | np.array(processor.is_control(every))
