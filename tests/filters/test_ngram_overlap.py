"""Filters on shared n-grams and sentence BLEU, against plain counting and sacrebleu."""

import math
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from miner.filters.filter_types import Batch, Context, Filter
from miner.filters.ngram_overlap import overlap, sentence_bleu, shared
from miner.filters.registry import FILTERS
from miner.text.words import tokens

NGRAM_OVERLAP, BLEU = FILTERS["ngram_overlap"], FILTERS["bleu"]
# A small vocabulary, so that words repeat and n-grams match.
SENTENCE = st.lists(st.sampled_from("abcd"), max_size=12)


def shared_reference(one: list[str], other: list[str], n: int) -> int:
    counts = [
        Counter(tuple(side[i : i + n]) for i in range(len(side) - n + 1)) for side in (one, other)
    ]
    return sum((counts[0] & counts[1]).values())


def score(filter: Filter, source: list[str], target: list[str], **changed: Any) -> list[float]:
    settings = {name: setting.default for name, setting in filter.settings.items()} | changed
    found = filter.build(settings, Context())(Batch(source, target))
    assert found.shape == (len(source),) and found.dtype == np.float64
    return found.tolist()


@given(SENTENCE, SENTENCE, st.integers(1, 5))
def test_shared_ngrams_are_those_of_plain_counting(one, other, orders):
    expected = [shared_reference(one, other, n) for n in range(1, orders + 1)]
    assert shared(one, other, orders) == expected


def test_many_words_that_repeat_take_no_square_of_time() -> None:
    words = [str(i) for i in range(20_000)] * 2
    begun = time.process_time()
    assert shared(words, words[::-1], 1) == [40_000]
    assert time.process_time() - begun < 1


def test_overlap_by_hand() -> None:
    source = ["The cat sat", "the the the", "a", "", "Eins zwei", "我们 是"]
    target = ["the CAT ran away", "the end of the", "b", "a b", "one two", "你们 是"]
    expected = [2 / 3, 1, 0, 0, 0, 2 / 3]
    assert score(NGRAM_OVERLAP, source, target) == pytest.approx(expected)
    expected[1] = 2 / 3
    assert score(NGRAM_OVERLAP, source, target, count="clipped") == pytest.approx(expected)
    # Of equally long sides, the source is taken as the shorter.
    assert (overlap("aab", "abc", 1), overlap("abc", "aab", 1)) == (1, 2 / 3)
    assert score(NGRAM_OVERLAP, source, target, n=2) == pytest.approx([1 / 2, 0, 0, 0, 0, 1 / 2])
    assert score(NGRAM_OVERLAP, source, target, n=3) == [0] * 6
    assert score(NGRAM_OVERLAP, [], []) == []


def test_bleu_by_hand() -> None:
    """Smoothing adds one to all counts and to the reference's length (Nakov et al. 2012)."""
    candidate, reference = tokens("the cat sat on a mat"), tokens("the cat sat on the mat now")
    # Matches: 5 of 6 words ("the" once), 3 of 5 bigrams, 2 of 4 trigrams, 1 of 3 fourgrams.
    expected = (6 / 7 * 4 / 6 * 3 / 5 * 2 / 4) ** 0.25 * math.exp(1 - 8 / 6)
    assert sentence_bleu(candidate, reference) == pytest.approx(expected)
    # Longer than the reference by one or more words: no penalty.
    longer = tokens("the cat sat on the mat now, yes")
    expected = (8 / 10 * 7 / 9 * 6 / 8 * 5 / 7) ** 0.25
    assert sentence_bleu(longer, reference) == pytest.approx(expected)
    # A side too short for an n-gram counts as 1 of 1; without matches the added ones remain.
    assert sentence_bleu(["a"], ["b"]) == pytest.approx((1 / 2) ** 0.25 * math.exp(-1))
    assert sentence_bleu([], ["b"]) == 0 == sentence_bleu(["a"], [])


@given(st.lists(st.sampled_from("abcd"), min_size=4, max_size=12), SENTENCE.filter(bool))
def test_bleu_counts_as_sacrebleu_does(candidate: list[str], reference: list[str]) -> None:
    """Counts, penalties and scores agree, except for the smoothing of single words.

    The penalty is compared with a reference longer by one. sacrebleu does not smooth single words.
    """

    def score(reference: list[str], **smoothing: Any) -> Any:
        bleu = sacrebleu.BLEU(tokenize="none", effective_order=True, **smoothing)
        return bleu.sentence_score(" ".join(candidate), [" ".join(reference)])

    plain = score(reference, smooth_method="none")
    assert shared(candidate, reference, 4) == plain.counts
    longer = score([*reference, "more"], smooth_method="none")
    precisions = [(m + 1) / (t + 1) for m, t in zip(plain.counts, plain.totals, strict=True)]
    ours = sentence_bleu(candidate, reference)
    assert ours == pytest.approx(math.prod(precisions) ** 0.25 * longer.bp)
    if plain.counts[0] == plain.totals[0]:
        smoothed = score(reference, smooth_method="add-k", smooth_value=1)
        assert ours / longer.bp == pytest.approx(smoothed.score / 100 / smoothed.bp)


def test_bleu_of_either_side() -> None:
    source, target = ["A b c d e", "", "x"], ["a b c", "a", ""]
    forward = score(BLEU, source, target)
    assert forward == pytest.approx([sentence_bleu(list("abcde"), list("abc")), 0, 0])
    assert score(BLEU, source, target, reference="source") == score(BLEU, target, source)
    assert forward[0] != score(BLEU, source, target, reference="source")[0]
