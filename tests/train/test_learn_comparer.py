"""miner_train.learn_comparer prefers translations; torch and the kernel agree."""

import random

import numpy as np
import pytest
import torch
from support.near_copies import sentences

from miner.encoder.encoder import Encoder
from miner.scoring.comparer import Comparer, Text, matching_of
from miner.scoring.verifier import Verifier
from miner_train import comparer_examples, learn_comparer
from miner_train.comparer_examples import WRONG, ExampleMaker, Examples
from miner_train.language_texts import LanguageText
from miner_train.learn_match_quantiles import learn_matches

TEXT = sentences("de"), sentences("en")


@pytest.fixture(scope="module")
def knowing(verifying_model) -> Encoder:
    return Encoder.load(verifying_model, 1)


@pytest.fixture(scope="module")
def matches(knowing: Encoder) -> dict[str, np.ndarray]:
    return learn_matches(knowing, [LanguageText(("de", "en"), TEXT, TEXT)], 1)


def embedding(encoder: Encoder) -> np.ndarray:
    assert encoder.model.verifying is not None
    return encoder.model.verifying.table()


@pytest.fixture(scope="module")
def examples(knowing: Encoder, matches: dict[str, np.ndarray]) -> Examples:
    return make(knowing, matches, 0.0)


def make(encoder: Encoder, matches: dict[str, np.ndarray], unknown: float) -> Examples:
    """Make examples of all of the text, with a share of unknown tokens."""
    maker = ExampleMaker(encoder, Verifier(encoder).tokens, matching_of(matches), TEXT, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparer_examples, "UNKNOWN", unknown)
        return maker(range(60), random.Random(1))


@pytest.fixture(scope="module")
def network(knowing: Encoder, examples: Examples) -> learn_comparer.ComparerNetwork:
    torch.manual_seed(1)
    start = learn_comparer.principal(embedding(knowing), 8)
    return learn_comparer.ComparerNetwork(start, *learn_comparer.moments(examples.numbers))


@pytest.mark.slow
def test_it_prefers_translations(
    knowing: Encoder, matches: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn_comparer, "LEAST", 30 * 60)
    monkeypatch.setattr(learn_comparer, "BATCH", 16)
    monkeypatch.setattr(comparer_examples, "UNKNOWN", 0.02)
    texts = [LanguageText(("de", "en"), TEXT, TEXT), LanguageText(("fr", "en"), TEXT, ([], []))]
    lines: list[str] = []
    arrays = learn_comparer.learn_comparer(knowing, texts, matches, 1, lines.append)
    assert len(lines) == 30 and "loss" in lines[0]
    comparer = Comparer(arrays, Verifier(knowing).tokens)
    source, target = (knowing.tokenizer(side) for side in TEXT)
    rows = np.arange(60)
    right, wrong = (
        comparer.compare(source, target, rows, other)[:, -1] for other in (rows, rows[::-1])
    )
    assert (right > wrong).mean() > 0.9


def test_it_learns_the_same_every_time(
    knowing: Encoder, matches: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn_comparer, "LEAST", 2 * 60)
    text = LanguageText(("de", "en"), TEXT, TEXT)
    one, other = (
        learn_comparer.learn_comparer(knowing, [text], matches, 1, lambda line: None)
        for _ in range(2)
    )
    assert all((other[name] == array).all() for name, array in one.items())
    short = LanguageText(("de", "en"), (["a"] * 60, ["b"] * 60), (["a"] * 60, ["b"] * 60))
    assert learn_comparer.learn_comparer(knowing, [short], matches, 1, lambda line: None) == {}


def test_unknown_tokens_have_no_translations(knowing, matches, examples) -> None:
    every = make(knowing, matches, 1.0)
    np.testing.assert_array_equal(every.starts, examples.starts)
    assert (every.ids == knowing.tokenizer.size).all() and not every.numbers[:, [1, 2, 3]].any()
    some = make(knowing, matches, 0.3)
    lost = some.ids[:, 0] == knowing.tokenizer.size
    assert 0.1 < lost.mean() < 0.5 and not some.numbers[lost][:, [1, 2, 3]].any()
    assert some.numbers[~lost, 1].any()


def test_torch_and_the_kernel_agree(knowing, matches, examples, network):
    pairs = np.arange(len(examples.sizes))
    with torch.no_grad():
        network.units.weight.copy_(network.units.weight.half())
        given = map(torch.from_numpy, learn_comparer.gathered(examples, pairs))
        expected = network(*given).numpy()
    sides: list[Text] = []
    for side in range(2):
        lists = []
        for pair in pairs:
            start, end, own = examples.starts[pair], examples.starts[pair + 1], examples.sizes[pair]
            span = slice(start, start + own) if side == 0 else slice(start + own, end)
            lists.append(examples.ids[span, 0].tolist())
        sides.append(comparer_examples._ragged(lists))
    comparer = Comparer({**network.arrays(), **matches}, Verifier(knowing).tokens)
    found = comparer.compare(*sides, pairs, pairs)[:, -1]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_examples_have_one_right_pair_first(knowing: Encoder, examples: Examples) -> None:
    ids = [
        examples.ids[start:end, 0].tolist()
        for start, end in zip(examples.starts, examples.starts[1:], strict=False)
    ]
    size = WRONG + 1
    assert len(ids) == size * examples.groups and examples.groups > 20
    single = [[knowing.tokenizer([one])[0].tolist() for one in side] for side in TEXT]
    joined = [[one + other for one, other in zip(s, s[1:], strict=False)] for s in single]
    known = {
        tuple(one + other) for sides in (single, joined) for one, other in zip(*sides, strict=True)
    }
    for first in range(0, len(ids), size):
        assert tuple(ids[first]) in known
        assert not any(ids[first] == wrong for wrong in ids[first + 1 : first + size])


def test_small_languages_have_a_larger_share() -> None:
    found = learn_comparer.shares([1_000_000, 10_000, 100])
    assert found[2] == 100 and found[1] == 10_000 and 300_000 < found[0] <= learn_comparer.PAIRS
    assert learn_comparer.shares([5000]) == [5000]


def test_long_sentences_are_drawn_more_often() -> None:
    text = ["a", "a" * 100] * 500, [""] * 1000
    rows = learn_comparer.drawn(text, 300, [1])
    assert len(set(rows.tolist())) == 300 and (rows % 2).mean() > 0.9
    assert len(learn_comparer.drawn(text, 2000, [1])) == 1000
