"""Trigram language model: definition, normalisation, minimum text, kernel."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_references import surprise_reference

from miner.errors import MinerError
from miner.kernels.ngrams import END, START, UNKNOWN
from miner.scoring.trigram_lm import Trigrams

TEXT = [
    line.split()
    for line in (
        "the cat sat on the mat .",
        "the cat sat on the dog .",
        "the dog sat .",
        "a dog saw the cat .",
        "a dog saw a cat on a mat .",
    )
]
# Words as numbers and strings, few enough to repeat often.
SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), max_size=12)


def numbered(model: Trigrams, sentences: list[list[str]]) -> list[list[int]]:
    return [[model.numbers.get(word, UNKNOWN) for word in words] for words in sentences]


def logs(model: Trigrams, sentences: list[list[str]]) -> list[list[float]]:
    tables = model.words, model.pairs, model.triples
    return surprise_reference(numbered(model, sentences), *tables)


def probability(model: Trigrams, before: tuple[int, ...], word: int) -> float:
    """Return P(word | start of the sentence), words as numbers."""
    sentence = [*before] if word == END else [*before, word]
    found = surprise_reference([sentence], model.words, model.pairs, model.triples)[0]
    return math.exp(found[len(before)])


class Definition:
    """Interpolated Kneser-Ney from sets of n-grams, by the paper's formulas."""

    def __init__(self, sentences: list[list[str]]) -> None:
        padded = [["<s>", "<s>", *words, "</s>"] for words in sentences if words]
        self.triples = [tuple(p[i - 2 : i + 1]) for p in padded for i in range(2, len(p))]
        self.kinds = set(self.triples)
        self.pairs = {t[1:] for t in self.kinds}
        self.words = {t[2] for t in self.kinds}
        counts = (
            [len({p for p in self.pairs if p[1] == w}) for w in self.words],
            [len({t for t in self.kinds if t[1:] == p}) for p in self.pairs],
            [self.triples.count(t) for t in self.kinds],
        )
        self.discounts = tuple(
            n.count(1) / (n.count(1) + 2 * n.count(2)) if {1, 2} <= set(n) else 0.5 for n in counts
        )

    def __call__(self, u: str, v: str, w: str) -> float:
        one, two, three = self.discounts
        ending = len([p for p in self.pairs if p[1] == w])
        kinds = len(self.words)
        p = max(ending - one, 0) / len(self.pairs) + one * kinds / len(self.pairs) / (kinds + 1)
        both = [t for t in self.kinds if t[1] == v]
        if both:
            own = len([t for t in both if t[2] == w])
            kinds = len({t[2] for t in both})
            p = max(own - two, 0) / len(both) + two * kinds / len(both) * p
        seen = [t for t in self.triples if t[:2] == (u, v)]
        if seen:
            own = seen.count((u, v, w))
            p = max(own - three, 0) / len(seen) + three * len(set(seen)) / len(seen) * p
        return p


@given(SENTENCES.filter(any), SENTENCES)
def test_values_are_those_of_the_definition(text, sentences) -> None:
    model, definition = Trigrams.train(text, "it"), Definition(text)
    for words, found in zip(sentences, logs(model, sentences), strict=True):
        p = ["<s>", "<s>", *words, "</s>"]
        for i, value in zip(range(2, len(p)), found, strict=True):
            expected = definition(*p[i - 2 : i + 1])
            assert value == pytest.approx(math.log(expected), abs=1e-9)


@given(SENTENCES.filter(any), st.lists(st.sampled_from("abcdefg"), max_size=4))
def test_probabilities_sum_to_one(text, before) -> None:
    """Over all words, the end and the unknown word, after any history; all are positive."""
    model = Trigrams.train(text, "it")
    context = tuple(numbered(model, [before])[0])
    each = [probability(model, context, w) for w in (UNKNOWN, END, *model.numbers.values())]
    assert min(each) > 0
    assert sum(each) == pytest.approx(1)
    assert math.isinf(model.words[0][START])


@pytest.mark.parametrize(
    "text",
    [
        [["a"]],
        [["a", "b", "c"]],
        [["a", "a", "a", "a"]],
        [["a"]] * 3,
        [["a", "b"]] * 2,
        [[], ["<s>", "</s>", "<unk>"], []],
    ],
)
def test_small_texts(text: list[list[str]]) -> None:
    model = Trigrams.train(text, "it")
    values = model.perplexity([*text, [], ["never"], ["never", "seen"] * 500, text[0] * 500])
    assert np.isfinite(values).all() and (values > 1).all()
    assert np.isfinite(model.unknown)


@pytest.mark.parametrize("text", [[], [[]], [[], []]])
def test_no_words(text: list[list[str]]) -> None:
    with pytest.raises(MinerError, match=r"^some\.txt: has no words .*; give "):
        Trigrams.train(text, "some.txt")


def test_marks_in_the_text_are_words_like_others() -> None:
    model = Trigrams.train([["a", "</s>", "<s>", "b"]], "it")
    assert sorted(model.numbers) == ["</s>", "<s>", "a", "b"]
    assert min(model.numbers.values()) > max(UNKNOWN, END, START)


@given(SENTENCES.filter(any), st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=9)))
def test_kernel_is_its_reference(text, sentences) -> None:
    model = Trigrams.train(text, "it")
    expected = [math.exp(-np.mean(found)) for found in logs(model, sentences)]
    values = model.perplexity(sentences)
    assert values.dtype == np.float64 and values.shape == (len(sentences),)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_every_training_is_the_same() -> None:
    models = [Trigrams.train(iter(TEXT), "it") for _ in range(2)]
    tables = [[t.tobytes() for t in m.words + m.pairs + m.triples] for m in models]
    assert tables[0] == tables[1]
