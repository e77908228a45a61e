"""miner.encoder.model: saved models load unchanged, and damaged ones are refused."""

import hashlib
import io
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.files import entries
from support.files import refused as refused_by

from miner.encoder import decoy_file, lexicon_file, model_files
from miner.encoder.architecture import VOCABULARIES
from miner.encoder.encoder import Encoder
from miner.encoder.model import Model, converted, load
from miner.encoder.model_files import CONFIG, SCALES, WEIGHTS
from miner.encoder.part import quantise
from miner.errors import ArtifactError

refused = partial(refused_by, load)
SPM = VOCABULARIES["piece"]


@pytest.fixture
def copied(tiny_model: Path, tmp_path: Path) -> Path:
    """Copy the model, so that a test may damage it."""
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    config = json.loads((path / CONFIG).read_text())
    edit(config)
    (path / CONFIG).write_text(json.dumps(config))


def rehash(path: Path) -> None:
    """Update the configuration's checksums of changed files, as a forger would."""

    def edit(config: dict[str, Any]) -> None:
        for name in config["files"]:
            config["files"][name] = hashlib.sha256((path / name).read_bytes()).hexdigest()
        config["fingerprint"] = model_files.fingerprint_of(config["files"])

    change(path, edit)


def test_float16_round_trip(vocabulary: bytes, weights: np.ndarray, tmp_path: Path) -> None:
    saved = Model.of_pieces(vocabulary, weights, threshold=1.25, training={"seed": 3}).save(
        tmp_path / "m"
    )
    loaded = load(tmp_path / "m")
    for model in (saved, loaded):
        assert model.parts[0].weights.dtype == np.float16
        np.testing.assert_array_equal(model.parts[0].weights, weights)
        assert model.vocabularies["sp.model"] == vocabulary
        assert model.parts[0].scales is None
        assert model.threshold == 1.25
        assert model.training == {"seed": 3}
        assert model.dimension == weights.shape[1]
        assert model.path == tmp_path / "m"
    assert loaded.fingerprint == saved.fingerprint != ""
    table = loaded.parts[0].table()
    assert table.dtype == np.float32 and table.flags.c_contiguous
    np.testing.assert_array_equal(table, weights.astype(np.float32))


def test_int4_round_trip(vocabulary: bytes, weights: np.ndarray, tmp_path: Path) -> None:
    """An even-dimensional model is converted, reopened, and encodes by its new table."""
    model = Model.of_pieces(vocabulary, weights[:, :6], training={"config": {"dtype": "float16"}})
    saved = converted(model, "int4").save(tmp_path / "m")
    (part,) = saved.parts
    assert (part.dtype, part.dimension, saved.dimension) == ("int4", 6, 6)
    assert part.weights.shape == (len(weights), 3) and part.weights.dtype == np.uint8
    assert saved.training == {"config": {"dtype": "int4"}}
    assert saved.describe().endswith("6 dimensions, int4")
    assert saved.parameters == 6 * np.any(part.table(), axis=1).sum()
    step = part.scales[:, None]
    assert (np.abs(part.table() - weights[:, :6].astype(np.float32)) <= 3.6 * step + 1e-9).all()
    again = converted(converted(saved, "float32"), "int8").parts[0].table()
    np.testing.assert_allclose(again, part.table(), atol=float(step.max()) * 7 / 127)
    change(tmp_path / "m", lambda config: config.update(dimension=3))
    assert "shape (" in refused(tmp_path / "m")


def test_an_odd_dimension_cannot_be_stored_in_pairs(vocabulary: bytes, weights: np.ndarray) -> None:
    with pytest.raises(ArtifactError, match="odd number of dimensions; convert to int8"):
        converted(Model.of_pieces(vocabulary, weights[:, :5]), "int4")


def test_weights_open_by_memory_map(tiny_model: Path) -> None:
    assert isinstance(load(tiny_model).parts[0].weights, np.memmap)


def test_the_table_of_a_loaded_model_is_a_copy(tiny_model: Path) -> None:
    model = load(tiny_model)
    model.parts[0].table()[:] = 0
    assert np.any(model.parts[0].weights)


def test_fingerprint_follows_the_vectors(vocabulary, weights, tiny_model, tmp_path):
    original = load(tiny_model).fingerprint
    again = Model.of_pieces(vocabulary, weights, threshold=9, training={"seed": 8}).save(
        tmp_path / "a"
    )
    assert again.fingerprint == original, "threshold and training make no other vectors"
    changed = weights.copy()
    changed[-1, -1] += 1
    assert Model.of_pieces(vocabulary, changed).save(tmp_path / "b").fingerprint != original
    assert (
        Model.of_pieces(vocabulary, *quantise(changed)).save(tmp_path / "c").fingerprint != original
    )


def test_default_is_the_model_that_ships(monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> None:
    monkeypatch.setattr(model_files, "DEFAULT", tiny_model)
    assert load("default").path == tiny_model
    assert load().fingerprint == load(tiny_model).fingerprint


def flip(data: bytes) -> bytes:
    """Alter a byte in the middle."""
    half = len(data) // 2
    return data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]


FILES = [SPM, WEIGHTS]
# Changes to a file's bytes and to the configuration, with a word of the error message.
DAMAGED: list[tuple[str, Callable[[bytes], bytes], str]] = [
    *((name, lambda data, keep=keep: data[: int(len(data) * keep)], name)
      for name in FILES for keep in (0.0, 0.5, 0.999)),
    *((name, flip, name) for name in FILES),
    *((CONFIG, lambda data, text=text: text.encode(), CONFIG)
      for text in ("", "{", "[]", "null", '"text"', "3", "{}", '{"format": "other"}', "\ufffd",
                   "[" * 10_000)),
    (CONFIG, lambda data: b'{"format": "\xff"}', CONFIG),
]  # fmt: skip
CHANGED: list[tuple[dict[str, Any], str]] = [
    *(({"version": version}, "version") for version in (0, 2, "1.0", None, [1])),
    *(({"files": files}, "") for files in ([], "text", 3, None, {}, dict.fromkeys(FILES, 1))),
    *(({"pieces": pieces}, "") for pieces in (3, "many")),
    ({"dimension": 31}, ""),
    ({"fingerprint": "0" * 16}, ""),
]


@pytest.mark.parametrize(("name", "damage", "word"), DAMAGED)
def test_a_damaged_file(copied: Path, name: str, damage: Callable[[bytes], bytes], word: str):
    (copied / name).write_bytes(damage((copied / name).read_bytes()))
    assert word in refused(copied)


@pytest.mark.parametrize("name", [CONFIG, *FILES])
def test_a_missing_file(copied: Path, name: str) -> None:
    (copied / name).unlink()
    assert name in refused(copied)


def test_a_missing_directory(tmp_path: Path) -> None:
    assert "miner train" in refused(tmp_path / "none")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file")


@pytest.mark.parametrize(("values", "word"), CHANGED)
def test_a_configuration_that_disagrees_with_its_files(copied, values, word):
    change(copied, lambda config: config.update(values))
    assert word in refused(copied)


@pytest.mark.parametrize("key", ["files", "fingerprint", "pieces", "dimension"])
def test_a_configuration_that_lacks_a_key(copied: Path, key: str) -> None:
    change(copied, lambda config: config.pop(key))
    assert key in refused(copied)


def test_a_file_elsewhere_is_never_looked_at(copied: Path) -> None:
    change(copied, lambda config: config["files"].update({"../../outside": "0" * 64}))
    assert "unknown file" in refused(copied)


def test_embeddings_of_another_vocabulary(copied: Path, weights: np.ndarray) -> None:
    np.save(copied / WEIGHTS, weights[:-1])
    change(copied, lambda config: config.update(pieces=len(weights) - 1))
    rehash(copied)
    with pytest.raises(ArtifactError, match="different models"):
        Encoder.load(copied)


def test_a_vocabulary_that_is_none(copied: Path) -> None:
    (copied / SPM).write_bytes(b"no SentencePiece model")
    rehash(copied)
    with pytest.raises(ArtifactError, match="not a SentencePiece model"):
        Encoder.load(copied)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(np.int32, WEIGHTS), (np.float64, WEIGHTS), (np.complex64, WEIGHTS), ("S4", WEIGHTS),
     (np.int8, SCALES)],
)  # fmt: skip
def test_weights_of_a_wrong_type(copied: Path, weights: np.ndarray, dtype: Any, name: str) -> None:
    """int8 weights without scales are refused."""
    np.save(copied / WEIGHTS, np.ones(weights.shape, dtype))
    rehash(copied)
    assert name in refused(copied)


@pytest.mark.parametrize("kind", [np.int8, np.float16])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_make_no_vectors(copied, weights, kind, value):
    own = weights.astype(kind)
    scales = np.ones(len(own), np.float32)
    (scales if kind == np.int8 else own[:, 0])[3] = value
    np.save(copied / WEIGHTS, own)
    np.save(copied / SCALES, scales)
    change(copied, lambda config: config["files"].setdefault(SCALES, ""))
    rehash(copied)
    assert "has NaN, infinity or a number beyond" in refused(copied)


def test_save_replaces_a_model_whole(vocabulary: bytes, weights: np.ndarray, copied: Path) -> None:
    Model.of_pieces(vocabulary, *quantise(weights.astype(np.float32))).save(copied)
    Model.of_pieces(vocabulary, weights).save(copied)
    assert entries(copied) == [CONFIG, SPM, WEIGHTS], "no scales of the model before"
    assert entries(copied.parent) == ["model"]


def test_a_loaded_model_can_be_saved_over_itself(copied: Path) -> None:
    before = load(copied)
    assert before.save(copied).fingerprint == before.fingerprint


def test_arrays_that_claim_petabytes(tmp_path: Path) -> None:
    """numpy does not check the headers of arrays in archives against the file size."""
    header = io.BytesIO()
    claim = {"descr": "<i8", "fortran_order": False, "shape": (1 << 50,)}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("offsets.npy", header.getvalue() + bytes(80))
    with pytest.raises(ArtifactError, match="not a network"):
        model_files.read_arrays(tmp_path / "a.npz", "a network")
    for name in ("frequency", "size"):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr(f"{name}.npy", header.getvalue() + bytes(80))
        with pytest.raises(ArtifactError, match="a.npz: not a lexicon"):
            lexicon_file.from_bytes((tmp_path / "a.npz").read_bytes(), "a.npz")


def test_archives_that_unpack_to_gigabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are compared before the archive is unpacked."""
    monkeypatch.setattr("miner.arrays.LARGEST", 1000)
    monkeypatch.setattr(decoy_file, "LARGEST", 1 << 20)
    monkeypatch.setattr(decoy_file, "_FILTERS", [{"id": lzma.FILTER_LZMA2, "preset": 0}])
    path = tmp_path / "a.npz"
    np.savez_compressed(path, size=np.zeros(1000, np.uint8))
    with pytest.raises(ArtifactError, match="not a network .it unpacks to more than"):
        model_files.read_arrays(path, "a network")
    with pytest.raises(ArtifactError, match="not a lexicon .it unpacks to more than"):
        lexicon_file.from_bytes(path.read_bytes(), "a.npz")
    small, large = (decoy_file.pack({"de": ["a" * size]}) for size in (9, 1 << 20))
    assert decoy_file.unpack(small, "decoys") == {"de": ["a" * 9]}
    for data in (large, small[:-9]):
        with pytest.raises(ArtifactError, match="decoys: no decoys .*; copy the model again"):
            decoy_file.unpack(data, "decoys")
