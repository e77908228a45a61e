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

# Shells start jobs in the background with interrupts ignored, which tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Runners in parallel give their processes a width, by which messages would be wrapped.
os.environ.pop("COLUMNS", None)

DIMENSION = 32

# The first call of a test reads models, which no deadline allows for.
hypothesis.settings.register_profile("miner", deadline=None)
hypothesis.settings.load_profile("miner")


# The tests start hundreds of processes, which would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Threads of OpenMP that wait for work sleep, as several processes share the cores. Otherwise they
# spin, and trainings of a few sentences take three times the CPU time.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Files that take long: begun last, they would leave all processes but one idle.
LONG = ("test_docs", "test_encoders", "test_reliability", "test_other_encoders")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first; the order within a file stays."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONG)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among modules and 5,000 tests: a sixth of the time of collecting them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# Files whose searches are those of users with little text. The probe of the engine of large corpora
# takes longer than such a search.
AS_USERS = ("test_docs", "test_demo", "test_benchmarks", "test_evaluate")


@pytest.fixture(autouse=True)
def as_large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches take the engine of large corpora, except in files that mine by commands alone."""
    if request.path.stem not in AS_USERS:
        monkeypatch.setattr(knn_search, "SMALL", 0)


# Names in the working directory that were there before, or that belong to tools.
_here = set(os.listdir())
_of_tools = re.compile(r"\..*|__pycache__")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Fail a test after which the working directory has a new file."""
    yield
    new = {name for name in os.listdir(item.config.invocation_params.dir) if name not in _here}
    if new := {name for name in new if not _of_tools.fullmatch(name)}:
        _here.update(new)  # told once
        pytest.fail(f"in the working directory: {', '.join(sorted(new))}; write below tmp_path")


@pytest.fixture(scope="session", autouse=True)
def opened_once() -> Iterator[None]:
    """The model that ships is opened and verified once in a process, not by each command.

    Its decoys, 140,000 sentences, are unpacked once.
    """
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
    """Nothing waits for the disk: no test cuts the power, and syncs would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def german_file() -> Path:
    """60 German sentences, one a line; line i translates line i of `english_file`."""
    return DATA / "tiny.de"


@pytest.fixture(scope="session")
def english_file() -> Path:
    return DATA / "tiny.en"


@pytest.fixture(scope="session")
def lone_file(german: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The German sentences, the last without its translation, so that a few decoys are matched."""
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
    """A serialised SentencePiece model of the small text."""
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
    """``(V, d) float16`` that find the translations of the small text, without any training.

    Random indexing: a pair has a random vector, a piece the sum over the pairs that it occurs in,
    so both sentences of a pair lean towards the vector of their pair.
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
    # A piece that the text does not use is still a piece.
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
    """The tiny model with a vocabulary for each side: the target's vectors run backwards."""
    path = tmp_path_factory.mktemp("model") / "separate"
    both = np.concatenate([weights, weights[:, ::-1]])
    Model.of_pieces(vocabulary, both, architecture=Architecture(separate=True)).save(path)
    return path


@pytest.fixture(scope="session")
def verifying_model(vocabulary, weights, tmp_path_factory):
    """The tiny model with a verifier that likes what matches, and decoys of shuffled words."""
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
    """The small model with a quality function that likes cosines and order, too."""
    model = Encoder.load(verifying_model).model
    weight = dict.fromkeys(FEATURES, 0.0) | {"cosine": 6.0, "order": 2.0, "length_ratio": -1.0}
    function = {"intercept": 0.0, "weight": weight, "mean": dict.fromkeys(FEATURES, 0.4)}
    path = tmp_path_factory.mktemp("model") / "knowing"
    dataclasses.replace(model, verifier={**(model.verifier or {}), NAME: function}).save(path)
    return path


def aligned_lexicon(tokenizer: PieceTokenizer) -> Lexicons:
    """Pieces that stand opposite each other in the small text, as the one table of a lexicon."""
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
    """Indexes of the small text by the model with a verifier; tests must not change them."""
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
    """Run a command; its exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def sides(verifying: tuple[Index, Index]) -> tuple[Path, Path]:
    return verifying[0].path, verifying[1].path
