"""Name matches agree with a search over all spellings; segments with all cuts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.kernels import segments
from miner.kernels.letters import (
    HOPELESS,
    LONGEST,
    NONE,
    OTHER,
    SHORTEST,
    WORDS,
    find_all,
    hash_words,
    share_names,
)
from miner.kernels.segments import SHAPES, letters_of
from miner.ragged import offsets_of
from miner.scoring.transliteration import FIRST, operations_of

# Foreign letters for the tests.
FOREIGN = [FIRST, FIRST + 1, FIRST + 2]
Operation = tuple[tuple[int, ...], tuple[int, ...]]


def ragged(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    flat = np.array([code for one in lists for code in one], dtype=np.uint16)
    return flat, offsets_of(np.array([len(one) for one in lists]))


def packed(operation: Operation) -> int:
    foreign, latin = operation
    key = sum(code << (segments.FOREIGN_BITS * i) for i, code in enumerate(foreign))
    low = sum(code << (segments.LATIN_BITS * i) for i, code in enumerate(latin))
    return key << (segments.LATIN_BITS * segments.LATIN) | low


def best_reference(
    text: list[int], word: list[int], table: dict[Operation, float], inside: np.ndarray
) -> float:
    """Return the best gain over all spellings, letter by letter of the text."""
    reached = {}
    for j in range(len(text) + 1):
        fresh = j in (0, len(text)) or text[j - 1] == 0
        reached[j, 0] = 0.0 if fresh else float(inside[text[j]])
    for j, i in product(range(len(text) + 1), range(len(word) + 1)):
        value = reached.get((j, i), float(NONE))
        if value < HOPELESS:
            continue
        for a, b in SHAPES.tolist():
            if (i == 0 and b == 0) or j + a > len(text) or i + b > len(word):
                continue
            operation = tuple(text[j : j + a]), tuple(word[i : i + b])
            single = float(OTHER) if a <= 1 and b <= 1 else float(NONE)
            gain = value + table.get(operation, single)
            reached[j + a, i + b] = max(gain, reached.get((j + a, i + b), float(NONE)))
    return max(reached.get((j, len(word)), float(NONE)) for j in range(len(text) + 1))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 9999))
def test_matches_agree_with_the_reference(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = {}
    for _ in range(generator.integers(0, 25)):
        a, b = SHAPES[generator.integers(len(SHAPES))].tolist()
        foreign = tuple(generator.choice(FOREIGN, a).tolist())
        table[foreign, tuple(generator.integers(1, 4, b).tolist())] = float(generator.normal())
    keys = np.array([packed(one) for one in table], dtype=np.int64)
    letters = np.array([ord(one) for one in "ж語ب"], dtype=np.uint32)
    operations = operations_of(letters, keys, np.array([*table.values()], dtype=np.float32))
    table.update({((own,), (own,)): 3.0 for own in range(1, 4)})
    texts = [generator.choice([0, 1, 2, *FOREIGN], generator.integers(9)).tolist() for _ in "abc"]
    words = [generator.integers(1, 4, generator.integers(1, 6)).tolist() for _ in range(6)]
    rows = generator.integers(len(texts), size=len(words))
    out = np.empty((len(words), 3), dtype=np.float32)
    find_all(ragged(texts), ragged(words), rows, operations, out)
    expected = [
        best_reference(texts[row], word, table, operations[-1])
        for row, word in zip(rows, words, strict=True)
    ]
    np.testing.assert_allclose(out[:, 0], expected, rtol=1e-5, atol=1e-6)


def share_reference(
    sentences: tuple[list[int], list[int]],
    letters: list[list[int]],
    operations: tuple[np.ndarray, ...],
    ordinary: set[int],
    weights: np.ndarray,
) -> float:
    """Return the share of matched names in a pair of sentences, with matches by the kernel."""
    spelled = []
    for ids in sentences:
        text: list[int] = []
        for code in (code for token in ids for code in letters[token]):
            if len(text) < 600 and (code > 0 or (text and text[-1] > 0)):
                text.append(code)
        spelled.append(text)
    words = "".join(map(chr, spelled[1])).split("\0")
    names = [[*map(ord, word)] for word in words if SHORTEST <= len(word) <= LONGEST]
    names = [word for word in names if max(word) <= 26 and fnv(word) not in ordinary][:WORDS]
    out = np.empty((len(names), 3), np.float32)
    find_all(ragged([spelled[0]]), ragged(names), np.zeros(len(names), int), operations, out)
    total = 0.0
    for word, gain in zip(names, out[:, 0].tolist(), strict=True):
        size, square = np.log(len(spelled[0]) + 1), max(gain, 0) ** 2 / 10
        odds = weights @ np.array([1, max(gain, HOPELESS), size, len(word), square])
        total += 1 / (1 + np.exp(-odds))
    return total / (len(names) + 1)


def fnv(word: list[int]) -> int:
    value = 2166136261
    for letter in word:
        value = (value ^ letter) * 16777619 % 2**32
    return value


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 9999))
def test_shares_of_names_are_the_reference(seed: int) -> None:
    generator = np.random.default_rng(seed)
    letters = [[], [0], [0, 0], [1, 2], [3] * 9, *([int(one)] for one in (1, 2, 3, *FOREIGN))]
    letters += [[0, *generator.integers(1, 4, 4).tolist()] for _ in range(3)]
    sides = [[], [5], [3] * 400 + [1, 4], [13, 12, 11] * 20]
    sides += [generator.integers(len(letters), size=size).tolist() for size in (3, 9, 40, 400)]
    keys = np.array([packed(((FOREIGN[0],), (1,))), packed((tuple(FOREIGN[:2]), (2, 3, 1)))])
    operations = operations_of(
        np.array([ord(one) for one in "ж語ب"], np.uint32), keys, np.array([2.0, 3.0], np.float32)
    )
    ordinary = np.unique([fnv(letters[12][1:]), fnv([1, 2]), 7]).astype(np.uint32)
    weights = generator.normal(size=5).astype(np.float32)
    rows = generator.integers(len(sides), size=(2, 40))
    flat, offsets = ragged(sides)
    text = flat.astype(np.int32), offsets
    out = np.empty(40, np.float32)
    share_names(text, text, tuple(rows), ragged(letters), operations, ordinary, weights, out)
    expected = [
        share_reference((sides[i], sides[j]), letters, operations, {*ordinary.tolist()}, weights)
        for i, j in rows.T.tolist()
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_longest_word_in_no_text_and_hashes() -> None:
    operations = operations_of(*(np.empty(0, kind) for kind in (np.uint32, np.int64, np.float32)))
    out = np.empty((1, 3), dtype=np.float32)
    find_all(ragged([[]]), ragged([[1] * LONGEST]), np.zeros(1, np.int64), operations, out)
    assert out[0, 0] == NONE  # every letter is left out
    for word in ([1] * (LONGEST + 1), [1, FIRST]):
        with pytest.raises(ValueError, match="a word of more"):
            find_all(ragged([[]]), ragged([word]), np.zeros(1, np.int64), operations, out)
    hashes = np.empty(2, dtype=np.uint32)
    hash_words(*ragged([[1], [1, 2]]), hashes)
    assert hashes.tolist() == [fnv([1]), fnv([1, 2])]


def cuts(n: int, m: int) -> list[list[tuple[int, int, int, int]]]:
    """Return all ways to cut two words into segments: places and lengths."""
    if n == m == 0:
        return [[]]
    found = []
    for a, b in SHAPES.tolist():
        if a <= n and b <= m:
            found += [[*rest, (n - a, a, m - b, b)] for rest in cuts(n - a, m - b)]
    return found


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_expected_counts_agree_with_the_sum_over_all_cuts(n: int, m: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    foreign, latin = generator.choice(FOREIGN, n), generator.integers(1, 4, m)
    words = (foreign, np.array([0, n])), (latin, np.array([0, m]))
    keys, near = np.empty(500, np.int64), np.empty(500)
    count = segments._segments(*words[0], *words[1], SHAPES, keys, near)
    unique, ids = np.unique(keys[:count], return_inverse=True)
    probability = generator.random(len(unique))
    number = {key: i for i, key in enumerate(unique.tolist())}
    likely, expected = 0.0, np.zeros(len(unique))
    for cut in cuts(n, m):
        used = [
            number[packed((tuple(foreign[j : j + a].tolist()), tuple(latin[i : i + b].tolist())))]
            for j, a, i, b in cut
        ]
        product_ = float(np.prod(probability[used]))
        likely += product_
        np.add.at(expected, used, product_)
    counts, posterior = np.zeros(len(unique)), np.zeros(1)
    noise = np.array([0.1])
    offsets = words[0][1], words[1][1]
    segments._expect(*offsets, SHAPES, ids, probability, noise, 0.4, counts, posterior)
    share = 0.4 * likely / (0.4 * likely + 0.06)
    np.testing.assert_allclose(posterior, share)
    np.testing.assert_allclose(counts, share * expected / likely)
    for key, (own, other) in zip(
        keys[:count], zip(*letters_of(keys[:count]), strict=True), strict=True
    ):
        assert packed((tuple(own[own > 0].tolist()), tuple(other[other > 0].tolist()))) == key
