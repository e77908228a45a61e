"""miner.encoder.recurrent agrees with numpy, for every batch, saved and loaded."""

import dataclasses
import resource

import numpy as np
import pytest
import torch

from miner.encoder import recurrent
from miner.encoder.architecture import ENCODERS, Architecture
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model, load
from miner.encoder.part import EncoderPart
from miner.encoder.recurrent import RecurrentNetwork
from miner.errors import ArtifactError
from miner.ragged import offsets_of

RECURRENT = [name for name, kind in ENCODERS.items() if kind.network]
DIMENSION, STATES = 12, {"lstm": 10, "gran-lstm": 12, "gran-gru": 12}
SHAPES = [
    pytest.param(name, pooling, directions, id=f"{name}-{pooling}-{directions}")
    for name in RECURRENT
    for pooling in ("mean", "max")
    for directions in ("concat", "average")
    if directions == "concat" or ENCODERS[name].both_ways
]


def network(
    name: str, pooling: str = "mean", directions: str = "concat", seed: int = 0
) -> RecurrentNetwork:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = RecurrentNetwork(
            name, DIMENSION, STATES[ENCODERS[name].network], pooling, directions
        )
        # Nonzero biases, or a test would not notice their absence.
        for parameter in made.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return made


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def reference(
    net: RecurrentNetwork,
    name: str,
    tokens: np.ndarray,
    masks: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Compute the vector of a sentence, ``tokens (t, d)``, by the formulas of the papers.

    ``masks (d,)`` and ``(h,)`` are those of variational dropout, on the inputs of the products.
    """
    by_input, by_state = masks or (np.ones(tokens.shape[1]), np.ones(net.states))
    kind = ENCODERS[name].network
    found = []
    for way in range(len(net.ways)):
        p = {
            key.removeprefix(f"ways.{way}."): value.astype(np.float64)
            for key, value in net.arrays().items()
            if key.startswith(f"ways.{way}.")
        }
        h = c = np.zeros(net.states)
        states = []
        for token in (tokens[::-1] if way else tokens).astype(np.float64):
            x, seen = token * by_input, h * by_state
            if kind == "gran-gru":
                by_r, by_z, f = np.split(p["by_input.weight"] @ x + p["by_input.bias"], 3)
                also_r, also_z = np.split(p["gates_by_state.weight"] @ seen, 2)
                r, z = sigmoid(by_r + also_r), sigmoid(by_z + also_z)
                f = f + p["by_state.weight"] @ (r * seen)
                h = (1 - z) * h + z * np.where(f > 0, f, 0.01 * f)
            else:
                both = p["by_input.weight"] @ x + p["by_input.bias"] + p["by_state.weight"] @ seen
                i, f, g, o = np.split(both, 4)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
            if kind == "lstm":
                states.append(h)
            else:
                gate = p["gate.by_input.weight"] @ x + p["gate.by_input.bias"]
                states.append(x * sigmoid(gate + p["gate.by_state.weight"] @ h))
        found.append(np.max(states, axis=0) if net.pooling == "max" else np.mean(states, axis=0))
    if len(found) == 1:
        return found[0]
    return (found[0] + found[1]) / 2 if net.average else np.concatenate(found)


def tokens(lengths: list[int], seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Draw embeddings of sentences with these lengths; return them and their offsets."""
    generator = np.random.default_rng(seed)
    shape = (sum(lengths), DIMENSION)
    return generator.normal(size=shape).astype(np.float32), offsets_of(np.array(lengths))


@pytest.mark.parametrize("name, pooling, directions", SHAPES)
def test_against_the_definition(name, pooling, directions, monkeypatch):
    monkeypatch.setattr(recurrent, "WINDOW", 3)  # long sentences take several windows
    net = network(name, pooling, directions)
    embedded, offsets = tokens([3, 0, 7, 1, 7, 2])
    for rows in (0, 6, 16):
        with torch.inference_mode():
            found = net(torch.from_numpy(embedded), offsets, rows=rows).numpy()
        assert found.shape == (6, net.dimension)
        for i, vector in enumerate(found):
            own = embedded[offsets[i] : offsets[i + 1]]
            if len(own):
                np.testing.assert_allclose(vector, reference(net, name, own), atol=1e-5)
            else:
                assert not vector.any()


@pytest.mark.parametrize("name, pooling, directions", SHAPES)
def test_gradients(name: str, pooling: str, directions: str) -> None:
    """Gradients of embeddings and parameters agree with finite differences in float64."""
    net = network(name, pooling, directions).double()
    embedded, offsets = tokens([2, 0, 3])
    start = torch.from_numpy(embedded).double().requires_grad_()
    masks = (
        torch.tensor(np.random.default_rng(2).integers(0, 2, (3, DIMENSION)) * 2.0),
        torch.tensor(np.random.default_rng(3).integers(0, 2, (3, net.states)) * 2.0),
    )

    def vectors(x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return net(x, offsets, masks)

    assert torch.autograd.gradcheck(vectors, (start, *net.parameters()), fast_mode=True)


@pytest.mark.parametrize("name", RECURRENT)
def test_each_sentence_has_its_own_masks(name: str) -> None:
    """The mask of a sentence does not depend on its position in the batch."""
    net = network(name)
    embedded, offsets = tokens([2, 30, 3])
    generator = np.random.default_rng(4)
    masks = [
        generator.integers(0, 2, (3, size)).astype(np.float32) * 2
        for size in (DIMENSION, net.states)
    ]
    with torch.inference_mode():
        together = net(torch.from_numpy(embedded), offsets, [torch.from_numpy(m) for m in masks])
    for i in range(3):
        own = embedded[offsets[i] : offsets[i + 1]]
        expected = reference(net, name, own, (masks[0][i], masks[1][i]))
        np.testing.assert_allclose(together[i].numpy(), expected, atol=1e-5)
        assert abs(expected - reference(net, name, own)).max() > 1e-3


def test_a_gru_starts_by_xavier_gate_by_gate() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = RecurrentNetwork("gran-gru", 200, 200, "mean", "concat")
    for name, values in net.arrays().items():
        if values.ndim == 1:
            assert not values.any(), name
        else:
            bound = np.sqrt(6 / 400)
            assert 0.95 * bound < abs(values).max() <= bound, name


def model_of(vocabulary: bytes, weights: np.ndarray, name: str, directions: str) -> Model:
    """Make a model of pieces with an untrained network."""
    size = weights.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        net = RecurrentNetwork(name, size, size, "mean", directions)
    part = EncoderPart(weights, None, net.arrays())
    architecture = Architecture(encoder=name, directions=directions)
    return Model((part,), {"sp.model": vocabulary}, net.dimension, architecture)


@pytest.mark.parametrize("name", ["lstm-sp", "blstm-sp"])
@pytest.mark.parametrize("directions", ["concat", "average"])
def test_vectors_do_not_depend_on_the_batch(vocabulary, weights, german, english, name, directions):
    """Vectors are equal bit for bit for every batch, order and number of threads."""
    model = model_of(vocabulary, weights, name, directions)
    text = [*german, "", *english, "日本語", " ".join(german)] * 2
    whole = Encoder(model, threads=1).encode(text)
    assert np.isfinite(whole).all()
    norms = np.linalg.norm(whole, axis=1)
    assert ((norms == 0) | (abs(norms - 1) < 1e-6)).all() and (norms == 0).sum() == 4
    assert (Encoder(model, threads=3).encode(text) == whole).all()
    order = np.random.default_rng(6).permutation(len(text))
    shuffled = Encoder(model, threads=1).encode([text[i] for i in order])
    assert (shuffled == whole[order]).all()
    for i in (0, 3, 60, 61, len(text) // 2 - 1):
        assert (Encoder(model, threads=1).encode([text[i]])[0] == whole[i]).all()
    blocks = [text[:1], text[1:50], text[50:]]
    streamed = np.concatenate(list(Encoder(model, threads=2).stream(blocks, np.float16)))
    assert (streamed == whole.astype(np.float16)).all()


def test_torch_keeps_its_threads(vocabulary: bytes, weights: np.ndarray) -> None:
    before = torch.get_num_threads()
    encoder = Encoder(model_of(vocabulary, weights, "lstm-sp", "concat"), threads=2)
    encoder.encode(["Der Hund bellt."])
    stream = encoder.stream([["a"], ["b"]])
    next(stream)
    stream.close()
    assert torch.get_num_threads() == before
    first, second = encoder.stream([["a"], ["b"]]), encoder.stream([["a"], ["b"]])
    next(first), next(second)
    first.close()
    assert torch.get_num_threads() == 1
    second.close()
    assert torch.get_num_threads() == before


def test_saved_and_loaded(vocabulary, weights, german, tmp_path):
    model = model_of(vocabulary, weights, "blstm-sp", "average")
    saved = model.save(tmp_path / "m")
    assert saved.architecture == model.architecture and saved.dimension == model.dimension
    assert saved.parameters == weights.size + sum(a.size for a in model.parts[0].network.values())
    assert (Encoder(saved).encode(german) == Encoder(model).encode(german)).all()
    # Another pooling gives other vectors and another fingerprint.
    other = dataclasses.replace(
        model, architecture=dataclasses.replace(model.architecture, pooling="max")
    )
    assert other.save(tmp_path / "other").fingerprint != saved.fingerprint
    assert load(tmp_path / "m").fingerprint == saved.fingerprint


def test_a_network_of_another_encoder(vocabulary: bytes, weights: np.ndarray) -> None:
    model = model_of(vocabulary, weights, "lstm-sp", "concat")
    architecture = dataclasses.replace(model.architecture, encoder="blstm-sp")
    with pytest.raises(ArtifactError, match="network does not fit the encoder blstm-sp"):
        Encoder(dataclasses.replace(model, architecture=architecture))
    arrays = dict(model.parts[0].network)
    arrays["ways.0.by_state.weight"] = np.zeros((3, 3), np.float32)
    with pytest.raises(ArtifactError, match="network does not fit the encoder lstm-sp"):
        Encoder(dataclasses.replace(model, parts=(EncoderPart(weights, None, arrays),)))
    with pytest.raises(ArtifactError, match="network does not fit the encoder lstm-sp"):
        Encoder(dataclasses.replace(model, parts=(EncoderPart(weights),)))


def test_a_long_line_takes_little_memory(vocabulary: bytes, weights: np.ndarray) -> None:
    """Memory holds a window of steps rather than all steps."""
    encoder = Encoder(model_of(vocabulary, weights, "lstm-sp", "concat"), threads=1)
    long = ["Der Hund bellt. " * 1500, "Der Hund bellt."]
    steps = len(encoder.tokenizer(long[:1])[0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    vectors = encoder.encode(long)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    # Bytes of the input products: four gates, 64 rows.
    assert steps > 5000 and grown < steps * 64 * 4 * weights.shape[1] * 4 / 2
    assert (encoder.encode(long[1:])[0] == vectors[1]).all()
