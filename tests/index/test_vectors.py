"""miner.index.vectors: foreign vectors are complete or refused, and can be indexed."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.files import entries
from support.files import refused as refused_by
from support.indexes import saved, text

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, MismatchError
from miner.index import vectors
from miner.index.index import Index
from miner.index.vectors import open_vectors, unit_blocks

refused = partial(refused_by, open_vectors)
MATRIX = np.random.default_rng(0).normal(size=(10, 6)).astype(np.float32)


def units(array: np.ndarray, rows: Any = None) -> np.ndarray:
    rows = np.arange(len(array)) if rows is None else np.array(rows)
    return np.concatenate(list(unit_blocks(array, rows, "name")))


@pytest.mark.parametrize("suffix", [".h5", ".hdf5"])
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_hdf5_with_one_matrix(tmp_path: Path, suffix: str, compression: str | None) -> None:
    path = tmp_path / f"v{suffix}"
    with h5py.File(path, "w") as file:
        file.create_dataset("laser", data=MATRIX, compression=compression)
        file["count"] = [10]
        file.create_group("more")
    np.testing.assert_array_equal(open_vectors(path), MATRIX)


def test_hdf5_with_several(tmp_path: Path) -> None:
    path = tmp_path / "v.h5"
    with h5py.File(path, "w") as file:
        file["a"], file["b"] = MATRIX, MATRIX
    assert "embeddings" in refused(path)
    with h5py.File(path, "a") as file:
        file["embeddings"] = MATRIX + 1
    np.testing.assert_array_equal(open_vectors(path), MATRIX + 1)


def test_hdf5_with_none(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["count"] = [10]
    refused(tmp_path / "v.h5")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("v.raw", "<f4"), ("v", "<f4"), ("v.f32", "<f4"), ("v.f16", "<f2"), ("v.fp16", "<f2")],
)
def test_raw(tmp_path: Path, name: str, dtype: str) -> None:
    MATRIX.astype(dtype).tofile(tmp_path / name)
    array = open_vectors(tmp_path / name, 6)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, MATRIX.astype(dtype))
    (tmp_path / "none.raw").touch()
    assert open_vectors(tmp_path / "none.raw", 6).shape == (0, 6)


def test_raw_needs_its_dimension(tmp_path: Path) -> None:
    MATRIX.tofile(tmp_path / "v.raw")
    assert "--dim" in refused(tmp_path / "v.raw")


def test_raw_that_is_no_whole_number_of_vectors(tmp_path: Path) -> None:
    MATRIX.tofile(tmp_path / "v.raw")
    assert "240 bytes" in refused(tmp_path / "v.raw", 7)
    (tmp_path / "w.raw").write_bytes(b"\0" * 25)
    assert "25 bytes" in refused(tmp_path / "w.raw", 6)


@pytest.mark.parametrize("name", ["v.npy", "v.h5"])
def test_another_dimension_than_said(tmp_path: Path, name: str) -> None:
    assert "dimension 6" in refused(saved(tmp_path / name, MATRIX), 5)


@pytest.mark.parametrize(
    "array",
    [
        MATRIX[0],
        MATRIX[None],
        np.float32(3),
        MATRIX.astype(int),
        MATRIX.astype(complex),
        MATRIX.astype(">f4"),
        np.array([["a"]]),
        np.zeros((5, 0), np.float32),
        np.zeros((0, 1 << 17), np.float32),
    ],
)
def test_no_matrix_of_floats(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "v.npy", array)
    refused(tmp_path / "v.npy")


@pytest.mark.parametrize("name", ["v.npy", "v.h5", "v.raw"])
def test_a_missing_file(tmp_path: Path, name: str) -> None:
    refused(tmp_path / name, 6)


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 10), (1 << 32, 1 << 32), (0, 1 << 40), (5, 0)])
@pytest.mark.parametrize("how", [{}, {"chunks": (1, 64)}, {"chunks": (1, 64), "compression": 1}])
def test_hdf5_datasets_that_claim_too_much(tmp_path, shape, how):
    """They may claim 2^64 values in less than a megabyte."""
    with h5py.File(tmp_path / "v.h5", "w") as file:
        dataset = file.create_dataset("v", shape, "f4", **how if min(shape) else {})
        if dataset.chunks:
            with suppress(OSError):  # HDF5 refuses to write to the largest
                dataset[0, :64] = 1
    assert (tmp_path / "v.h5").stat().st_size < 1 << 20
    refused(tmp_path / "v.h5")


def test_a_compressed_dataset_larger_than_memory(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_dataset("v", data=np.zeros((5000, 100), np.float32), compression="gzip")
    assert open_vectors(tmp_path / "v.h5").shape == (5000, 100)
    monkeypatch.setattr(vectors, "free_memory", lambda: 10**6)
    assert "2,000,000 bytes of memory" in refused(tmp_path / "v.h5")


def test_a_dataset_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\0" * 96)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_dataset("v", (4, 6), "f4", external=[(str(tmp_path / "secret"), 0, 96)])
    assert "other files" in refused(tmp_path / "v.h5")


def test_rows_come_out_in_unit_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 3)
    expected = MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True)
    np.testing.assert_allclose(units(MATRIX), expected, atol=1e-6)
    np.testing.assert_allclose(units(MATRIX, [9, 2, 2, 0]), expected[[9, 2, 2, 0]], atol=1e-6)
    np.testing.assert_allclose(units(MATRIX * 1e-30), expected, atol=1e-6)
    np.testing.assert_allclose(units(MATRIX * 1e30), expected, atol=1e-6)
    np.testing.assert_allclose(units(MATRIX.astype(np.float16)), expected, atol=2e-3)
    array = np.zeros((2, 4), np.float32)
    array[0, 0] = 1 + 1e-6  # a little too long
    assert units(array)[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_unit_rows_stay_to_the_bit(dtype: Any) -> None:
    """Rows normalised in float32 by a model are not divided by the rounding of their length."""
    random = np.random.default_rng(1).normal(size=(500, 512)).astype(np.float32)
    length = np.linalg.norm(random, axis=1, keepdims=True)
    array = (random / length).astype(dtype)
    given = array.astype(np.float32)
    lengths = np.linalg.norm(given.astype(np.float64), axis=1, keepdims=True)
    divided = (given / lengths).astype(np.float32)
    assert np.count_nonzero((divided != given).any(axis=1)) > 10, "division would show"
    assert units(array).tobytes() == given.tobytes()


@pytest.mark.parametrize("size", [1e-300, 1e-60, 1e-30, 1e30, 1e60, 1e300])
def test_rows_of_extreme_length(size: float) -> None:
    rows = np.array([[3, 4], [0, 0], [-4, 3]], np.float64) * size
    np.testing.assert_allclose(units(rows), [[0.6, 0.8], [0, 0], [-0.8, 0.6]], rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_named(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 3)
    array = MATRIX.copy()
    array[7, 2] = array[8, 0] = value
    with pytest.raises(ArtifactError, match="name: vector 8 of 10"):
        units(array)
    assert len(units(array, range(7))) == 7, "a row that is not asked for does no harm"


def test_hdf5_of_strangers_is_read_or_refused(tmp_path: Path) -> None:
    """For any overwritten byte; h5py raises RuntimeError for some."""
    path = tmp_path / "v.h5"
    with h5py.File(path, "w") as file:
        file["embeddings"] = np.ones((12, 8), dtype=np.float32)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + b"\xff\x7f" + whole[place + 2 :])
        try:
            open_vectors(path)
        except ArtifactError as error:
            refused += str(path) in str(error)
    assert refused >= 20


VECTORS = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


@pytest.mark.parametrize("lines", [3, 5])
def test_vectors_that_are_too_many_or_too_few(tmp_path: Path, lines: int) -> None:
    corpus = text(tmp_path / "c", *"abcde"[:lines])
    with pytest.raises(MismatchError, match=f"4 vectors but .* {lines} lines"):
        Index.build_from_vectors(saved(tmp_path / "v.npy", VECTORS), corpus, tmp_path / "i")
    assert entries(tmp_path) == ["c", "v.npy"]


def test_foreign_vectors_take_no_text_of_ours(encoder: Encoder, tmp_path: Path) -> None:
    corpus = text(tmp_path / "c", *"abcd")
    index = Index.build_from_vectors(saved(tmp_path / "v.npy", VECTORS), corpus, tmp_path / "i")
    with pytest.raises(MismatchError, match="--embeddings"):
        index.add(encoder, corpus)


def test_vectors_appended(tmp_path: Path) -> None:
    """The extended index equals one of all text and vectors."""
    whole = text(tmp_path / "whole", "a", "", "c", "d", "e", "", "a")
    array = np.random.default_rng(3).normal(size=(7, 6)).astype(np.float32)
    wanted = Index.build_from_vectors(saved(tmp_path / "w.npy", array), whole, tmp_path / "w")
    first, more = text(tmp_path / "a", "a", "", "c"), text(tmp_path / "b", "d", "e", "", "a")
    index = Index.build_from_vectors(saved(tmp_path / "a.npy", array[:3]), first, tmp_path / "i")
    index = index.add_vectors(saved(tmp_path / "b.raw", array[3:]), more, dimension=6)
    np.testing.assert_array_equal(index.store.vectors, wanted.store.vectors)
    assert index.sentences(np.arange(5)) == wanted.sentences(np.arange(5))
    assert index.store.first.tolist() == wanted.store.first.tolist() == [0, 1, 2, 3, 0]
    assert index.ids(np.arange(5)) == [f"{first}:1", f"{first}:3", *(f"{more}:{i}" for i in "124")]
    assert index.distinct == 4 and index.fingerprint == wanted.fingerprint and index.verify()


def test_vectors_that_cannot_follow(encoder: Encoder, built: Index, tmp_path: Path) -> None:
    corpus = text(tmp_path / "c", *"abcd")
    good = saved(tmp_path / "v.npy", VECTORS)
    index = Index.build_from_vectors(good, corpus, tmp_path / "i")
    before = (index.path / "meta.json").read_bytes()
    bad = VECTORS.copy()
    bad[1, 1] = np.inf
    for place, given, lines, error, said in (
        (built, good, corpus, MismatchError, "without --embeddings"),
        (
            index,
            saved(tmp_path / "n.npy", VECTORS[:, :5]),
            corpus,
            MismatchError,
            "5 dimensions",
        ),
        (index, good, text(tmp_path / "s", "a"), MismatchError, "4 vectors but .* 1 line;"),
        (index, saved(tmp_path / "b.npy", bad), corpus, ArtifactError, "vector 2 of 4"),
    ):
        with pytest.raises(error, match=said):
            place.add_vectors(given, lines)
    assert (index.path / "meta.json").read_bytes() == before and len(Index.open(index.path)) == 4
