"""miner_train.papers.language_overlap: overlap of pieces, and correlations over languages."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from miner.encoder.tokenizer import MarkedTokenizer
from miner.ragged import offsets_of
from miner_train.papers.language_overlap import (
    OVERLAP,
    Overlap,
    correlate,
    correlate_apart,
    overlap,
)

SCORES = {"de": 0.7, "fr": 0.6, "es": 0.65, "ru": 0.5}


class Letters:
    """A tokenizer whose pieces are the letters a to z."""

    size = 26
    meaningful = np.ones(26, dtype=bool)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        lists = [[ord(letter) - ord("a") for letter in text] for text in sentences]
        ids = np.array([one for each in lists for one in each], dtype=np.int32)
        return ids, offsets_of(np.array([len(each) for each in lists], dtype=np.int64))


def overlap_reference(tokenizer, source: Sequence[str], target: Sequence[str]) -> float:
    """Compute the share of common pieces as the paper defines it, by sets."""
    one, other = (set(tokenizer(side)[0].tolist()) for side in (source, target))
    return len(one & other) / len(one | other) if one | other else 0.0


texts = st.lists(st.text("abcdefghij", max_size=6), max_size=6)


@given(texts, texts)
def test_overlap_agrees_with_sets(source: list[str], target: list[str]) -> None:
    found = overlap(Letters(), source, target)
    assert found.share == pytest.approx(overlap_reference(Letters(), source, target))
    back = overlap(Letters(), target, source)
    assert (back.source, back.target, back.both) == (found.target, found.source, found.both)
    assert found.both <= min(found.source, found.target) and 0 <= found.share <= 1


def test_overlap() -> None:
    found = overlap(Letters(), ["abba", "c"], ["cd"])
    assert found == Overlap(source=3, target=2, both=1) and found.share == 0.25
    assert overlap(Letters(), [], [""]).share == 0
    assert overlap(Letters(), ["ab"], ["ba"]).share == 1
    # Equal spellings count as one, although each side has its own embedding.
    assert overlap(MarkedTokenizer(Letters(), 1), ["abba", "c"], ["cd"]) == found
    # Tokenizers of both sides that share no id.
    sides = MarkedTokenizer(Letters(), 0), MarkedTokenizer(Letters(), 1)
    assert overlap(sides[0], ["abba", "c"], ["cd"], sides[1]) == Overlap(3, 2, 0)


def test_correlate() -> None:
    columns = {
        "falls": {"de": 1.0, "es": 2.0, "fr": 3.0, "ru": 4.0, "it": 0.0},
        "of three": {"de": 3.0, "es": 2.0, "ru": 1.0},
        "of two": {"de": 3.0, "es": 2.0},
        "alike": dict.fromkeys(SCORES, 1.0),
        "none": {},
    }
    found = correlate(SCORES, columns)
    assert list(found) == list(columns)
    assert found["falls"].value == pytest.approx(-1) and found["falls"].languages == 4
    assert found["of three"].value == pytest.approx(1) and found["of three"].languages == 3
    assert [found[name].value for name in ("of two", "alike", "none")] == [None] * 3
    assert [found[name].languages for name in ("of two", "alike", "none")] == [2, 4, 0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12))
def test_correlate_agrees_with_scipy(rows: list[tuple[int, int]]) -> None:
    scores, column = ({str(n): float(row[side]) for n, row in enumerate(rows)} for side in (0, 1))
    value = correlate(scores, {"x": column})["x"].value
    if len(set(scores.values())) == 1 or len(set(column.values())) == 1:
        assert value is None
    else:
        assert value == pytest.approx(stats.spearmanr(*zip(*rows, strict=True))[0])


def test_languages_of_low_and_high_overlap_apart() -> None:
    scores = {name: float(n) for n, name in enumerate("abcdefg")}
    columns = {
        OVERLAP: dict(zip("abcdef", (0.1, 0.3, 0.2, 0.4, 0.5, 0.6), strict=True)),
        "rises": scores,
    }
    low, high = correlate_apart(scores, columns, 0.3).items()
    assert (low[0], high[0]) == ("overlap <= 0.3", "overlap > 0.3")
    assert low[1][OVERLAP].value == pytest.approx(0.5) and high[1][OVERLAP].value == 1
    assert low[1]["rises"].languages == high[1]["rises"].languages == 3  # g is without an overlap
