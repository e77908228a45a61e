"""Paraphrase generator: decoding agrees with plain search; resumed trainings, ranking, commands."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support.files import write

from miner.errors import ArtifactError, CorpusError
from miner.scoring.trigram_lm import Trigrams
from miner_train import loop
from miner_train.papers import generator_network as networks
from miner_train.papers import learn_generator
from miner_train.papers.generation import Decoding, RankWeights
from miner_train.papers.generator import Generator, Rewriter
from miner_train.papers.generator_config import GeneratorConfig
from miner_train.papers.rerank import mean_overlap, rank
from miner_train.papers.translators import Translation

Run = Callable[..., tuple[int, str, str]]
NOUNS, VERBS = ("dog", "cat", "bird", "fish", "horse", "mouse"), ("sleeps", "eats", "runs", "sings")
# The written sentence is the read one with two words replaced by other words.
READ = [f"the {noun} {verb} now ." for noun in NOUNS for verb in VERBS]
WRITTEN = [f"A {noun} {verb} today." for noun in NOUNS for verb in VERBS]
TINY = GeneratorConfig(
    pieces=60,
    dimension=16,
    heads=2,
    layers=1,
    epochs=3,
    batch=60,
    warmup=10,
    dropout=0.1,
    heldout=4,
)


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Generator:
    place = tmp_path_factory.mktemp("generator") / "g"
    return learn_generator.train_generator(READ, WRITTEN, TINY, place, threads=1)


def random_network(pieces: int = 5) -> networks.GeneratorNetwork:
    torch.manual_seed(3)
    return networks.GeneratorNetwork(pieces, 8, 2, 1).eval()


def cost_of(network: networks.GeneratorNetwork, source: list[int], written: list[int]) -> float:
    """Return the cost per piece of a sentence with its end, or cut at the limit, by definition."""
    start, end = network.pieces + networks.START, network.pieces + networks.END
    ids = [*written, end] if len(written) < networks.limit(source) else written
    total = 0.0
    with torch.inference_mode():
        for place, token in enumerate(ids):
            before = torch.tensor([[start, *ids[:place]]])
            logits = network.logits(network.decode(before, *network.encode(torch.tensor([source]))))
            here = logits[0, -1]
            here[[networks.UNKNOWN, network.pad, start]] = -math.inf
            total -= float(here.log_softmax(0)[token])
    return total / len(ids)


def test_a_wide_beam_finds_the_likeliest_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "limit", lambda sentence: 3)
    network, source = random_network(4), [1, 3, 2]
    every = [list(one) for n in range(4) for one in itertools.product(range(1, 4), repeat=n)]
    ended = {tuple(one): cost_of(network, source, one) for one in every if len(one) < 3}
    best = sorted(ended, key=lambda one: ended[one])
    found = networks.beam_search(network, [source], 13, beam=50)[0]
    assert [tuple(ids) for ids, _ in found] == best[: len(found)]
    assert [cost for _, cost in found] == pytest.approx([ended[one] for one in best], abs=1e-4)


def test_decoding_does_not_depend_on_the_batch() -> None:
    network = random_network(30)
    generator = np.random.default_rng(1)
    sentences = [generator.integers(1, 30, size).tolist() for size in (7, 3, 5)]
    numbers = [generator.random((4, networks.limit(own)), dtype=np.float32) for own in sentences]
    beams = networks.beam_search(network, sentences, 3, 4)
    drawn = networks.sample(network, sentences, numbers, 1.0, 0.9)
    for row, own in enumerate(sentences):
        for found, alone in (
            (beams[row], networks.beam_search(network, [own], 3, 4)[0]),
            (drawn[row], networks.sample(network, [own], [numbers[row]], 1.0, 0.9)[0]),
        ):
            assert [ids for ids, _ in found] == [ids for ids, _ in alone]
            assert [cost for _, cost in found] == pytest.approx([cost for _, cost in alone])
        for ids, cost in (*beams[row], *drawn[row]):
            assert len(ids) <= networks.limit(own)
            assert networks.UNKNOWN not in ids and max(ids, default=0) < 30
            assert cost == pytest.approx(cost_of(network, own, ids), abs=1e-4)


def test_draws_follow_the_distribution() -> None:
    """Shares of first pieces over many draws, from the whole distribution and the nucleus."""
    network, source = random_network(4), [1, 2]
    with torch.inference_mode():
        ids = torch.tensor([[[network.pieces + networks.START]]])
        ahead = networks._ahead(network, ids, *network.encode(torch.tensor([source])))[0]
    expected = ahead.exp().numpy()
    numbers = np.linspace(0, 1, 400, endpoint=False, dtype=np.float32)
    spread = np.zeros((400, networks.limit(source)), dtype=np.float32)
    spread[:, 0] = numbers
    for nucleus, kept in ((1.0, 4), (0.1, 1)):
        found = networks.sample(network, [source], [spread], 1.0, nucleus)[0]
        first = [ids[0] if ids else network.pieces + networks.END for ids, _ in found]
        shares = np.bincount(first, minlength=len(expected)) / 400
        if kept > 1:
            assert shares == pytest.approx(expected, abs=0.01)
        assert np.count_nonzero(shares) == kept


def test_pairs_and_held_out_references() -> None:
    pairs = learn_generator.pairs_of(
        ["A b.", "a b .", "c d", "c d"], ["x y", "x y", "C d!", "e"], TINY
    )
    assert pairs == [("a b .", "x y"), ("c d", "e")]
    twice = list(zip(READ * 2, WRITTEN * 2, strict=True))
    training, held = learn_generator.split(twice, TINY)
    written = {other for _, other in held}
    assert len(written) == 2 and not any(other in written for _, other in training)
    assert len(training) + len(held) == len(twice)
    with pytest.raises(CorpusError, match="needs some thousands of pairs"):
        learn_generator.split([("a", "b")], TINY)


def test_a_stopped_training_ends_alike(generator, tmp_path, monkeypatch):
    steps: list[int] = []
    take = learn_generator.GeneratorTrainer._take
    monkeypatch.setattr(loop, "CHECKPOINT_EVERY", 0.0)

    def killed(self: learn_generator.GeneratorTrainer, rows: list[int]) -> None:
        if len(steps) == 5:
            raise KeyboardInterrupt
        steps.append(1)
        take(self, rows)

    place = tmp_path / "g"
    monkeypatch.setattr(learn_generator.GeneratorTrainer, "_take", killed)
    with pytest.raises(KeyboardInterrupt):
        learn_generator.train_generator(READ, WRITTEN, TINY, place, threads=1)
    monkeypatch.setattr(learn_generator.GeneratorTrainer, "_take", take)
    said: list[str] = []
    again = learn_generator.train_generator(
        READ, WRITTEN, TINY, place, threads=1, report=said.append
    )
    assert any(line.startswith("going on from") for line in said)
    assert again.fingerprint == generator.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


def test_it_learns_to_rewrite(tmp_path: Path) -> None:
    """It learns a replacement of words from most sentences, and applies it to the others."""
    config = GeneratorConfig(
        pieces=60, dimension=32, heads=2, layers=1, epochs=45, batch=200, warmup=20, rate=0.01,
        dropout=0.0, heldout=2,
    )  # fmt: skip
    made = learn_generator.train_generator(READ, WRITTEN, config, tmp_path / "g", threads=1)
    assert made.training["held-out cost"] < 0.6
    found = Rewriter(made, threads=1).translate(["The DOG sleeps now.", ""], 2)
    assert found[0][0].text == "A dog sleeps today." and found[1] == []


def test_save_and_load(generator: Generator, tmp_path: Path) -> None:
    place = tmp_path / "g"
    generator.save(place)
    again = Generator.load(place)
    assert again.fingerprint == generator.fingerprint and again.sizes == generator.sizes
    for how in (Decoding(), Decoding(sample=True, temperature=0.8)):
        texts = [
            [own.text for own in Rewriter(one, how, threads=1).translate(READ[:2], 3)[1]]
            for one in (generator, again)
        ]
        assert texts[0] == texts[1]
    (place / "sp.model").write_bytes(b"x")
    with pytest.raises(ArtifactError, match="sp.model: is damaged"):
        Generator.load(place)
    with pytest.raises(ArtifactError, match="no generator"):
        Generator.load(tmp_path)
    (place / "config.json").write_text('{"format": "another"}')
    with pytest.raises(ArtifactError, match="no generator of this version"):
        Generator.load(place)


class Letters:
    """Encoder by letter counts."""

    def encode(self, sentences: list[str]) -> np.ndarray:
        counts = np.array([[own.count(letter) for letter in "abcd"] for own in sentences], float)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


def test_ranking_by_hand() -> None:
    candidates = [[Translation("A B c.", 1.0), Translation("a a b c", 2.0), Translation("d", 0.5)]]
    plain = rank(["a b c"], candidates, Letters(), RankWeights(1, 0, 0))
    assert [one.text for one in plain[0]] == ["a a b c", "d"]  # no copy
    first = plain[0][0]
    assert first.cosine == pytest.approx(4 / math.sqrt(3 * 6), abs=1e-6)
    # All words, bigrams and the trigram of the shorter sentence occur in the longer one.
    assert first.overlap == 1 and plain[0][1].overlap == 0 and math.isnan(first.perplexity)
    novel = rank(["a b c"], candidates, Letters(), RankWeights(1, 2, 0))
    assert [one.text for one in novel[0]] == ["d", "a a b c"]
    fluent = rank(["a b c"], candidates, Letters(), RankWeights(0, 0, 1))
    assert [one.score for one in fluent[0]] == [-0.5, -2.0]
    language = Trigrams.train([["a", "a", "b", "c"]] * 5, "text")
    known = rank(["a b c"], candidates, Letters(), RankWeights(0, 0, 1), language)
    assert known[0][0].text == "a a b c" and known[0][0].perplexity < known[0][1].perplexity
    assert rank([], [], Letters()) == []


def test_mean_overlap_of_short_sentences() -> None:
    assert mean_overlap(["a"], ["a", "b"]) == 1 and mean_overlap([], ["a"]) == 0
    assert mean_overlap(list("ab"), list("ba")) == 0.5  # words, but no bigram


def test_the_commands(tmp_path: Path, tiny_model: Path, miner: Run) -> None:
    rows = zip(WRITTEN, READ, strict=True)
    pairs = write(tmp_path / "p.tsv", [(*row, 1.0) for row in rows])
    text = write(tmp_path / "t.txt", READ[:6])
    model, out, facts = tmp_path / "g", tmp_path / "out.tsv", tmp_path / "f.json"
    small = ["--pieces", 60, "--dimension", 16, "--heads", 2, "--layers", 1, "--epochs", 2]
    train = ["paraphrase", "train", pairs, "-o", model, "--threads", 1, *small]
    code, _, err = miner(*train)
    assert code == 0 and "22 pairs to train on, 2 held out" in err, err
    code, _, err = miner(*train)
    assert code == 2 and "is a generator already; replace it with --overwrite" in err
    code, _, err = miner(*train, "--overwrite", "--heads", 3)
    assert code == 2 and "--dimension = 16 is no multiple of heads 3" in err
    generate = ["paraphrase", "generate", "--model", model, text, "--encoder", tiny_model,
                "--threads", 1, "-o", out]  # fmt: skip
    code, _, err = miner(*generate, "--best", 2, "--json", facts, "--references", text)
    assert code == 0, err
    found = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    assert {len(row) for row in found} == {7} and {row[0] for row in found} <= set(READ)
    record = json.loads(facts.read_text())
    assert record["sentences"] == 6 and record["pairs"] == len(found)
    assert -1 <= record["cosine"] <= 1 and not (tmp_path / "out.tsv.candidates").exists()
    drawn = [
        (miner(*generate, "--sample", "--seed", seed)[0], out.read_text(encoding="utf-8"))
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    code, _, err = miner(*generate, "--best", 9)
    assert code == 2 and "--best 9 of --candidates 8" in err
    code, _, err = miner(*generate[:3], tiny_model, *generate[4:])
    assert code == 1 and "no generator of this version" in err
