"""Pair features follow their definitions, from the metrics of the kernels."""

import math
from unicodedata import normalize

import numpy as np
import pytest

from miner.encoder.lexicon import Lexicon
from miner.encoder.part import EncoderPart
from miner.kernels.tokens import COLUMNS, LONGEST, compare
from miner.ragged import offsets_of
from miner.scoring.pair_features import PAIR_FEATURES, TokenizedText, TokenTable, tokenize_text

SIZE = 40


@pytest.fixture(scope="module")
def table() -> TokenTable:
    """Draw embeddings, and a lexicon in which each token has two translations."""
    generator = np.random.default_rng(0)
    lexicon = Lexicon(
        np.arange(0, 2 * SIZE + 1, 2),
        np.sort(generator.permuted(np.tile(np.arange(SIZE), (SIZE, 1)), axis=1)[:, :2])
        .ravel()
        .astype(np.int32),
        generator.uniform(0.1, 0.4, 2 * SIZE).astype(np.float32),
        np.full(SIZE, 1 / (SIZE + 1), np.float32),
    )
    table = generator.normal(size=(SIZE, 20)).astype(np.float32)
    return TokenTable(EncoderPart(table), lexicon)


def prepared(seed: int, tokens: list[int], numbers: list[list[int]]) -> TokenizedText:
    """Draw sentences of these lengths, four characters per token, with these numbers."""
    generator = np.random.default_rng(seed)
    counts = np.array(tokens)
    return TokenizedText(
        generator.integers(0, SIZE, counts.sum()).astype(np.int32),
        offsets_of(counts),
        4 * counts,
        np.array([number for one in numbers for number in one], np.uint64),
        offsets_of(np.array([len(one) for one in numbers])),
    )


def test_characters_are_counted_as_typed() -> None:
    def tokenizer(sentences):
        return np.zeros(0, np.int32), np.zeros(len(sentences) + 1, np.int64)

    text = "Một ngày đẹp ở 서울, übermorgen."
    forms = [
        text,
        normalize("NFD", text),
        f" {text.replace(' ', '  ')}",
        text.replace("M", "M\xad"),
    ]
    assert tokenize_text(tokenizer, forms, 1).characters.tolist() == [len(text)] * 4


def test_features_follow_their_definitions(table: TokenTable) -> None:
    left = prepared(1, [3, 12, 0, LONGEST + 30], [[], [3, 7], [2], [5]])
    right = prepared(2, [5, 2, 9], [[], [7], [2, 3, 7]])
    source, target = (grid.ravel() for grid in np.mgrid[:4, :3])
    found = table.pair_features(left, right, source, target)
    features = {name: found[:, column] for column, name in enumerate(PAIR_FEATURES)}
    rows = np.repeat(np.int32([source, target]), 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(table.pair_features(left, right, *rows), found)

    metrics = np.empty((len(source), COLUMNS), dtype=np.float32)
    none = np.empty((0, 4), dtype=np.float32)
    compare(left.tokens, right.tokens, source, target, *table.known, metrics, none)
    names = ("alignment", "unmatched", "association", "translated")
    for name, own, other in zip(names, metrics.T[0:8:2], metrics.T[1:8:2], strict=True):
        assert len(np.unique(own)) > 3, name
        np.testing.assert_allclose(features[name], (own + other) / 2, atol=1e-6)
        worse = "max" if name == "unmatched" else "min"
        expected = np.maximum(own, other) if worse == "max" else np.minimum(own, other)
        np.testing.assert_array_equal(features[f"{name}_{worse}"], expected)
    np.testing.assert_array_equal(features["shared_pieces"], metrics[:, 8])

    for place, (s, t) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        tokens = [int(text.characters[row]) // 4 for text, row in ((left, s), (right, t))]
        ratio = (4 * tokens[0] + 5) / (4 * tokens[1] + 5)
        assert features["length_ratio"][place] == pytest.approx(abs(math.log(ratio)), abs=1e-6)
        length = math.log(sum(min(count, LONGEST) for count in tokens) / 2 + 1)
        assert features["length"][place] == pytest.approx(length, rel=1e-6)
        assert features["length_squared"][place] == pytest.approx(length**2, rel=1e-6)
        numbers = [
            set(text.numbers[text.number_offsets[row] : text.number_offsets[row + 1]].tolist())
            for text, row in ((left, s), (right, t))
        ]
        assert features["numbers_differ"][place] == (numbers[0] != numbers[1])
        assert features["numbers_shared"][place] == len(numbers[0] & numbers[1])


@pytest.mark.parametrize("d", [16, 20, 32])
def test_tokens_of_four_bits_are_compared_by_their_own_numbers(table: TokenTable, d: int) -> None:
    """With and without padding of a row to the step of the loops."""
    part = EncoderPart.of(
        np.random.default_rng(d).normal(size=(SIZE, d)).astype(np.float32), "int4"
    )
    part.weights[3] = 0
    tokens = TokenTable(part, table.lexicon)
    unit = part.table() / np.maximum(np.linalg.norm(part.table(), axis=1), 1e-9)[:, None]
    every = np.arange(SIZE, dtype=np.int32)
    np.testing.assert_allclose(tokens.similarity(every, every), unit @ unit.T, atol=1e-6)
    np.testing.assert_allclose(tokens.weight, np.linalg.norm(part.table(), axis=1), atol=1e-6)
