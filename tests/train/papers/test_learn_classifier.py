"""Training of classifiers: what they learn, reproducibility, and refused text."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.classified import Texts, topics
from support.files import whole, write

from miner.encoder.model import Model
from miner.encoder.model_files import CLASSIFIER
from miner.errors import CorpusError, ResourceError
from miner.scoring.classifier import Classifier
from miner.text.corpus import CorpusReader
from miner.text.formats import USUAL_FORMAT
from miner_train.data import Sentences
from miner_train.papers.classified import split_matched, tokenized
from miner_train.papers.classifier_config import ClassifierConfig
from miner_train.papers.classifier_loop import ClassifierTrainer, Softmax
from miner_train.papers.learn_classifier import matched_pairs, two_classes
from miner_train.papers.learn_classifier import train_classifier as learn

SMALL = ClassifierConfig(
    units="word", dimension=16, epochs=8, batch=20, rate=0.02, heldout=0.2, test=0, seed=3
)


def orders() -> Texts:
    """Return the same words ascending and descending; no sentence is another one reversed."""
    every = list(combinations([f"n{number}" for number in range(12)], 5))
    order = np.random.default_rng(2).permutation(len(every))
    upwards = [" ".join(every[row]) for row in order[:350]]
    return upwards, [" ".join(reversed(every[row])) for row in order[350:700]]


def fit(texts: Texts, place: Path, config: ClassifierConfig = SMALL, **more: object) -> Model:
    place.mkdir(exist_ok=True)
    good, bad = (
        [CorpusReader(write(place / name, lines))]
        for name, lines in zip(("good", "bad"), texts, strict=True)
    )
    read = partial(two_classes, good, bad)
    return learn(read, config, place / "model", **more)  # type: ignore[arg-type]


def test_of_pieces(tmp_path: Path) -> None:
    config = dataclasses.replace(SMALL, units="piece", pieces=60)
    assert fit(topics(), tmp_path, config).training["held-out accuracy"] > 0.9


@pytest.mark.parametrize("encoder", ["average", "lstm"])
def test_only_an_lstm_sees_order(tmp_path: Path, encoder: str) -> None:
    config = dataclasses.replace(SMALL, encoder=encoder, epochs=4)
    accuracy = fit(orders(), tmp_path, config).training["held-out accuracy"]
    assert accuracy > 0.95 if encoder == "lstm" else accuracy < 0.65


def test_the_softmax_against_numpy() -> None:
    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(9, 6)).astype(np.float32)
    good = generator.random(9) < 0.4
    softmax = Softmax(6, seed=1)
    before = softmax.learned()
    logits = vectors @ before["weight"].T + before["bias"]
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = np.stack([~good, good], axis=1).astype(np.float64)
    judged = softmax.judge(vectors, good)
    loss, gradient = softmax.step(vectors, good, 0.01)
    expected = -(np.log(share) * truth).sum(axis=1).mean()
    assert loss == pytest.approx(expected, abs=1e-6) == judged[1]
    assert judged[0] == ((share[:, 1] > 0.5) == good).mean()
    by_logit = (share - truth) / len(good)
    np.testing.assert_allclose(gradient, by_logit @ before["weight"], atol=1e-6)
    # Adam's first step has the size of the rate, against the gradient's sign.
    after = softmax.learned()
    by_weight = by_logit.T @ vectors
    np.testing.assert_allclose(
        after["weight"] - before["weight"], -0.01 * np.sign(by_weight), atol=1e-5
    )


@pytest.mark.parametrize("encoder", ["average", "lstm"])
def test_the_same_bytes_for_the_same_seed(tmp_path: Path, encoder: str) -> None:
    config = dataclasses.replace(SMALL, encoder=encoder, epochs=2, dropout=0.1, batch=150)
    texts = topics()
    first = fit(texts, tmp_path / "a", config, threads=1)
    fit(texts, tmp_path / "b", config, threads=3)
    a, b = whole(tmp_path / "a" / "model"), whole(tmp_path / "b" / "model")
    assert a == b and CLASSIFIER in a
    other = fit(texts, tmp_path / "c", dataclasses.replace(config, seed=4), threads=1)
    assert other.fingerprint != first.fingerprint


def test_copies_and_contradictions_are_left_out(tmp_path: Path) -> None:
    good, bad = topics()
    said: list[str] = []
    texts = ([*good, "", *good[:5], "in both"], [*bad, " in both "])
    model = fit(texts, tmp_path, report=said.append)
    assert f"{tmp_path / 'good'}: 151 sentences, 1 empty left out, 5 seen before left out" in said
    assert "1 sentences that are in both classes left out" in said
    assert any(line.startswith("240 sentences to train on, 120 of them good; 60") for line in said)
    assert sum("held-out accuracy" in line and "(majority 0.5000)" in line for line in said) == 8
    assert model.training["good"][0] == {
        "name": "good",
        "lines": 157,
        "empty": 1,
        "not UTF-8": 0,
    }


@pytest.mark.parametrize(("share", "held"), [(0.2, 60), (31, 31), (2, 2), (0.9, 150), (9999, 150)])
def test_how_many_are_held_out(tmp_path: Path, share: float, held: int) -> None:
    model = fit(topics(), tmp_path, dataclasses.replace(SMALL, heldout=share, epochs=1))
    assert abs(model.training["held-out sentences"] - held) <= 1
    total = model.training["held-out sentences"] + model.training["sentences"]
    assert total == 300


def test_the_test_part_judges_and_chooses_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    config = dataclasses.replace(SMALL, test=0.2, epochs=3)
    model = fit(topics(), tmp_path / "a", config, report=said.append)
    facts = model.training
    sizes = (facts[f"{part}sentences"] for part in ("", "held-out ", "test "))
    assert tuple(sizes) == (180, 60, 60)
    good, bad = facts["test accuracy of good"], facts["test accuracy of bad"]
    assert facts["test accuracy"] == pytest.approx((good + bad) / 2)
    assert said[-1].startswith(f"epoch {facts['epoch']}: test accuracy ")
    # At most a quarter of a class.
    most = fit(topics(), tmp_path / "b", dataclasses.replace(config, test=0.9)).training
    assert (most["held-out sentences"], most["test sentences"]) == (60, 74)


def matched(count: int = 120) -> list[list[str]]:
    """Return references with two translations each; the second has the style of translations."""
    generator = np.random.default_rng(4)
    words = [f"w{number}" for number in range(60)]
    rows = []
    for _ in range(count):
        own = " ".join(generator.choice(words, 6))
        rows.append([f"{own} indeed", f"{own} plain", f"{own} stiff"])
    return rows


def test_references_and_translations_of_the_same_sentences(tmp_path: Path) -> None:
    rows = matched()
    table = write(tmp_path / "pairs.tsv", ["\t".join(row) for row in rows])
    for translation in ("random", "hardest"):
        said: list[str] = []
        config = dataclasses.replace(SMALL, test=0.2, translation=translation, epochs=12)
        place = tmp_path / translation
        read = partial(matched_pairs, [str(table)], USUAL_FORMAT, ("3",))
        model = learn(read, config, place, report=said.append)
        assert "72 pairs to train on, with 144 translations; 24 held out; 24 to test" in said
        assert model.training["test accuracy"] > 0.9
        assert model.training["test sentences"] == 48
        judge = Classifier.load(place)
        assert judge.probability(["w1 w2 indeed"])[0] > judge.probability(["w1 w2 stiff"])[0]


def test_the_split_is_by_reference_and_what_was_tested_is_not_trained_on() -> None:
    groups = {row[0]: row[1:] for row in matched(40)}
    shared = "the same translation"
    for number, own in enumerate(groups.values()):
        if number % 4 == 0:
            own.append(shared)
    training, held, test = split_matched(groups, (8, 8), 1)
    assert [len(held), len(test)] == [8, 8]
    assert not (training.keys() & held.keys() or training.keys() & test.keys())
    later = {text for part in (held, test) for own in part.values() for text in own}
    assert shared in later
    assert not any(later & set(own) for own in training.values())


def test_batches_of_matched_pairs() -> None:
    groups = {"a": ["b", "c", "d"], "e": ["f"], "?": ["g"]}
    ids = {text: number for number, text in enumerate("abcdefg")}

    def cut(texts: Sequence[str]) -> Sentences:
        known = [[ids[text]] if text in ids else [] for text in texts]
        return Sentences(
            np.array([i for own in known for i in own], np.int32),
            np.concatenate([[0], np.cumsum([len(own) for own in known])]),
        )

    for hardest in (False, True):
        data = tokenized(groups, cut, hardest)
        assert len(data) == 2  # "?" has no known token
        seen = set()
        for seed in range(30):
            batch = data.batch(
                np.array([1, 0]),
                np.random.default_rng(seed),
                lambda sentences: (sentences.ids == ids["c"]).astype(float),
            )
            assert batch.good.tolist() == [True, True, False, False]
            assert batch.sentences.ids[:3].tolist() == [ids["e"], ids["a"], ids["f"]]
            seen.add("abcdefg"[batch.sentences.ids[3]])
        assert seen == ({"c"} if hardest else {"b", "c", "d"})


def test_too_few_matched_pairs(tmp_path: Path) -> None:
    table = write(tmp_path / "pairs.tsv", ["a\tb", "b\ta", "c\tc", "d\te"])
    with pytest.raises(CorpusError, match="pairs.tsv: 1 references with translations that differ"):
        matched_pairs([str(table)], USUAL_FORMAT, (), SMALL, print)


def test_l2_keeps_weights_small(tmp_path: Path) -> None:
    free, held = (
        np.square(
            fit(topics(), tmp_path / str(l2), dataclasses.replace(SMALL, l2=l2)).classifier[
                "weight"
            ]
        )
        for l2 in (0.0, 1.0)
    )
    assert held.sum() < free.sum() / 2
    free, held = (
        fit(topics(), tmp_path / f"words {l2}", dataclasses.replace(SMALL, l2_words=l2))
        for l2 in (0.0, 10.0)
    )
    # Embeddings start between -0.1 and 0.1.
    assert np.abs(held.parts[0].weights).max() < 0.11 < np.abs(free.parts[0].weights).max()


def test_a_class_that_is_rare(tmp_path: Path) -> None:
    good, bad = topics()
    model = fit((good[:3], bad), tmp_path, dataclasses.replace(SMALL, epochs=1))
    assert model.training["held-out majority"] == pytest.approx(30 / 31)


def test_too_little_text(tmp_path: Path) -> None:
    good, bad = topics()
    for texts, message in (
        (([], bad), "good: no sentences in it"),
        ((["", "  "], bad), "good: no sentences in it"),
        ((good, bad[:1]), "bad: 1 sentences to learn from; a classifier needs two classes"),
        ((good, good), "good: 0 sentences to learn from, beside 150 that are in both classes"),
        ((good, ["\u200b", "\u200b\u200b"]), "bad: no sentences in it"),
    ):
        with pytest.raises(CorpusError, match=message):
            fit(texts, tmp_path)
        assert not (tmp_path / "model").exists()


def test_a_rate_that_diverges(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="diverged in epoch 1; lower --rate"):
        fit(topics(), tmp_path, dataclasses.replace(SMALL, rate=1e30))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("CUDA out of memory. Tried to")])
def test_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def run(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(ClassifierTrainer, "run", run)
    with pytest.raises(ResourceError, match="batch of 20 sentences; give a smaller --batch"):
        fit(topics(), tmp_path)
