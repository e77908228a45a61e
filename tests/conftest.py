"""Fixtures of all tests: a small text, a model of it made in a second, indexes of both sides."""

import dataclasses
import gc
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import hypothesis
import numpy as np
import pytest
import sentencepiece
from support.downloads import get, server, unchecked  # noqa: F401 (fixtures)
from support.mined_corpus import Corpus
from support.near_copies import DATA, sentences

from miner.cli import main
from miner.encoder import decoy_file
from miner.encoder import encoder as encoders
from miner.encoder import model as models
from miner.encoder.architecture import Architecture
from miner.encoder.encoder import Encoder
from miner.encoder.lexicons import UNKNOWN, Lexicons, TranslationTable
from miner.encoder.model import Model
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.tokenizer import Tokenizer
from miner.index.index import Index
from miner.knn import knn_search
from miner.scoring.quality import FEATURES, NAME

# Background jobs of shells ignore interrupts, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Parallel runners set a terminal width, by which messages would be wrapped.
os.environ.pop("COLUMNS", None)

DIMENSION = 32

# The first call loads models, which exceeds any deadline. `make test` tries fewer examples, drawn
# anew in each run, than `make ci`.
hypothesis.settings.register_profile("miner", deadline=None, max_examples=40)
hypothesis.settings.register_profile("ci", deadline=None)
# For `make fuzz`: about an hour of two cores.
hypothesis.settings.register_profile("fuzz", deadline=None, max_examples=20_000)
hypothesis.settings.load_profile("miner")


# Hundreds of child processes would otherwise compile every module again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# OpenMP threads sleep while they wait, because several processes share the cores. Spinning threads
# triple the CPU time of small trainings.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Slow files, which start first: started last, they would leave other processes idle.
LONG = ("test_docs", "test_encoders", "test_reliability", "test_other_encoders")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow files first; the order within a file is unchanged."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Disable garbage collection while tests are collected, which saves a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# Files whose searches are those of users with little text. Probing the engine for large corpora
# takes longer than such a search.
AS_USERS = ("test_docs", "test_demo", "test_benchmarks", "test_evaluate")


@pytest.fixture(autouse=True)
def as_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search by the engine for large corpora, except in files that test whole commands."""
    if request.path.stem not in AS_USERS:
        monkeypatch.setattr(knn_search, "SMALL", 0)


# Names in the working directory that existed before, or belong to tools.
_here = set(os.listdir())
_of_tools = re.compile(r"\..*|__pycache__")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test that leaves a new file in the working directory."""
    yield
    new = {name for name in os.listdir(item.config.invocation_params.dir) if name not in _here}
    if new := {name for name in new if not _of_tools.fullmatch(name)}:
        _here.update(new)  # reported once
        pytest.fail(f"in the working directory: {', '.join(sorted(new))}; write below tmp_path")


@pytest.fixture(scope="session", autouse=True)
def opened_once() -> Iterator[None]:
    """Open the shipped model and its 140,000 decoys once per process, not once per command."""
    load, open_tokenizer, shipped = models.load, encoders._tokenizer, models.resolve("default")
    unpack = decoy_file.unpack
    model = cache(lambda: load(shipped))
    tokenizer = cache(lambda units, side: open_tokenizer(model(), units, side))

    def load_once(path: str | Path = "default") -> Model:
        return model() if models.resolve(path) == shipped else load(path)

    def tokenizer_once(of: Model, units: str, side: str | None) -> Tokenizer:
        if of.path == shipped and of is model():
            return tokenizer(units, side)
        return open_tokenizer(of, units, side)

    @cache
    def unpack_once(*call: Any) -> Mapping[str, Sequence[str]]:
        return MappingProxyType({code: tuple(own) for code, own in unpack(*call).items()})

    def decoys_once(data: bytes, name: str, *rest: Any) -> Mapping[str, Sequence[str]]:
        shared = name == str(shipped / models.DECOYS)
        return (unpack_once if shared else unpack)(data, name, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "load", load_once)
        patch.setattr(decoy_file, "unpack", decoys_once)
        patch.setattr(encoders, "_tokenizer", tokenizer_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Iterator[None]:
    """Disable syncs, which would take most of the time and matter only in a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def german_file() -> Path:
    """Write 60 German sentences, one per line; line i translates line i of `english_file`."""
    return DATA / "tiny.de"


@pytest.fixture(scope="session")
def english_file() -> Path:
    return DATA / "tiny.en"


@pytest.fixture(scope="session")
def lone_file(german: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the German sentences, the last without its translation, so that some decoys match."""
    path = tmp_path_factory.mktemp("lone") / "tiny.de"
    path.write_text("\n".join([*german[:-1], "Briefmarken und Tee."]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def german() -> list[str]:
    return sentences("de")


@pytest.fixture(scope="session")
def english() -> list[str]:
    return sentences("en")


@pytest.fixture(scope="session")
def vocabulary() -> bytes:
    """Return a serialised SentencePiece model of the small text."""
    proto = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences("de") + sentences("en")),
        model_writer=proto,
        vocab_size=420,
        model_type="unigram",
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=-1,
        num_threads=1,
        minloglevel=2,
    )
    return proto.getvalue()


@pytest.fixture(scope="session")
def weights(vocabulary: bytes) -> np.ndarray:
    """Return embeddings ``(V, d) float16`` that find the translations of the small text.

    Random indexing instead of training: each pair has a random vector, each piece the sum of the
    vectors of its pairs, so that both sides of a pair lean towards its vector.
    """
    generator = np.random.default_rng(7)
    tokenizer = PieceTokenizer(vocabulary)
    table = np.zeros((tokenizer.size, DIMENSION))
    count = np.zeros(tokenizer.size)
    for german, english in zip(sentences("de"), sentences("en"), strict=True):
        pair = generator.normal(size=DIMENSION)
        for sentence in (german, english):
            pieces = np.unique(tokenizer([sentence])[0])
            table[pieces] += pair
            count[pieces] += 1
    table /= np.maximum(count, 1)[:, None] ** 1.5
    # Unused pieces need a vector as well.
    unused = count == 0
    table[unused] = 0.1 * generator.normal(size=(unused.sum(), DIMENSION))
    return table.astype(np.float16)


@pytest.fixture(scope="session")
def tiny_model(vocabulary, weights, tmp_path_factory):
    """A model directory; tests must not change it (copy it first)."""
    path = tmp_path_factory.mktemp("model") / "tiny"
    Model.of_pieces(vocabulary, weights, threshold=1.05, training={"seed": 7}).save(path)
    return path


@pytest.fixture(scope="session")
def other_model(vocabulary, weights, tmp_path_factory):
    """Another model of the same vocabulary and dimension."""
    path = tmp_path_factory.mktemp("model") / "other"
    Model.of_pieces(vocabulary, weights[:, ::-1].copy()).save(path)
    return path


@pytest.fixture(scope="session")
def separate_model(vocabulary, weights, tmp_path_factory):
    """Return the tiny model with separate vocabularies: target vectors are reversed."""
    path = tmp_path_factory.mktemp("model") / "separate"
    both = np.concatenate([weights, weights[:, ::-1]])
    Model.of_pieces(vocabulary, both, architecture=Architecture(separate=True)).save(path)
    return path


@pytest.fixture(scope="session")
def verifying_model(vocabulary, weights, tmp_path_factory):
    """Return the tiny model with a verifier that rewards matches, and decoys of shuffled words."""
    from miner.scoring.context_features import CONTEXT_FEATURES
    from miner.scoring.pair_features import PAIR_FEATURES

    tokenizer = PieceTokenizer(vocabulary)
    likes = {"alignment": 8.0, "translated": 4.0, "length_ratio": -1.0, "numbers_differ": -1.0}
    leads = {"alone": 0.5, "lead_min": 0.5, "gap_min": 2.0, "rank": -0.5}
    means = {"alignment": 0.8, "translated": 0.5}
    verifier = {
        name: {
            "intercept": 1.0,
            "weight": {feature: weight.get(feature, 0.0) for feature in features},
            "mean": {feature: means.get(feature, 0.0) for feature in features},
        }
        for name, features, weight in (
            ("alone", PAIR_FEATURES, likes),
            ("among", CONTEXT_FEATURES, leads),
        )
    }
    generator = np.random.default_rng(11)
    words = " ".join(sentences("en")).split()
    decoys = [" ".join(generator.choice(words, generator.integers(4, 12))) for _ in range(700)]
    path = tmp_path_factory.mktemp("model") / "verifying"
    Model.of_pieces(
        vocabulary,
        weights,
        threshold=1.05,
        verifier=verifier,
        lexicons=aligned_lexicon(tokenizer),
        decoys={"": decoys},
    ).save(path)
    return path


@pytest.fixture(scope="session")
def knowing_model(verifying_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the small model with a quality function of cosine and word order."""
    model = Encoder.load(verifying_model).model
    weight = dict.fromkeys(FEATURES, 0.0) | {"cosine": 6.0, "order": 2.0, "length_ratio": -1.0}
    function = {"intercept": 0.0, "weight": weight, "mean": dict.fromkeys(FEATURES, 0.4)}
    path = tmp_path_factory.mktemp("model") / "knowing"
    dataclasses.replace(model, verifier={**(model.verifier or {}), NAME: function}).save(path)
    return path


def aligned_lexicon(tokenizer: PieceTokenizer) -> Lexicons:
    """Return a lexicon with one table: pieces at the same positions of the small text."""
    table = np.zeros((tokenizer.size, tokenizer.size))
    for german, english in zip(sentences("de"), sentences("en"), strict=True):
        left, right = (np.unique(tokenizer([side])[0]) for side in (german, english))
        table[np.ix_(left, right)] += 1
        table[np.ix_(right, left)] += 1
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1)
    row, column = np.nonzero(table > 0.05)
    offsets = np.zeros(tokenizer.size + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=tokenizer.size), out=offsets[1:])
    count = np.ones(tokenizer.size, dtype=np.float32)
    probability = table[row, column].astype(np.float32)
    one = TranslationTable(offsets, column.astype(np.int32), probability, count)
    return Lexicons({(UNKNOWN, UNKNOWN): one})


@pytest.fixture(scope="session")
def verifying(verifying_model, lone_file, english_file, tmp_path_factory):
    """Build indexes of the small text by the verifying model; tests must not change them."""
    place = tmp_path_factory.mktemp("verifying")
    return both_sides(Encoder.load(verifying_model, threads=2), lone_file, english_file, place)


def both_sides(encoder: Encoder, german: Path, english: Path, place: Path) -> tuple[Index, Index]:
    """Indexes of the two files, ``de`` and ``en`` in ``place``."""
    return (
        Index.build(encoder, german, place / "de"),
        Index.build(encoder, english, place / "en"),
    )


@pytest.fixture(scope="session")
def encoder(tiny_model: Path) -> Encoder:
    return Encoder.load(tiny_model, threads=2)


@pytest.fixture(scope="session")
def indexes(encoder, german_file, english_file, tmp_path_factory):
    """Indexes of the small text, German and English; tests must not change them."""
    return both_sides(encoder, german_file, english_file, tmp_path_factory.mktemp("indexes"))


@pytest.fixture(scope="session")
def corpus(verifying_model, german, english, tmp_path_factory):
    """Texts of several files, with repeats, empty lines, and a file without lines."""
    place = tmp_path_factory.mktemp("corpus")
    parts = {
        "a.de": german[:20], "b.de": ["", *german[20:], german[3], "Unbekannt 漢字"], "c.de": [],
        "a.en": [*english[40:], english[50].upper()], "b.en": [*english[:40], english[0]],
    }  # fmt: skip
    for name, lines in parts.items():
        (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    texts = [str(place / name) for name in parts]
    return Corpus((texts[:3], texts[3:]), Encoder.load(verifying_model, threads=2))


@pytest.fixture
def miner(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a runner of commands: exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def miner_command(miner: Callable[..., tuple[int, str, str]]) -> Callable[..., str]:
    """Return a runner of commands that must succeed, on one thread; it returns standard error."""

    def run(*arguments: object) -> str:
        code, _, err = miner(*arguments, "--threads", 1)
        assert code == 0, err
        return err

    return run


@pytest.fixture
def sides(verifying: tuple[Index, Index]) -> tuple[Path, Path]:
    return verifying[0].path, verifying[1].path
