"""miner_train.papers.text_statistics and miner_train.papers.counts: against plain counting."""

import math
import statistics
import tempfile
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.text.hashes import hash_of
from miner.text.words import count_parts, tokens
from miner_train.papers import text_statistics
from miner_train.papers.counts import Counts, entropy
from miner_train.papers.text_statistics import (
    SENTENCE_STATISTICS,
    Counted,
    Rarity,
    TextCounter,
    TextStatistics,
    correlations,
)

WORDS = ["the", "cat", "of", "a", "Dog", ",", "das", "我们", "ist", "."]
TEXT = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


def bits(counts: Counter[Any]) -> float | None:
    total = sum(counts.values())
    if not total:
        return None
    return sum(count / total * math.log2(total / count) for count in counts.values())


def trigrams(words: list[str]) -> list[tuple[str, str, str]]:
    return [(a, b, c) for (a, b), (_, c) in pairwise(pairwise(words))]


def repeated(things: list[Any]) -> int:
    return sum(thing in things[:place] for place, thing in enumerate(things))


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def reference_statistics(texts: list[str]) -> tuple[TextStatistics, list[list[float]]]:
    """Compute the statistics by their definitions."""
    words = [tokens(text) for text in texts]
    every = [word for row in words for word in row]
    sizes = [count_parts(text, row) for text, row in zip(texts, words, strict=True)]
    count = Counter(every)
    idf = {word: math.log(len(texts) / sum(word in row for row in words)) for word in count}
    long = [[word for word in row if len(word) >= 3] for row in words]
    threes = [trigrams(row) for row in words]
    again = [[sum(map(repeated, kind)), sum(map(len, kind))] for kind in (long, threes)]
    whole = TextStatistics(
        sentences=len(texts),
        tokens=sum(sizes),
        types=len(count),
        mean_tokens=share(sum(sizes), len(texts)),
        deviation_tokens=statistics.pstdev(sizes) if texts else None,
        mean_characters=share(sum(len(text.strip()) for text in texts), len(texts)),
        deviation_characters=(
            statistics.pstdev(len(text.strip()) for text in texts) if texts else None
        ),
        idf=share(sum(idf[word] for word in every), len(every)),
        entropy=bits(count),
        trigram_entropy=bits(Counter(three for row in threes for three in row)),
        repetition=share(*again[0]),
        trigram_repetition=share(*again[1]),
        counted=1.0,
    )
    surprisal = {word: math.log2(len(every) / number) for word, number in count.items()}
    each = [
        [
            size,
            len(text.strip()),
            share(sum(idf[word] for word in row), len(row)) or 0,
            share(sum(surprisal[word] for word in row), len(row)) or 0,
            share(repeated(some), len(some)) or 0,
            share(repeated(three), len(three)) or 0,
        ]
        for text, size, row, some, three in zip(texts, sizes, words, long, threes, strict=True)
    ]
    return whole, each


def measured(texts: list[str], block: int) -> tuple[TextStatistics, np.ndarray]:
    side = TextCounter(keep=True)
    for start in range(0, len(texts), block):
        side.add(Counted.of(texts[start : start + block]))
    return side.statistics(Rarity(side)), side.sentence_statistics(Rarity(side))


@given(st.lists(TEXT, max_size=10), st.integers(1, 5))
def test_statistics_agree_with_plain_counting(texts: list[str], block: int) -> None:
    expected, each = reference_statistics(texts)
    found, sentences = measured(texts, block)
    assert found.as_dict() == pytest.approx(expected.as_dict(), abs=1e-9)
    assert sentences.dtype == np.float32 and sentences.shape == (
        len(SENTENCE_STATISTICS),
        len(texts),
    )
    np.testing.assert_allclose(
        sentences.T, np.reshape(each, (-1, len(SENTENCE_STATISTICS))), atol=1e-5
    )


def test_rarity_in_another_text() -> None:
    """Two of four sentences contain "cat"; none contains "ox", which counts as one occurrence."""
    side, more = TextCounter(keep=True), TextCounter()
    side.add(Counted.of(["cat ox", "cat"]))
    more.add(Counted.of(["a", "dog"]))
    rare, common = math.log(4), math.log(2)
    both, other = Rarity(side, more), Rarity(more, more)
    assert side.statistics(both).idf == pytest.approx((2 * common + rare) / 3)
    assert side.statistics(other).idf == pytest.approx(rare)
    found = side.sentence_statistics(both)[SENTENCE_STATISTICS.index("idf")]
    assert found == pytest.approx([(common + rare) / 2, common])


def test_statistics_of_nothing() -> None:
    side, empty = TextCounter(), TextCounter()
    for texts in ([], [""], []):
        side.add(Counted.of(texts))
    found = side.statistics(Rarity(side))
    assert found.sentences == 1 and found.mean_tokens == 0
    assert found.idf is found.entropy is found.trigram_entropy is found.repetition is None
    with pytest.raises(ValueError, match="keep=True"):
        side.sentence_statistics(Rarity(side))
    assert empty.statistics(Rarity(empty)).mean_tokens is None


def test_sentences_in_a_temporary_file(english, monkeypatch, tmp_path):
    _, expected = measured(english, 7)
    monkeypatch.setattr(text_statistics, "BLOCK", 11)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    np.testing.assert_array_equal(measured(english, 30)[1], expected)
    assert not list(tmp_path.iterdir())


def test_one_against_the_other() -> None:
    source, target = measured(["eins zwei drei"], 1)[0], measured(["one two", "three four"], 1)[0]
    found = target.compared_with(source)
    assert (found["sentences"], found["types"]) == (2, 4 / 3)
    assert found["idf"] == pytest.approx(math.log(2))
    assert found["trigram_entropy"] is None and "counted" not in found
    assert target.compared_with(measured([], 1)[0])["tokens"] is None, (
        "there is no ratio to nothing"
    )


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 20))
def test_counts_are_exact_while_there_is_room(things: list[int], block: int) -> None:
    counts = Counts(limit=51)
    for start in range(0, len(things), block):
        counts.add(hash_of(np.array(things[start : start + block])))
    expected = bits(Counter(things))
    assert counts.entropy() == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert counts.share == 1


def test_counts_of_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """With memory for a quarter of the kinds, the estimate is unbiased and close."""
    monkeypatch.setattr("miner_train.papers.counts._WAITING", 5000)
    things = np.random.default_rng(5).zipf(1.3, size=100_000) % 10**9
    kinds = len(np.unique(things))
    exact = entropy(np.unique(things, return_counts=True)[1])
    errors = []
    for seed in range(8):  # other hash seeds for the same items
        counts = Counts(limit=kinds // 4)
        for block in np.split(hash_of(things, np.full(len(things), seed)), 20):
            counts.add(block)
            assert len(counts._hash) <= counts.limit
        assert counts.share <= 1 / 4
        found = counts.entropy()
        assert found is not None
        errors.append(found - exact)
    assert max(map(abs, errors)) < 0.04
    assert abs(np.mean(errors)) < 0.01


def test_correlations_with_statistics() -> None:
    score = np.array([1.0, 2.0, np.inf, 2.0])
    statistics = np.array(
        [[1, 2, 3, 2], [4, 3, 2, 3], [0, 0, 0, 0], *[[1, 0, 0, 1]] * 3], np.float32
    )
    found = correlations(score, statistics)
    assert list(found) == list(SENTENCE_STATISTICS)
    assert (found["tokens"], found["characters"]) == (pytest.approx(1), pytest.approx(-1))
    assert found["idf"] is None and found["surprisal"] == pytest.approx(-math.sqrt(0.5))
    assert set(correlations(np.ones(4), statistics).values()) == {None}
    assert set(correlations(score[:0], statistics[:, :0]).values()) == {None}
