"""miner.index.index: flat and compressed indexes are built."""

import hashlib
import os
import time
from pathlib import Path

import numpy as np
import pytest
from support.files import entries
from support.indexes import everything, text

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, ResourceError
from miner.index import columns, faiss
from miner.index.columns import EMBEDDINGS, SENTENCES
from miner.index.directory import ANN, FLAT, META
from miner.index.index import Index


def test_build_and_open(encoder, german_file, german, tmp_path):
    built = Index.build(encoder, german_file, tmp_path / "de")
    opened = Index.open(tmp_path / "de")
    for index in (built, opened):
        assert len(index) == len(german)
        assert index.dimension == encoder.dimension
        assert index.fingerprint == encoder.fingerprint
        assert index.model_name == encoder.name
        assert index.factory == FLAT and index.ann() is None
        assert index.sentences(np.arange(len(german))) == german
        assert index.ids(np.array([0, 59, 3])) == ["1", "60", "4"]
        np.testing.assert_array_equal(
            index.store.vectors, encoder.encode(german).astype(np.float16)
        )
    (source,) = opened.sources
    data = german_file.read_bytes()
    assert source.path == str(german_file) and source.bytes == len(data)
    assert source.sha256 == hashlib.sha256(data).hexdigest()
    assert entries(tmp_path) == ["de"] and entries(tmp_path / "de") == [EMBEDDINGS, META, SENTENCES]


def test_every_line_is_accounted_for(encoder: Encoder, tmp_path: Path) -> None:
    corpus = tmp_path / "c"
    corpus.write_bytes(b"Der Hund\n\n  \nDer Hund\n\xff\nzwei\r\n\xe6\x97\xa5\n")
    index = Index.build(encoder, corpus, tmp_path / "i", on_error="skip")
    (source,) = index.sources
    assert (source.records, source.empty, source.undecodable) == (7, 2, 1)
    assert source.records == len(index) + source.empty + source.undecodable
    assert index.meta["sentences"] == len(index) == 4
    assert index.meta["distinct"] == len(index.store.distinct()) == 2
    assert index.store.line.tolist() == [1, 4, 6, 7], "empty lines keep their numbers"
    assert index.store.first.tolist() == [0, 0, 2, 3]
    assert index.sentences(np.array([2])) == ["zwei"]


@pytest.mark.parametrize("factory", ["IVF2,Flat", "SQ8", "HNSW8"])
def test_a_compressed_index_of_no_sentences(encoder: Encoder, tmp_path: Path, factory: str) -> None:
    """FAISS builds some kinds without text; the others are refused in one line."""
    (tmp_path / "c").touch()
    try:
        index = Index.build(encoder, tmp_path / "c", tmp_path / "i", index=factory)
    except ResourceError as error:
        assert "--index flat" in str(error)
        assert entries(tmp_path) == ["c", "i.work"]
    else:
        assert index.ann().ntotal == 0


def test_the_index_does_not_depend_on_blocks(encoder, indexes, german_file, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "BLOCK", 7)
    again = Index.build(encoder, german_file, tmp_path / "i", block=11)
    assert everything(again) == everything(indexes[0])


def test_an_index_built_twice_has_the_same_bytes(encoder, german_file, tmp_path):
    """HDF5 could store the creation time, so the second build starts in a later second."""
    made = []
    for name in ("one", "two"):
        path = Path(Index.build(encoder, german_file, tmp_path / name).path)
        made.append({file.name: file.read_bytes() for file in path.iterdir()})
        time.sleep(1 - time.time() % 1)
    assert made[0] == made[1]


@pytest.mark.parametrize("factory", ["IVF2,Flat", "SQ8", "HNSW8"])
def test_a_compressed_index_holds_the_distinct_rows(encoder, german, tmp_path, factory):
    corpus = text(tmp_path / "c", *german, german[0], "日本")
    index = Index.build(encoder, corpus, tmp_path / "i", index=factory)
    assert index.factory == Index.open(tmp_path / "i").factory == factory
    assert index.ann().ntotal == index.meta["distinct"] == len(german)
    os.truncate(tmp_path / "i" / ANN, 40)
    with pytest.raises(ArtifactError, match=ANN):
        index.ann()


@pytest.mark.parametrize("factory", ["nonsense", "IVF", "", "PQ5"])
def test_a_factory_that_faiss_does_not_know(encoder, german_file, tmp_path, factory):
    with pytest.raises((ArtifactError, ResourceError), match="--index"):
        Index.build(encoder, german_file, tmp_path / "i", index=factory)
    assert entries(tmp_path) == []


def test_too_few_sentences_to_train_on(encoder: Encoder, german_file: Path, tmp_path: Path) -> None:
    """The vectors are kept for a flat index."""
    with pytest.raises(ResourceError, match="60 sentences.*--index flat"):
        Index.build(encoder, german_file, tmp_path / "i", index="IVF100,Flat")
    assert entries(tmp_path) == ["i.work"]
    seen: list[str] = []
    Index.build(encoder, german_file, tmp_path / "i", report=lambda stage, *_: seen.append(stage))
    assert entries(tmp_path) == ["i"] and "encoding" not in seen


def test_no_space_for_the_faiss_index(encoder, german_file, tmp_path, monkeypatch):
    library = faiss.faiss()

    def full(*_: object) -> None:
        raise RuntimeError("Error in void write(): Error: 'ret == 1' failed: write error: No space")

    monkeypatch.setattr(library, "write_index", full)
    with pytest.raises(ResourceError, match="No space"):
        Index.build(encoder, german_file, tmp_path / "i", index="SQ8")
    assert entries(tmp_path) == ["i.work"]


def test_an_inverted_index_looks_into_more_than_one_list(tmp_path: Path) -> None:
    """FAISS's default of one probed list would miss most neighbours."""
    vectors = np.random.default_rng(3).normal(size=(3000, 16)).astype(np.float16)
    faiss.build(tmp_path / "ivf", vectors, np.arange(3000), "IVF32,Flat")
    queries = vectors[:200].astype(np.float32)
    _, found = faiss.read(tmp_path / "ivf").search(queries, 5)
    _, exact = faiss.flat_search(queries, vectors.astype(np.float32), 5)
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, exact, strict=True)])
    assert recall > 0.8
