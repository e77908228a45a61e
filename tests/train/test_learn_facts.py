"""Facts: learned from bitext, kept in a model, and an end of pairs that turn one round."""

import dataclasses

import numpy as np
import pytest

from miner.encoder.model import load
from miner.errors import ArtifactError
from miner.ragged import offsets_of
from miner.scoring.facts import ARRAYS, Predictor, facts_of
from miner_train import learn_facts as learning
from miner_train.data import PairData, Sentences, SplitPairs, text_ids
from miner_train.learn_facts import learn_facts

# Foreign and English words; the others stand on both sides.
WORDS = {"nicht": "not", "drei": "three", "neun": "nine", "montag": "monday", "freitag": "friday",
         "er": "he", "sie": "she", "gut": "good", "schlecht": "bad"}  # fmt: skip
FILLERS = [f"w{number}" for number in range(40)]
VOCABULARY = {word: number for number, word in enumerate([*WORDS, *FILLERS])}


def tokens(sentences: list[str]) -> Sentences:
    lists = [[VOCABULARY[word] for word in one.split()] for one in sentences]
    flat = np.array([token for one in lists for token in one], np.int32)
    return Sentences(flat, offsets_of(np.array(list(map(len, lists)))))


def bitext(count: int) -> tuple[list[str], list[str]]:
    generator = np.random.default_rng(3)
    sides: tuple[list[str], list[str]] = [], []
    for _ in range(count):
        words = [*generator.choice(FILLERS, 5), *generator.choice([*WORDS], 2, replace=False)]
        generator.shuffle(words)
        sides[0].append(" ".join(words))
        sides[1].append(" ".join(WORDS.get(word, word) for word in words))
    return sides


@pytest.fixture(scope="module")
def arrays():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning, "FEWEST", 100)
        patch.setattr(learning, "JOINED", (1,))  # all pairs of this text have two facts
        source, target = bitext(8000)
        ids: dict[str, int] = {}
        texts = text_ids(source, ids), text_ids(target, ids)
        n = len(source)
        every = PairData(
            tokens(source), Sentences(np.zeros(n, np.int32), np.arange(n + 1)), *texts,
            np.ones(n, bool), np.zeros(n, np.int16), np.zeros(n, bool),
        )  # fmt: skip
        split = SplitPairs(every, np.arange(2000, n), np.arange(2000), [*ids], ["de-en"])
        yield learn_facts(split, split.training, 1)


def arguments(source: str, target: str, languages=("de", "en")):
    own = tokens([source])
    none = np.zeros(0, np.int32), np.zeros(2, np.int64)
    texts, both = ([source], [target]), ((own.ids, own.offsets), none)
    return (texts, both) if languages[1] == "en" else (texts[::-1], both[::-1])


def probability(arrays, source: str, target: str, languages=("de", "en")) -> float:
    facts = facts_of(arrays, languages, "m")
    return float(facts.probability(*arguments(source, target, languages))[0])


RIGHT = "w1 nicht w2 drei w3 montag", "w1 not w2 three w3 Monday"


@pytest.mark.parametrize(
    "target",
    [
        "w1 w2 three w3 Monday",
        "w1 not w2 nine w3 Monday",
        "w1 not w2 9 w3 Monday",
        "w1 not w2 three w3 friday",
    ],
)
def test_a_fact_turned_round_sinks_a_pair(arrays, target):
    assert probability(arrays, *RIGHT) > 0.9
    assert probability(arrays, RIGHT[0], RIGHT[1].replace("three", "3")) > 0.9
    assert probability(arrays, RIGHT[0], target) < 0.7
    assert probability(arrays, RIGHT[0], target, ("en", "de")) < 0.7


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("w1 not w2 three w3 Monday", None),
        ("w1 w2 three w3 Monday", ("negation", "", 1)),
        ("w1 not w2 nine w3 Monday", ("number", "nine", 3)),
        ("w1 not w2 three w3 Friday", ("time", "Friday", 5)),
        ("w1 not w2 three w3 Sunday", ("time", "Sunday", 5)),  # of which the text has none
    ],
)
def test_a_contradiction_is_named_with_its_places(arrays, target, expected):
    for languages in (("de", "en"), ("en", "de")):
        facts = facts_of(arrays, languages, "m")
        found = facts.contradictions(*arguments(RIGHT[0], target, languages))
        assert found == [expected]


def test_the_hour_of_half_past_is_no_fact(arrays):
    assert probability(arrays, "w1 drei w2 w3", "w1 nine w2 w3") < 0.7
    assert probability(arrays, "w1 drei w2 w3", "w1 Half past nine w2 w3") > 0.9


def test_pairs_do_not_depend_on_each_other(arrays):
    source, target = bitext(2500)
    own, facts = tokens(source), facts_of(arrays, ("de", "en"), "m")
    both = (own.ids, own.offsets), (own.ids, own.offsets)
    every = facts.probability((source, target), both)
    alone = [probability(arrays, *pair) for pair in zip(source[:50], target[:50], strict=True)]
    assert every[:50].tolist() == alone
    assert np.quantile(every, 0.02) > 0.7


def test_other_languages_have_none(arrays):
    for languages in (("fr", "en"), ("de", "fr"), ("en", "en"), (None, "en"), (None, None)):
        assert facts_of(arrays, languages, "m") is None
    assert facts_of({}, ("de", "en"), "m") is None


def test_faulty_arrays_are_refused(arrays):
    for name in set(ARRAYS) - {"languages"}:
        for wrong in ({}, {name: arrays[name][:0]}):
            faulty = {**arrays, **wrong}
            if not wrong:
                del faulty[name]
            with pytest.raises(ArtifactError, match="m: its facts cannot be used"):
                facts_of(faulty, ("de", "en"), "m")


def test_a_model_keeps_them(arrays, verifying_model, tmp_path):
    model = load(verifying_model)
    saved = dataclasses.replace(model, facts=arrays).save(tmp_path / "m")
    for name, array in load(tmp_path / "m").facts.items():
        assert np.array_equal(array, arrays[name])
    assert saved.fingerprint == model.fingerprint


def test_every_feature_is_found_by_its_bucket() -> None:
    """Buckets that want one slot, also behind each other's, each take a free one."""
    buckets = np.unique(np.random.default_rng(0).integers(0, 1 << 22, 3000)).astype(np.int64)
    buckets = np.unique(np.concatenate([buckets, 1 << 14 | np.arange(40), 2 << 14 | np.arange(40)]))
    none = np.empty(0)
    counts = np.zeros(len(buckets), np.int64)
    found = Predictor.of(buckets, counts, none, none, np.zeros(3, np.float32))
    assert (found.slots >= 0).sum() == len(buckets)
    for place, bucket in enumerate(buckets.tolist()):
        at = bucket & (len(found.slots) - 1)
        while found.slots[at] not in (bucket, -1):
            at = (at + 1) & (len(found.slots) - 1)
        assert found.slots[at] == bucket and found.places[at] == place
