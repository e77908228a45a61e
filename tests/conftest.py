"""What the tests share: a small text, a model of it made in a second, indexes of both sides."""

from __future__ import annotations

import io
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import sentencepiece

from miner.encoder import Encoder, Tokenizer
from miner.index import Index
from miner.model import Model

DATA = Path(__file__).parent / "data"
DIMENSION = 32

# The first call of a kernel compiles it, which no deadline allows for.
hypothesis.settings.register_profile("miner", deadline=None)
hypothesis.settings.load_profile("miner")


def sentences(language: str) -> list[str]:
    return (DATA / f"tiny.{language}").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="session")
def german_file() -> Path:
    """60 German sentences, one a line; line i translates line i of `english_file`."""
    return DATA / "tiny.de"


@pytest.fixture(scope="session")
def english_file() -> Path:
    return DATA / "tiny.en"


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
    tokenizer = Tokenizer(vocabulary)
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
def tiny_model(
    vocabulary: bytes, weights: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A model directory; tests must not change it (copy it first)."""
    path = tmp_path_factory.mktemp("model") / "tiny"
    Model(vocabulary, weights, threshold=1.05, training={"seed": 7}).save(path)
    return path


@pytest.fixture(scope="session")
def other_model(
    vocabulary: bytes, weights: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Another model of the same vocabulary and dimension."""
    path = tmp_path_factory.mktemp("model") / "other"
    Model(vocabulary, weights[:, ::-1].copy()).save(path)
    return path


@pytest.fixture(scope="session")
def encoder(tiny_model: Path) -> Encoder:
    return Encoder.load(tiny_model, threads=2)


@pytest.fixture(scope="session")
def indexes(
    encoder: Encoder,
    german_file: Path,
    english_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Index, Index]:
    """Indexes of the small text, German and English; tests must not change them."""
    place = tmp_path_factory.mktemp("indexes")
    return (
        Index.build(encoder, german_file, place / "de"),
        Index.build(encoder, english_file, place / "en"),
    )
