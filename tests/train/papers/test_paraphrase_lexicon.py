"""``miner paraphrase lexicon``: adjusted PMI of word pairs."""

import math

import numpy as np
import pytest
from support.files import write

from miner.errors import CorpusError
from miner.text.words import tokens
from miner_train.papers.paraphrase_lexicon import adjusted_pmi


def reference(pairs: list[tuple[str, str]], least: int) -> dict[tuple[str, str], float]:
    """Adjusted PMI by its definition, one pair of words at a time."""
    sets = [tuple({word for word in tokens(side) if word.isalnum()} for side in pair)
            for pair in pairs]  # fmt: skip
    n = len(sets)
    words = sorted(set().union(*(side for pair in sets for side in pair)))
    found = {}
    for u in words:
        for v in words:
            across = sum((u in a and v in b) + (v in a and u in b) for a, b in sets)
            if u == v or across < least:
                continue
            share = [sum((word in a) + (word in b) for a, b in sets) / (2 * n) for word in (u, v)]
            score = math.log(across / (2 * n) / (share[0] * share[1]))
            for side in (0, 1):
                one, other, both = (
                    sum(each <= pair[side] for pair in sets) for each in ({u}, {v}, {u, v})
                )
                score -= 0.5 * math.log((both + 1) * n / ((one + 1) * (other + 1)))
            found[u, v] = score
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [1, 3])
def test_adjusted_pmi_equals_its_definition(seed: int, least: int) -> None:
    generator = np.random.default_rng(seed)
    words = ["a", "Big", "large", "hong", "kong", "dog", ".", "?"]
    pairs = [
        (
            " ".join(generator.choice(words, generator.integers(1, 6))),
            " ".join(generator.choice(words, generator.integers(1, 6))),
        )
        for _ in range(30)
    ]
    kept = [pair for pair in pairs if all(any(map(str.isalnum, side)) for side in pair)]
    found = adjusted_pmi(pairs, least)
    expected = reference(kept, least)
    assert {(one.word, one.other) for one in found} == set(expected)
    for one in found:
        assert one.score == pytest.approx(expected[one.word, one.other])
    by_word = [(one.word, -one.score) for one in found]
    assert by_word == sorted(by_word)


def test_words_of_one_sentence_are_no_paraphrases(miner, tmp_path, monkeypatch):
    monkeypatch.setattr("miner_train.papers.paraphrase_lexicon.BLOCK", 3)
    rows = [f"hong kong {n} is big\thong kong {n} is large" for n in "abcd"]
    rows += [f"the {n} is quick\tthe {n} is fast" for n in "efgh"]
    path = write(tmp_path / "pairs.tsv", rows)
    code, out, _ = miner("paraphrase", "lexicon", path, "--least", 4, "--best", 1)
    best = {line.split("\t")[0]: line.split("\t")[1] for line in out.splitlines()}
    assert code == 0 and best["big"] == "large" and best["fast"] == "quick"
    assert best["hong"] != "kong"
    code, _, error = miner("paraphrase", "lexicon", path, "--least", 40)
    assert code == 1 and "smaller --least" in error
    with pytest.raises(CorpusError):
        adjusted_pmi([])
