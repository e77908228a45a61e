"""Every encoder, objective and choice of negatives learns and gives usable models."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.trainings import aligned_files, synthetic

import miner_train.loop
from miner.encoder.architecture import ENCODERS
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model
from miner.errors import ArtifactError, CorpusError, ResourceError
from miner.ragged import offsets_of
from miner_train.config import TrainConfig
from miner_train.data import Sentences
from miner_train.encoders.embedding_table import Average, Table
from miner_train.pipeline import train_model
from miner_train.read import TextPair
from miner_train.recipes import RECIPES

SMALL = TrainConfig(
    pieces=120, dimension=32, initial=0.1, batch=25, epochs=20, rate=0.02, heldout=0, dropout=0.0
)
MIXED = ["word+trigram", "sp+trigram", "word+trigram+sp+lstm", "sp+lstm-sp"]
EVERY = [
    *({"encoder": name} for name in ENCODERS),
    {"encoder": "word+trigram", "combine": "add"},
    *(
        pytest.param({"encoder": name, "combine": how}, marks=pytest.mark.slow)
        for name, how in list(itertools.product(MIXED, ("add", "concat")))[1:]
    ),
    {"encoder": "blstm", "directions": "average"},
    {"encoder": "lstm-sp", "pooling": "max"},
    {"encoder": "lstm", "hidden": 48},
]


def named(values: dict[str, Any]) -> str:
    return "-".join(map(str, values.values()))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> TextPair:
    """Return fifty pairs of two artificial languages."""
    return TextPair(*aligned_files(tmp_path_factory.mktemp("fifty"), synthetic(50)))


def fit(text: TextPair, output: Path, config: TrainConfig = SMALL, **changed: Any) -> Model:
    return train_model([text], dataclasses.replace(config, **changed), output)


def precision_at_1(model: Model) -> float:
    """Return the share of fifty sources whose nearest target is their translation."""
    source, target = synthetic(50)
    sides = "source", "target"
    left, right = (
        Encoder(model, side=side).encode(text)
        for side, text in zip(sides, (source, target), strict=True)
    )
    return float(((left @ right.T).argmax(axis=1) == np.arange(50)).mean())


@pytest.mark.parametrize("values", EVERY, ids=named)
def test_every_encoder_learns_fifty_pairs(text, tmp_path, values):
    """It memorises them, and vectors are bit for bit equal in any batch."""
    model = fit(text, tmp_path / "model", **values)
    assert precision_at_1(model) == 1
    assert model.training["config"]["encoder"] == values["encoder"]
    sentences = [*synthetic(50)[0], "", "gibts", *synthetic(50)[1], *synthetic(50)[0]]
    whole = Encoder(model, threads=1).encode(sentences)
    assert whole.shape == (152, model.dimension)
    order = np.random.default_rng(0).permutation(len(sentences))
    again = Encoder(model, threads=3).encode([sentences[i] for i in order])
    assert (again == whole[order]).all()
    for i in (0, 7, 50, 60, 151):
        assert (Encoder(model, threads=1).encode([sentences[i]])[0] == whole[i]).all()
    norms = np.linalg.norm(whole, axis=1)
    assert ((norms == 0) | (abs(norms - 1) < 1e-6)).all() and norms[50] == 0


def test_the_dimension_of_a_mixed_model(text: TextPair, tmp_path: Path) -> None:
    added = fit(text, tmp_path / "a", encoder="word+trigram", epochs=1)
    recurrent = {"encoder": "word+blstm", "combine": "concat", "hidden": 8, "epochs": 1}
    averaged = fit(text, tmp_path / "b", **recurrent)
    joined = fit(text, tmp_path / "c", **recurrent, directions="concat")
    assert (added.dimension, averaged.dimension, joined.dimension) == (32, 32 + 8, 32 + 2 * 8)


def test_an_empty_part_of_a_mixed_model(tmp_path: Path) -> None:
    """Whole batches without a known word, which still have trigrams."""
    source, target = synthetic(60)
    # Each sentence is a single word, as in a script without spaces.
    unspaced = [[sentence.replace(" ", "") for sentence in side] for side in (source, target)]
    text = TextPair(*aligned_files(tmp_path, unspaced))
    model = fit(text, tmp_path / "m", encoder="trigram+lstm", types=12, batch=4, epochs=2)
    vectors = Encoder(model).encode([*source, "..."])
    assert np.isfinite(vectors).all() and vectors.any(axis=1).sum() > 40


def test_a_dimension_that_is_not_that_of_the_parts(text: TextPair, tmp_path: Path) -> None:
    for values in ({"encoder": "word"}, {"encoder": "sp+lstm-sp", "combine": "concat"}):
        model = fit(text, tmp_path / values["encoder"], epochs=0, **values)
        for wrong in (4, 33, 1000):
            with pytest.raises(ArtifactError, match=f"dimensions, not {wrong}; copy or train"):
                Encoder(dataclasses.replace(model, dimension=wrong))


def test_random_baselines_are_not_trained(text: TextPair, tmp_path: Path) -> None:
    config = dataclasses.replace(RECIPES["random"], pieces=120, types=500, dimension=300)
    for encoder in ("sp", "trigram"):
        model = fit(text, tmp_path / encoder, config, encoder=encoder)
        table = model.parts[0].table()
        assert abs(table.mean()) < 0.02 and table.std() == pytest.approx(1, abs=0.02)
        assert precision_at_1(model) < 0.5  # the languages have no common piece
        one = Encoder(model)
        same = one.encode([synthetic(50)[0][0]])
        assert np.linalg.norm(same) == pytest.approx(1, abs=1e-6)


SCHEMES = [
    {"objective": "softmax", "negatives_from": "either"},
    {"objective": "softmax", "megabatch": 2, "batch": 10},
    {"objective": "softmax", "megabatch": 2, "batch": 10, "negatives": "rand"},
    {"objective": "softmax", "megabatch": 2, "batch": 10, "negatives_from": "either"},
    *(
        {"objective": "margin", "negatives": mode, "negatives_from": where, "megabatch": 2}
        for mode in ("max", "rand", "mix")
        for where in ("opposite", "either")
    ),
    {"objective": "contrastive", "negatives": "rand", "margin": 0.8},
    {"objective": "contrastive", "negatives": "max", "negatives_from": "either", "margin": 0.8},
]


@pytest.mark.parametrize("values", SCHEMES, ids=named)
def test_every_objective_learns_fifty_pairs(text, tmp_path, values):
    values = {"margin": 0.4, "epochs": 40, **values}
    assert precision_at_1(fit(text, tmp_path / "model", **values)) == 1


def test_an_objective_over_a_network(text: TextPair, tmp_path: Path) -> None:
    """Recipe s18: contrastive loss, random negatives, variational dropout, a gated network."""
    small = {name: getattr(SMALL, name) for name in ("dimension", "heldout", "batch", "rate")}
    small |= {"segmentation": "none", "epochs": 40, "initial": 0.1}
    assert precision_at_1(fit(text, tmp_path / "model", RECIPES["s18"], **small)) > 0.9


def table_of(rows: list[tuple[Any, ...]], path: Path) -> TextPair:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return TextPair(str(path), label_col="3")


def test_labelled_pairs_say_what_differs(tmp_path: Path) -> None:
    """Half of the pairs are wrong and labelled so; only the labels separate two sentences."""
    source, target = synthetic(50)
    rows = [(s, t, 1) for s, t in zip(source, target, strict=True)]
    rows += [(s, t, 0) for s, t in zip(source, target[1:] + target[:1], strict=True)]
    labelled = table_of(rows, tmp_path / "labelled.tsv")
    values = {"objective": "contrastive", "negatives": "rand", "margin": 0.8, "epochs": 40}
    assert precision_at_1(fit(labelled, tmp_path / "a", **values)) == 1
    # Other objectives exclude pairs labelled as wrong.
    lines: list[str] = []
    model = train_model([labelled], SMALL, tmp_path / "b", report=lines.append)
    assert model.training["pairs"] == 50
    assert any("50 pairs, 50 labelled as different left out" in line for line in lines)


def test_labels_that_are_all_0(tmp_path: Path) -> None:
    source, target = synthetic(50)
    labelled = table_of([(s, t, 0) for s, t in zip(source, target, strict=True)], tmp_path / "t")
    with pytest.raises(CorpusError, match="every pair is labelled 0"):
        fit(labelled, tmp_path / "m", objective="contrastive", negatives="rand")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_network_that_diverges_is_noticed(text: TextPair, tmp_path: Path, monkeypatch) -> None:
    learned = miner_train.loop.Encoders.learned

    def broken(self: Any) -> Any:
        arrays = learned(self)
        return {**arrays, "lstm/network/ways.0.by_input.bias": np.array([np.nan])}

    monkeypatch.setattr(miner_train.loop.Encoders, "learned", broken)
    with pytest.raises(ResourceError, match="diverged in epoch 1"):
        fit(text, tmp_path / "m", encoder="lstm")


def test_a_score_decides_what_is_kept(tmp_path: Path) -> None:
    """Noise cut-offs of S18: the best by score, or the first of a ranked file."""
    source, target = synthetic(50)
    rows = [(s, t, i) for i, (s, t) in enumerate(zip(source, target, strict=True))]
    path = table_of(rows, tmp_path / "ranked.tsv").source
    text = {
        how: TextPair(path, score_col=column) for how, column in (("best", "3"), ("first", None))
    }
    config = dataclasses.replace(SMALL, keep=0.6, epochs=1, encoder="word")
    for how, kept in (("best", range(20, 50)), ("first", range(30))):
        model = fit(text[how], tmp_path / how, config)
        assert model.training["pairs"] == 30
        words = set(model.vocabularies["words.txt"].decode().split())
        assert words == {word for i in kept for word in f"{source[i]} {target[i]}".split()}


def test_lambda_w_holds_embeddings_where_they_start(text: TextPair, tmp_path: Path) -> None:
    start = fit(text, tmp_path / "start", epochs=0).parts[0].table()
    far, near = (
        np.abs(fit(text, tmp_path / str(pull), lambda_w=pull).parts[0].table() - start).mean()
        for pull in (0.0, 10.0)
    )
    assert near < far / 3


def test_lambda_c_shrinks_the_network(text: TextPair, tmp_path: Path) -> None:
    large, small = (
        sum(np.square(a).sum() for a in model.parts[0].network.values())
        for model in (
            fit(text, tmp_path / str(weight), encoder="lstm", lambda_c=weight)
            for weight in (0.0, 1.0)
        )
    )
    assert small < large / 2


@pytest.mark.parametrize("name", ["scramble", "variational", "dropout", "embedding_dropout"])
def test_what_is_random_changes_the_training(text: TextPair, tmp_path: Path, name: str) -> None:
    found = [
        fit(text, tmp_path / str(rate), encoder="lstm-sp", epochs=2, **{name: rate}).fingerprint
        for rate in (0.0, 0.3)
    ]
    assert found[0] != found[1]


def test_batches_of_any_length_share_the_memory_of_gradients() -> None:
    """Results equal those of encoders with fresh memory in every step."""
    config = dataclasses.replace(SMALL, embedding_dropout=0.3, adam="dense")
    one, other = (Average(Table(40, config, 0), config) for _ in range(2))
    for step, count in enumerate((9, 3, 20, 1), start=1):
        lengths = np.random.default_rng(step).integers(1, 8, count)
        ids = np.random.default_rng(step).integers(0, 40, lengths.sum()).astype(np.int32)
        for encoder in (one, other):
            encoder.forward(Sentences(ids, offsets_of(lengths)), np.random.default_rng(step))
            encoder.backward(np.ones((count, config.dimension), np.float32), step, 0.01)
        other = restarted(other, config)
    for name, array in {**one.learned(), **one.moments()}.items():
        assert array.tobytes() == {**other.learned(), **other.moments()}[name].tobytes()


def restarted(encoder: Average, config: TrainConfig) -> Average:
    fresh = Average(Table(40, config, 0), config)
    fresh.restore({**encoder.learned(), **encoder.moments()})
    return fresh


@pytest.mark.parametrize("encoder", ["sp", "word", "trigram", "lstm-sp"])
def test_separate_vocabularies_share_nothing(tmp_path: Path, encoder: str) -> None:
    """On equal text in both columns, shared embeddings agree at once, separate ones do not."""
    source, _ = synthetic(50)
    text = TextPair(*aligned_files(tmp_path, (source, source)))
    model = fit(text, tmp_path / "model", encoder=encoder, vocabularies="separate", epochs=0)
    assert model.architecture.separate and model.verifier is None
    left, right = (Encoder(model, side=side).encode(source) for side in ("source", "target"))
    # The biases of a network make all vectors similar.
    most = 0.999 if encoder == "lstm-sp" else 0.6
    assert abs((left * right).sum(axis=1)).mean() < most
    with pytest.raises(ArtifactError, match="source or target .--side."):
        Encoder(model)
    # Pieces that a column lacks have zero embeddings there.
    table = model.parts[0].table()
    halves = [part.any(axis=1) for part in np.split(table, 2)]
    assert model.parameters <= table.any(axis=1).sum() * 32 + 32 * 33 * 4 * 2 + 200
    assert all(0 < half.sum() <= len(half) for half in halves)
    learned = fit(text, tmp_path / "c", encoder=encoder, vocabularies="separate", epochs=40)
    left, right = (Encoder(learned, side=side).encode(source) for side in ("source", "target"))
    assert ((left @ right.T).argmax(axis=1) == np.arange(50)).all()


def test_vocabularies_alike_share_what_is_spelt_alike(tmp_path: Path) -> None:
    """A loan word of both columns has one embedding, although each column has its own pieces."""
    loans = [[f"{line} hotel" for line in side] for side in synthetic(50)]
    text = TextPair(*aligned_files(tmp_path, loans))
    for vocabularies in ("alike", "separate"):
        model = fit(text, tmp_path / vocabularies, vocabularies=vocabularies, epochs=0)
        left, right = (Encoder(model, side=side) for side in ("source", "target"))
        ids = [side.tokenizer(["hotel"])[0].tolist() for side in (left, right)]
        assert (ids[0] == ids[1]) == (vocabularies == "alike")
        source, target = synthetic(1)
        assert not {*left.tokenizer(source)[0]} & {*right.tokenizer(target)[0]}


def test_the_best_epoch_by_human_grades(text: TextPair, tmp_path: Path) -> None:
    source, target = synthetic(50)
    rows = [f"{5 - i % 3}\t{target[i]}\t{target[i + i % 3]}" for i in range(30)]
    graded, half = tmp_path / "dev.tsv", tmp_path / "half.tsv"
    graded.write_text("\n".join(rows) + "\n", encoding="utf-8")
    half.write_text("\n".join(rows[:15]) + "\n", encoding="utf-8")
    said: list[str] = []
    config = dataclasses.replace(SMALL, epochs=3)
    arguments = [text], config, tmp_path / "model"

    def chosen(*select: Path) -> list[float]:
        said.clear()
        model = train_model(*arguments, select=list(map(str, select)), report=said.append)
        found = [float(line.split("grades ")[1].split()[0]) for line in said if " grades " in line]
        assert model.training["correlation with grades"] == pytest.approx(max(found), abs=1e-4)
        return found

    one, other = chosen(graded), chosen(half)
    assert len(one) == 3
    assert chosen(graded, half) == pytest.approx(np.mean([one, other], axis=0), abs=1e-4)
    graded.write_text("4\ta\tb\n4\ta\tb\n4\ta\tb\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="dev.tsv: 3 graded pairs; .* different finite grades"):
        train_model(*arguments, select=[str(graded)])


class Stop(Exception):
    """Exception by which a test interrupts a training."""


@pytest.mark.parametrize(
    "values",
    [
        {"encoder": "blstm-sp", "variational": 0.2, "scramble": 0.3},
        {"encoder": "word+trigram+lstm", "combine": "concat", "lambda_w": 0.1},
        {"encoder": "sp", "objective": "margin", "negatives": "mix"},
        {"encoder": "gran-gru", "variational": 0.2, "objective": "contrastive"},
    ],
    ids=named,
)
def test_a_killed_training_goes_on(text, tmp_path, values, monkeypatch):
    config = dataclasses.replace(SMALL, epochs=4, batch=10, **values)
    whole = train_model([text], config, tmp_path / "whole")
    monkeypatch.setattr(miner_train.loop, "CHECKPOINT_EVERY", -1.0)

    def kill(stage: str, done: int, total: int | None) -> None:
        if done > 120:
            raise Stop

    with pytest.raises(Stop):
        train_model([text], config, tmp_path / "model", progress=kill)
    seen: list[tuple[Any, ...]] = []
    progress = lambda *event: seen.append(event)  # noqa: E731
    model = train_model([text], config, tmp_path / "model", progress=progress)
    assert min(done for _, done, _ in seen) > 120
    assert model.fingerprint == whole.fingerprint
