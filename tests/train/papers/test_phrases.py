"""The built-in translator: alignments and phrases by definition, and translations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from miner.errors import CorpusError
from miner.kernels.ngrams import START, conditional
from miner.scoring.trigram_lm import Trigrams
from miner_train.papers.phrase_decoder import OTHERS, TABLE, BeamLimits, PhraseTranslator
from miner_train.papers.phrase_table import PhraseTable, learn_phrases, phrase_spans, symmetrised


def spans_by_definition(links: np.ndarray, longest: int) -> set[tuple[int, int, int, int]]:
    """Return all span pairs with a link inside, none leaving, and linked source edges."""
    found = set()
    height, width = links.shape
    for i1, i2 in itertools.combinations(range(height + 1), 2):
        for j1, j2 in itertools.combinations(range(width + 1), 2):
            inside = links[i1:i2, j1:j2].sum()
            leaves = links[i1:i2].sum() + links[:, j1:j2].sum() - 2 * inside
            if inside and not leaves and max(i2 - i1, j2 - j1) <= longest:
                found.add((i1, i2, j1, j2))
    return found


@given(
    arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.booleans()),
    st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_phrases_are_those_that_agree_with_the_links(links: np.ndarray, longest: int) -> None:
    found = phrase_spans(links, longest)
    listed = list(map(tuple, found.tolist()))
    assert len(set(listed)) == len(listed)
    assert set(listed) == spans_by_definition(links, longest)


def test_grow_diag_keeps_what_both_say_and_adds_neighbours() -> None:
    forward, backward = np.array([0, 1, 1]), np.array([0, 1])
    links = symmetrised(forward, backward)
    assert links.tolist() == [[True, False, False], [False, True, True]]
    # A distant link in one direction only is not added.
    far = symmetrised(np.array([0, -1, -1, -1, 5]), np.array([0, -1, -1, -1, -1, -1]))
    assert far.sum() == 1 and far[0, 0]


NOUNS = {"hund": "dog", "katze": "cat", "vogel": "bird", "fisch": "fish"}
VERBS = {"läuft": "runs", "schläft": "sleeps", "isst": "eats"}


def corpus() -> tuple[list[list[str]], list[list[str]]]:
    """Return sentences with the verb last in one language, second in the other."""
    source, target = [], []
    for (s, e), (v, w), (o, p) in itertools.product(NOUNS.items(), VERBS.items(), NOUNS.items()):
        source.append(f"der {s} den {o} {v}".split())
        target.append(f"the {e} {w} the {p}".split())
    return source, target


@pytest.fixture(scope="module")
def translator() -> PhraseTranslator:
    source, target = corpus()
    return PhraseTranslator(learn_phrases(source[::2], target[::2]), Trigrams.train(target, "t"))


def test_it_learns_words_and_their_order(translator: PhraseTranslator) -> None:
    source, target = corpus()
    right = 0
    for s, t in zip(source[1::2], target[1::2], strict=True):
        (best,) = translator.translate([" ".join(s)], 1)[0]
        right += best.text == " ".join(t)
    assert right >= 20  # of 24 unseen sentences


def test_the_best_come_first_and_differ(translator: PhraseTranslator) -> None:
    found = translator.translate(["Der Hund den Fisch isst", "Der Xylofon schläft"], 4)
    for own in found:
        texts = [one.text for one in own]
        assert len(set(texts)) == len(texts) == 4
        assert all(one.cost > 0 for one in own)
    assert "xylofon" in found[1][0].text  # unknown words are copied
    assert translator.translate(["", "  "], 2) == [[], []]


def test_a_wide_beam_finds_the_best_of_all() -> None:
    """Compared with all orders and choices, enumerated under the same model."""
    choices = {
        ("a",): [(("x",), -0.1, -0.1), (("y",), -1.0, -0.3)],
        ("b",): [(("y",), -0.2, -0.2)],
        ("c",): [(("z",), -0.1, -0.5), (("x", "z"), -0.4, -0.4)],
        ("a", "b"): [(("w",), -0.7, -0.1)],
    }
    language = Trigrams.train([["x", "z", "y"], ["z", "y", "w"], ["y", "x"]], "t")
    table: PhraseTable = choices
    wide = PhraseTranslator(table, language, limits=BeamLimits(beam=10_000, jump=3))
    source = ["a", "b", "c"]
    best: dict[tuple[str, ...], float] = {}
    segmentations = [[(0, 1), (1, 2), (2, 3)], [(0, 2), (2, 3)]]
    for spans in segmentations:
        for order in itertools.permutations(spans):
            for picked in itertools.product(*(choices[tuple(source[i:j])] for i, j in order)):
                score, end, ids, words = 0.0, 0, [START, START], []
                for (i, j), (own, forward, backward) in zip(order, picked, strict=True):
                    score += TABLE * forward + TABLE * backward
                    score += OTHERS * len(own) - OTHERS * abs(i - end)
                    end = j
                    words += own
                ids += [language.numbers.get(word, 0) for word in words] + [1]
                tables = language.words, language.pairs, language.triples
                score += OTHERS * sum(
                    conditional(*three, *tables)
                    for three in zip(ids, ids[1:], ids[2:], strict=False)
                )
                text = tuple(words)
                best[text] = max(score, best.get(text, score))
    expected = max(best.items(), key=lambda item: item[1])
    (found,) = wide.translate(["a b c"], 1)[0]
    assert found.text == " ".join(expected[0])
    assert found.cost == pytest.approx(-expected[1] / len(expected[0]))


def test_nothing_to_learn_from() -> None:
    with pytest.raises(CorpusError, match="no sentence pair"):
        learn_phrases([[]], [["a"]])
