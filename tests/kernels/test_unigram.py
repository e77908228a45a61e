"""Unigram segmentation agrees with its reference; for SentencePiece see test_unigram_pieces."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tokens import flat

from miner.encoder.unigram_model import _trie
from miner.kernels import unigram
from miner.ragged import offsets_of

# Character numbers: of the space mark and of others; 0 is not a character of a piece.
MARK, LETTERS = 1, 4
Text = list[int]


def segment_reference(
    text: Sequence[int],
    pieces: dict[tuple[int, ...], int],
    scores: np.ndarray,
    mark: int,
    dropped: int,
) -> list[int]:
    """Ids of one sentence by :func:`miner.kernels.unigram.segment`, of its characters' numbers."""
    words: list[list[int]] = []
    for character in text:
        if character == mark or not words:
            words.append([])
        words[-1].append(character)
    found, total, longest = [], np.float32(0), max(map(len, pieces))
    for word in words:
        best = [total] + [np.float32(-np.inf)] * len(word)
        last = [(0, 0)] * (len(word) + 1)  # begin and id of the last piece
        for begin in range(len(word)):
            for end in range(begin + 1, min(begin + longest, len(word)) + 1):
                piece = pieces.get(tuple(word[begin:end]))
                if piece is not None and scores[piece] + best[begin] > best[end]:
                    best[end], last[end] = scores[piece] + best[begin], (begin, piece)
            if scores[0] + best[begin] > best[begin + 1]:
                best[begin + 1], last[begin + 1] = scores[0] + best[begin], (begin, 0)
        total, own, end = best[-1], [], len(word)
        while end > 0:
            end, piece = last[end]
            own.append(piece)
        found += [piece for piece in reversed(own) if piece not in (0, dropped)]
    return found


def segmented(
    codes: list[Text], pieces: list[Text], scores: np.ndarray, longer: list[int], dropped: int = 0
) -> list[list[int] | None]:
    """Return the kernel's ids, None for skipped sentences; the second call uses cached words."""
    letters, offsets = flat(pieces)
    entered = np.arange(1, len(pieces) + 1)
    trie = _trie(letters, offsets, entered, scores, LETTERS + 1)
    text, bounds = flat(codes)
    store = unigram.no_words()
    results = []
    for _ in range(2):
        ids, counts = np.empty(len(text), np.int32), np.empty(len(codes), np.int64)
        total = unigram.segment(
            *(text.astype(np.int32), bounds, np.array(longer, np.int32), MARK, trie, scores),
            *(dropped, unigram.room_for(bounds), store, ids, counts),
        )
        ends = offsets_of(np.maximum(counts, 0))
        assert total == ends[-1]
        results.append(
            [
                None if count < 0 else ids[ends[i] : ends[i + 1]].tolist()
                for i, count in enumerate(counts.tolist())
            ]
        )
    assert results[0] == results[1]
    return results[0]


letters = st.integers(2, LETTERS)
piece = st.tuples(st.booleans(), st.lists(letters, min_size=1, max_size=5)).map(
    lambda made: [MARK, *made[1]] if made[0] else made[1]
)


@given(
    st.lists(st.lists(st.integers(-2, LETTERS + 1), max_size=30), max_size=5),
    st.lists(piece, min_size=1, max_size=20, unique_by=tuple),
    st.integers(0, 3),
    st.integers(0, 999),
)
def test_pieces_are_the_reference(
    codes: list[Text], pieces: list[Text], dropped: int, seed: int
) -> None:
    # Few scores of few bits, so that sums tie.
    scores = -np.random.default_rng(seed).integers(1, 6, len(pieces) + 1).astype(np.float32) / 2
    scores[0] = scores.min() - 10
    found = segmented(codes, pieces, scores, [], dropped)
    ids = {tuple(one): i for i, one in enumerate(pieces, 1)}
    for sentence, own in zip(codes, found, strict=True):
        if 0 in sentence:
            assert own is None
            continue
        text = [MARK]
        for code in sentence:
            if code > 0:
                text.append(code - 1)
            elif code == unigram.SPACE and text[-1:] != [MARK]:
                text.append(MARK)
        # A mark inside a code is not a space, but begins a word.
        while text and text[-1] == MARK:
            text.pop()
        assert own == segment_reference(text, ids, scores, MARK, dropped)


def test_characters_that_become_several() -> None:
    longer = [2, 2, 3, 40, *([3] * 40)]
    pieces, scores = [[2, 3], [3]], np.array([-20, -1, -1], np.float32)
    one, many = unigram.LONGER, unigram.LONGER - 3
    found = segmented([[one, 3], [one], [many], [], [unigram.REFUSE]], pieces, scores, longer)
    # Sentences with more pieces than characters, or too many characters, are skipped.
    assert found == [[1], [1], None, [], None]


def test_a_sentence_of_many_words_and_a_long_word() -> None:
    generator = np.random.default_rng(0)
    pieces = [[2], [3], [4], [2, 3], [3, 4, 2], [MARK, 2, 2]]
    scores = np.array([-12, -1, -1.5, -2, -1.75, -3, -1], np.float32)
    ids = {tuple(one): i for i, one in enumerate(pieces, 1)}
    for spaces in (0.2, 0.0):
        codes = generator.integers(3, LETTERS + 2, 1 << 16)
        codes[generator.random(len(codes)) < spaces] = unigram.SPACE
        (found,) = segmented([codes[: 1 << 12].tolist()], pieces, scores, [])
        text = [MARK]
        for code in codes[: 1 << 12].tolist():
            if code > 0 or text[-1] != MARK:
                text.append(code - 1 if code > 0 else MARK)
        while text[-1] == MARK:
            text.pop()
        assert found == segment_reference(text, ids, scores, MARK, 0)
        (every,) = segmented([codes.tolist()], pieces, scores, [])
        assert every is not None and len(every) > len(found)


def test_a_trie_without_room() -> None:
    nodes = np.array([[0, 0, 1, 1, 0], [0, 3, 2, 0, -1]], np.int32)
    arguments = np.array([1]), np.array([1]), np.array([-1], np.float32)
    for size, last in ((0, -1), (2, -1), (10, -1), (13, 3)):
        trie, taken = np.zeros((size, 4), np.int32), np.zeros(size, bool)
        assert unigram.place_nodes(nodes.copy(), 5, *arguments, taken, trie) == last


def varint(value: int) -> bytes:
    digits = [value >> shift & 127 for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


@given(st.lists(st.tuples(st.integers(1, (1 << 29) - 1), st.binary(max_size=200)), max_size=9))
def test_fields_of_a_message_are_listed(fields: list[tuple[int, bytes]]) -> None:
    """A message that is cut off has the first of them, or is refused."""
    data = b"".join(varint(n << 3 | 2) + varint(len(value)) + value for n, value in fields)
    for end in (len(data), *range(0, len(data), 7)):
        part = data[:end]
        try:
            found = unigram.top_fields(np.array([*part], np.uint8))
        except ValueError:
            assert end < len(data)
            continue
        numbers, starts, ends = (one.tolist() for one in found)
        listed = [(n, part[a:b]) for n, a, b in zip(numbers, starts, ends, strict=True)]
        assert listed == (fields if end == len(data) else fields[: len(listed)])


@pytest.mark.parametrize(
    "data", [b"\x08\x01", b"\x02\x00", b"\x80" * 12, b"\x0a\xff\xff\xff\xff\x7f"]
)
def test_other_fields_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a usual model"):
        unigram.top_fields(np.array([*data], np.uint8))
