"""Unigram pieces of sentences by our own loop: SentencePiece's ids in less than half its time.

SentencePiece's normalisation is learned by character. It is called for sentences with characters
that depend on others, such as accents that join the letter before them.
"""

import re
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.encoder.one_script import in_one_script, only_serbian
from miner.encoder.unit_lists import code_points
from miner.kernels import unigram
from miner.ragged import offsets_of

SPACE_MARK = "\u2581"  # SentencePiece's mark for a space
# Characters that normalisation can join with the one before, and a few others in their ranges.
JOINING = re.compile(
    "[\u0300-\u036f\u0653-\u0655\u093c\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0c56\u0cc2\u0cd5"
    "\u0cd6\u0d3e\u0d57\u0dca\u0dcf\u0ddf\u102e\u1161-\u11ff\u1b35\u3099\u309a\u3130-\u318f"
    "\uff9e-\uffdc\U00011000-\U00016fff]"
)
_CODE_POINTS = 0x110000
# In SentencePiece's format: kinds of pieces, and the field of the rules of normalisation.
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_RULES = 3
# Values, by field, of models that are read here; -1 is a field that is left out. Of the trainer:
# the algorithm, the mark after a word, pieces for bytes. Of the rules: a mark before the first
# word, no repeated spaces, a mark for a space.
_USUAL = {(2, 3): (-1, 1), (2, 24): (-1, 0), (2, 35): (-1, 0)}
_USUAL |= {(_RULES, field): (-1, 1) for field in (3, 4, 5)}
# Names of rules, the first field of theirs; others may replace several characters together.
_NAMES = tuple(
    bytes([10, len(name)]) + name.encode()
    for name in ("nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf", "identity")
)
# How far an unknown character scores below the least piece, by SentencePiece.
_PENALTY = np.float32(10)


class UnigramPieces:
    """Ids of the unigram pieces of sentences, without the space mark and unknown characters.

    ``meaningful (size,) bool`` marks these ids. Raises ValueError for a vocabulary that this does
    not read: of another algorithm, with other rules for spaces, or with pieces of other kinds.
    """

    def __init__(self, vocabulary: bytes, one_script: bool):
        import sentencepiece

        self._one_script = one_script
        data = np.frombuffer(vocabulary, np.uint8)
        room = vocabulary.count(b"\n")  # the first byte of every piece
        spans, bits = np.zeros((room, 2), np.int64), np.zeros(room, np.uint32)
        kinds, sections = np.zeros(room, np.uint8), np.zeros((4, 2), np.int64)
        settings = np.full((4, 64), -1)
        self.size: int = unigram.read_model(data, sections, settings, spans, bits, kinds)
        kinds, rules = kinds[: self.size], vocabulary[slice(*sections[_RULES])]
        known = kinds[:1] == _UNKNOWN and np.isin(kinds[1:], (_NORMAL, _CONTROL)).all()
        usual = all(settings[field] in values for field, values in _USUAL.items())
        if self.size < 2 or not known or not usual or not rules.startswith(_NAMES):
            raise ValueError("not a usual model of unigram pieces")
        self.meaningful = kinds == _NORMAL
        self._scores = bits[: self.size].view(np.float32)
        self._scores[0] = self._scores[self.meaningful].min() - _PENALTY
        if not ((self._scores > unigram.LEAST_SCORE) & (self._scores <= 0)).all():
            raise ValueError("a score is not a number, or so large that the sums are too inexact")
        self._enter(data, spans[: self.size], self._scores)
        try:
            normalizer = sentencepiece.SentencePieceNormalizer(
                normalizer_spec=rules, add_dummy_prefix=False, escape_whitespaces=False
            )
        except RuntimeError as error:
            raise ValueError("damaged rules of normalisation") from error
        self._normalise = Normaliser(normalizer)
        # By code point, what unigram.segment does with it; UNSEEN until a text has it.
        self._actions = np.zeros(_CODE_POINTS, np.int32)
        self._longer = np.zeros(0, np.int32)
        self._lock = threading.Lock()
        self._stores: list[Any] = []  # one for each thread that calls at the same time

    def _enter(self, data: np.ndarray, spans: np.ndarray, scores: np.ndarray) -> None:
        """Make the trie of all normal pieces."""
        self._numbers = np.zeros(_CODE_POINTS, np.uint16)
        codes = np.empty(int((spans[:, 1] - spans[:, 0]).sum()), np.int32)
        offsets = np.zeros(self.size + 1, np.int64)
        found = unigram.number_characters(data, spans, codes, offsets, self._numbers)
        codes, entered = codes[: offsets[-1]], np.flatnonzero(self.meaningful)
        lengths = np.diff(offsets)
        if not 0 < found < 1 << 16 or len(codes) >= 1 << 24 or not lengths[entered].all():
            raise ValueError("too many characters, or a piece without any")
        starts = np.zeros(len(codes), bool)
        starts[offsets[entered]] = True
        self._mark = int(self._numbers[ord(SPACE_MARK)])
        nodes, ends = np.zeros((len(codes) + 1, 5), np.int32), np.empty(self.size, np.int32)
        edges = np.zeros(1 << len(codes).bit_length(), np.uint64)
        count = unigram.list_nodes(codes, offsets, entered, edges, nodes, ends)
        if count < 0 or not self._mark or (codes[~starts] == self._mark).any():
            raise ValueError("not a usual list of pieces")
        ranked = entered[np.argsort(-scores[entered], kind="stable")]
        span, room = found + 1, count + count // 4 + 8 * found + 64
        trie, taken = np.zeros((room, 4), np.int32), np.zeros(room, bool)
        bits = scores.view(np.int32)
        last = unigram.place_nodes(nodes, span, ranked, ends, bits, taken, trie)
        if last < 0:
            raise ValueError("too many pieces with rare characters")
        del nodes, edges
        self._trie = trie[: last + span].copy()
        alone = entered[lengths[entered] == 1]
        bare = alone[codes[offsets[alone]] == self._mark]
        self._dropped = int(bare.max(initial=0))
        self.meaningful[self._dropped] = False

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return a ragged array: ``ids (t,) int32`` and ``offsets (n + 1,) int64``."""
        codes, offsets = code_points(sentences)
        actions = self._actions[codes]
        unseen = actions == unigram.UNSEEN
        if unseen.any():
            self._learn(np.unique(codes[unseen]))
            actions = self._actions[codes]
        ids, counts = self._segment(actions, offsets)
        left = np.flatnonzero(counts < 0)
        if len(left):
            own = counts >= 0
            more, counts[left] = self._normalised([sentences[row] for row in left.tolist()])
            joined, of_own = np.empty(counts.sum(), np.int32), np.repeat(own, counts)
            joined[of_own], joined[~of_own] = ids, more
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
            *(actions, offsets, self._longer, self._mark, self._trie, self._trie.view(np.float32)),
            *(self._scores, self._dropped, unigram.room_for(offsets), store, ids, counts),
        )
        self._stores.append(store)
        return ids[:total].copy(), counts

    def _learn(self, codes: np.ndarray) -> None:
        """Find the actions of characters."""
        actions = [self._action(chr(code)) for code in codes.tolist()]
        with self._lock:
            longer = self._longer.tolist()
            for i, characters in enumerate(actions):
                if isinstance(characters, list):
                    actions[i] = unigram.LONGER - len(longer)
                    longer += len(characters), *characters
            # Before the actions that refer to it: other threads read both without the lock.
            self._longer = np.array(longer, np.int32)
            self._actions[codes] = actions

    def _action(self, character: str) -> int | list[int]:
        """Return the action of a character; a list of numbers if it becomes several characters."""
        if JOINING.match(character) or (self._one_script and only_serbian(character)):
            return unigram.REFUSE
        read = in_one_script([character])[0] if self._one_script else character
        # Between two letters, as normalisation drops spaces at both ends.
        made = self._normalise([f"a{read}a"])[0][1:-1]
        if made in ("", " "):
            return unigram.SPACE if made else unigram.DROP
        if " " in made or SPACE_MARK in made:
            return unigram.REFUSE
        numbers = self._numbers[code_points([made])[0]].tolist()
        return numbers if len(numbers) > 1 else numbers[0] + 1
