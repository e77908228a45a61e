"""miner_train.corrupt_pieces: each operation makes its change, on whole words."""

import random

import numpy as np
import pytest
from support.near_copies import sentences

from miner.encoder.encoder import Encoder
from miner.encoder.pieces import SPACE_MARK
from miner_train.corrupt_pieces import (
    OPERATIONS,
    Case,
    CorruptionPieces,
    Ids,
    begins_word,
    corrupt_pieces,
)


@pytest.fixture(scope="module")
def pieces(encoder: Encoder) -> CorruptionPieces:
    counts = np.stack(
        [
            np.bincount(encoder.tokenizer(sentences(side))[0], minlength=encoder.tokenizer.size)
            for side in ("de", "en")
        ]
    )
    assert encoder.model.verifying is not None
    return CorruptionPieces(encoder.tokenizer, encoder.model.verifying.table(), counts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def texts(encoder: Encoder, pieces: CorruptionPieces) -> list[Ids]:
    """An English sentence, another one, and the German translation of the first.

    The first is one with words of one piece that have neighbours.
    """
    lists = [
        [encoder.tokenizer([text])[0].tolist() for text in sentences(side)] for side in ("en", "de")
    ]

    def exchangeable(ids: Ids) -> int:
        words = [word for word in pieces.words(ids) if len(word) == 1]
        return sum(pieces.near[word[0], 0] >= 0 for word in words)

    row = max(range(1, 60), key=lambda row: exchangeable(lists[0][row]))
    assert exchangeable(lists[0][row])
    return [lists[0][row], lists[0][0], lists[1][row]]


def test_words_are_runs_of_pieces(
    encoder: Encoder, pieces: CorruptionPieces, texts: list[Ids]
) -> None:
    words = pieces.words(texts[0])
    assert sum(words, []) == texts[0]
    names = [[encoder.tokenizer.processor.id_to_piece(i) for i in word] for word in words]  # type: ignore[attr-defined]
    assert all(name[0].startswith(SPACE_MARK) for name in names[1:])
    assert not any(part.startswith(SPACE_MARK) for name in names for part in name[1:])


def test_scripts_without_spaces_have_words() -> None:
    pieces = [f"{SPACE_MARK}the", "s", "的", "ました", "ность", "-"]
    assert list(map(begins_word, pieces)) == [True, False, True, True, False, False]


def test_neighbours_are_words_of_the_same_side(encoder: Encoder, pieces: CorruptionPieces) -> None:
    rows = np.flatnonzero(pieces.near[:, 0] >= 0)
    assert len(rows)
    for row in rows.tolist():
        assert row not in pieces.near[row] and len(set(pieces.near[row].tolist())) > 1
        assert pieces.starts[pieces.near[row]].all()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.__name__)
def test_operations(operation, pieces: CorruptionPieces, texts: list[Ids]) -> None:
    own, other, partner = texts
    kept = [list(text) for text in texts]
    cases = [
        Case(pieces.words(own), other, partner, pieces, random.Random(seed)) for seed in range(30)
    ]
    made = [sum(found, []) for found in map(operation, cases) if found is not None]
    assert made and [own, other, partner] == kept
    words = pieces.words(own)
    for one in made:
        name = operation.__name__
        if name == "dropped":
            assert len(one) < len(own) and set(one) <= set(own)
        elif name in ("inserted", "repeated", "neighbour_inserted"):
            assert len(one) > len(own)
        elif name in ("swapped", "shuffled"):
            assert sorted(one) == sorted(own)
        elif name == "copied":
            assert one == partner
        elif name == "neighbour":
            assert len(one) == len(own) and 0 < sum(np.array(one) != own) <= 2
        elif name == "half":
            assert one[:1] == own[:1] and len(words) > 1


def test_one_operation_is_drawn(pieces: CorruptionPieces, texts: list[Ids]) -> None:
    for seed in range(50):
        found = corrupt_pieces(*texts, pieces, random.Random(seed))
        assert found is None or found != texts[0]
        assert found == corrupt_pieces(*texts, pieces, random.Random(seed))
