"""miner.evaluation.evaluated_model: our models, precomputed vectors, and their sentences."""

import gzip
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.evaluated_models import made_up

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, MismatchError
from miner.evaluation.evaluated_model import (
    MinerModel,
    PrecomputedVectors,
    open_model,
    write_sentences,
)

TEXTS = ["Eins.", "zwei drei", '"vier"', "fünf\u2028sechs"]


def foreign(directory: Path, texts: list[str], vectors: np.ndarray, name: str = "npy") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "sentences.txt").write_text("".join(f"{text}\n" for text in texts))
    path = directory / f"vectors.{name}"
    if name == "npy":
        np.save(path, vectors)
    else:
        with h5py.File(path, "w") as file:
            file["embeddings"] = vectors
    return directory


@pytest.mark.parametrize("name", ["npy", "h5", "hdf5"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_vectors_are_looked_up(tmp_path: Path, name: str, dtype: type) -> None:
    """Vectors are found in any order, and normalised."""
    vectors = made_up(TEXTS)
    scaled = (vectors * np.array([[1], [2], [0.5], [10]])).astype(dtype)
    model = PrecomputedVectors(foreign(tmp_path / "laser", TEXTS, scaled, name))
    order = [2, 0, 3, 1, 2]
    found = model.encode([TEXTS[row] for row in order], "de")
    assert found.dtype == np.float32 and found.shape == (5, 16)
    np.testing.assert_allclose(found, vectors[order], atol=2e-3)
    # Vectors of length 1, up to their type's precision, are not rescaled.
    tolerance = max(1e-6, 2 * float(np.finfo(dtype).eps))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=tolerance)
    np.testing.assert_array_equal(model.encode(["zwei drei"], "de"), found[3:4])
    assert model.encode([], "en").shape == (0, 16)
    assert model.name == str(tmp_path / "laser")


def test_a_sentence_that_is_not_there(tmp_path: Path) -> None:
    model = PrecomputedVectors(foreign(tmp_path, TEXTS, made_up(TEXTS)))
    with pytest.raises(MismatchError, match=r"sentences.txt: has no sentence 'Acht.'; write"):
        model.encode(["Eins.", "Acht."], "de")


@pytest.mark.parametrize("rows", [3, 5, 0])
def test_unequal_numbers(tmp_path: Path, rows: int) -> None:
    vectors = np.ones((rows, 4), dtype=np.float32)
    with pytest.raises(MismatchError, match=rf"vectors.npy has {rows} vectors, .* 4 lines"):
        PrecomputedVectors(foreign(tmp_path, TEXTS, vectors))


def test_files_that_are_missing_or_malformed(tmp_path: Path) -> None:
    foreign(tmp_path, TEXTS, made_up(TEXTS))
    (tmp_path / "vectors.npy").write_bytes(b"no vectors")
    with pytest.raises(ArtifactError, match="vectors.npy: cannot be read as an array"):
        PrecomputedVectors(tmp_path)
    (tmp_path / "vectors.npy").unlink()
    with pytest.raises(ArtifactError, match=r": no vectors.npy; write the sentences with"):
        PrecomputedVectors(tmp_path)
    (tmp_path / "sentences.txt").unlink()
    with pytest.raises(ArtifactError, match=r": no sentences.txt; write the sentences with"):
        PrecomputedVectors(tmp_path)


def test_written_sentences_can_be_looked_up(tmp_path: Path) -> None:
    """Each sentence is written once, in order, with any characters at its end."""
    texts = ["b", "a", "", "b", " a", "a ", "x\r", "y\r\r", "x", "\ufeffa", " ", "z\x85", "a"]
    path = tmp_path / "made" / "sentences.txt.gz"
    path.parent.mkdir()
    distinct = write_sentences(iter(texts), path)
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.removesuffix("\n") for line in file]
    assert len(lines) == distinct == len(set(lines))
    assert lines[:4] == ["b", "a", " a", "a "] and "" not in lines
    np.save(path.parent / "vectors.npy", made_up(lines))
    model = open_model(str(path.parent))
    assert isinstance(model, PrecomputedVectors)
    assert model.encode(texts, "de").any(axis=1).tolist() == [bool(text.strip()) for text in texts]
    np.testing.assert_array_equal(model.encode(["a", "\ufeffa"], "de"), made_up(["a", "\ufeffa"]))


def test_separate_vocabularies_read_english_as_the_target(separate_model, tiny_model, german):
    model = MinerModel(str(separate_model))
    plain = Encoder.load(tiny_model).encode(german)
    np.testing.assert_allclose(model.encode(german, "de"), plain, atol=1e-3)
    # Target vectors have reversed dimensions.
    np.testing.assert_allclose(model.encode(german, "en"), plain[:, ::-1], atol=1e-3)
    assert [one.side for one in model.encoders] == ["source", "target"]
