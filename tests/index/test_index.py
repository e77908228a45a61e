"""miner.index.index: indexes are built, extended, opened, and refused if damaged.

Building, adding, foreign vectors and damage share fixtures, so their lines stay together.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from support.indexes import without_checksums

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, CorpusError, MismatchError, ResourceError
from miner.index import faiss, store
from miner.index.index import ANN, FLAT, META, Index
from miner.index.store import EMBEDDINGS, IDS, SENTENCES
from miner.mining.search import search

VECTORS = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


@pytest.fixture
def built(indexes: tuple[Index, Index], tmp_path: Path) -> Index:
    """Copy of the German index that a test may change."""
    return Index.open(shutil.copytree(indexes[0].path, tmp_path / "index"))


def text(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def everything(index: Index) -> dict[str, list[Any]]:
    """Return all rows of an index."""
    rows = np.arange(len(index))
    return {
        "ids": index.ids(rows),
        "sentences": index.sentences(rows),
        "vectors": index.store.vectors.tolist(),
        "line": index.store.line.tolist(),
        "file": index.store.file.tolist(),
        "first": index.store.first.tolist(),
        "distinct": index.store.distinct().tolist(),
    }


def entries(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def refused(path: Path) -> str:
    with pytest.raises(ArtifactError) as caught:
        Index.open(path)
    text = str(caught.value)
    assert "\n" not in text and str(path) in text
    return text


# --- building -----------------------------------------------------------------------------------


def test_build_and_open(
    encoder: Encoder, german_file: Path, german: list[str], tmp_path: Path
) -> None:
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


def test_ids_of_bucc(encoder: Encoder, tmp_path: Path) -> None:
    corpus = text(tmp_path / "c", "de-1\tDer Hund", "", "de-3\tDie Katze", "de-4\t ")
    index = Index.build(encoder, corpus, tmp_path / "i", format="bucc")
    assert index.ids(np.array([1, 0])) == ["de-3", "de-1"]
    assert index.sentences(np.array([0, 1])) == ["Der Hund", "Die Katze"]
    assert index.sources[0].empty == 2


def test_ids_of_jsonl(encoder: Encoder, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"text": "Der Hund", "id": 17},
        {"text": "Die\nKatze\t!", "id": "b"},
        {"text": "ohne"},
    ]
    corpus = text(tmp_path / "c.jsonl", *map(json.dumps, records))
    index = Index.build(encoder, corpus, tmp_path / "i")
    assert index.ids(np.arange(3)) == ["17", "b", "3"]
    assert index.sentences(np.arange(3)) == ["Der Hund", "Die Katze !", "ohne"]
    vectors = encoder.encode(["Die Katze !"]).astype(np.float16)
    np.testing.assert_array_equal(index.store.vectors[1:2], vectors)


def test_ids_of_a_compressed_tsv(encoder: Encoder, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "c.tsv.gz", "wt") as file:
        file.write("name\tsatz\nx\teins\ny\tzwei\n")
    index = Index.build(
        encoder, tmp_path / "c.tsv.gz", tmp_path / "i", header=True, column="satz", id_column="name"
    )
    assert index.ids(np.arange(2)) == ["x", "y"]
    assert index.store.line.tolist() == [2, 3]


def test_ids_of_several_files_name_the_file(encoder: Encoder, tmp_path: Path) -> None:
    a, b = text(tmp_path / "a", "eins", "", "drei"), text(tmp_path / "b", "eins", "zwei")
    index = Index.build(encoder, [a, b], tmp_path / "i")
    assert index.ids(np.arange(4)) == [f"{a}:1", f"{a}:3", f"{b}:1", f"{b}:2"]
    assert index.store.file.tolist() == [0, 0, 1, 1]
    assert index.store.first.tolist() == [0, 1, 0, 3]
    assert [source.records for source in index.sources] == [3, 2]


def test_standard_input(
    encoder: Encoder, german: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO("\n".join(german).encode())))
    monkeypatch.setattr(sys, "stdin", stream)
    index = Index.build(encoder, "-", tmp_path / "i")
    assert index.sentences(np.arange(60)) == german
    assert (index.sources[0].path, index.sources[0].sha256) == ("-", None)


@pytest.mark.parametrize("content", ["", "\n\n \n"])
def test_a_corpus_without_sentences(encoder: Encoder, tmp_path: Path, content: str) -> None:
    (tmp_path / "c").write_text(content)
    index = Index.build(encoder, tmp_path / "c", tmp_path / "i")
    assert len(index) == 0 and index.store.vectors.shape == (0, encoder.dimension)
    assert index.sources[0].records == index.sources[0].empty == content.count("\n")
    assert everything(index)["ids"] == []


@pytest.mark.parametrize("factory", ["IVF2,Flat", "SQ8", "HNSW8"])
def test_a_compressed_index_of_no_sentences(encoder: Encoder, tmp_path: Path, factory: str) -> None:
    """FAISS can build some kinds without text; others are refused in one line."""
    (tmp_path / "c").touch()
    try:
        index = Index.build(encoder, tmp_path / "c", tmp_path / "i", index=factory)
    except ResourceError as error:
        assert "--index flat" in str(error) and "\n" not in str(error)
        assert entries(tmp_path) == ["c"]
    else:
        assert index.ann().ntotal == 0


def test_the_index_does_not_depend_on_blocks(
    encoder: Encoder,
    indexes: tuple[Index, Index],
    german_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "BLOCK", 7)
    again = Index.build(encoder, german_file, tmp_path / "i", block=11)
    assert everything(again) == everything(indexes[0])


def test_progress_is_reported(encoder: Encoder, german_file: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    Index.build(encoder, german_file, tmp_path / "i", report=lambda *step: seen.append(step))
    assert (f"reading {german_file}", 60, None) in seen
    assert seen[-1] == ("encoding", 60, 60)


# --- compressed ---------------------------------------------------------------------------------


@pytest.mark.parametrize("factory", ["IVF2,Flat", "SQ8", "HNSW8"])
def test_a_compressed_index_holds_the_distinct_rows(
    encoder: Encoder, german: list[str], tmp_path: Path, factory: str
) -> None:
    corpus = text(tmp_path / "c", *german, german[0], "日本")
    index = Index.build(encoder, corpus, tmp_path / "i", index=factory)
    assert index.factory == Index.open(tmp_path / "i").factory == factory
    assert index.ann().ntotal == index.meta["distinct"] == len(german)


@pytest.mark.parametrize("factory", ["nonsense", "IVF", "", "PQ5"])
def test_a_factory_that_faiss_does_not_know(
    encoder: Encoder, german_file: Path, tmp_path: Path, factory: str
) -> None:
    with pytest.raises((ArtifactError, ResourceError), match="--index") as caught:
        Index.build(encoder, german_file, tmp_path / "i", index=factory)
    assert "\n" not in str(caught.value)
    assert entries(tmp_path) == []


def test_too_few_sentences_to_train_on(encoder: Encoder, german_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="60 sentences.*--index flat") as caught:
        Index.build(encoder, german_file, tmp_path / "i", index="IVF100,Flat")
    assert "\n" not in str(caught.value)
    assert entries(tmp_path) == []


def test_a_damaged_faiss_index(encoder: Encoder, german_file: Path, tmp_path: Path) -> None:
    index = Index.build(encoder, german_file, tmp_path / "i", index="SQ8")
    os.truncate(tmp_path / "i" / ANN, 40)
    with pytest.raises(ArtifactError, match=ANN) as caught:
        index.ann()
    assert "\n" not in str(caught.value)
    (tmp_path / "i" / ANN).unlink()
    with pytest.raises(ArtifactError, match=ANN):
        index.ann()


def test_no_space_for_the_faiss_index(
    encoder: Encoder, german_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = faiss.faiss()

    def full(*_: object) -> None:
        raise RuntimeError("Error in void write(): Error: 'ret == 1' failed: write error: No space")

    monkeypatch.setattr(library, "write_index", full)
    with pytest.raises(ResourceError, match="No space"):
        Index.build(encoder, german_file, tmp_path / "i", index="SQ8")
    assert entries(tmp_path) == []


# --- adding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("factory", [FLAT, "SQ8"])
def test_add_is_to_build_from_both(
    encoder: Encoder, german_file: Path, english_file: Path, tmp_path: Path, factory: str
) -> None:
    more = text(tmp_path / "more", "Noch ein Satz.", "", "Der Hund bellt, wenn es donnert.")
    one = Index.build(encoder, german_file, tmp_path / "one", index=factory)
    before = everything(one)
    one = one.add(encoder, [english_file, more])
    both = Index.build(encoder, [german_file, english_file, more], tmp_path / "both", index=factory)
    assert everything(one) == everything(both) == everything(Index.open(tmp_path / "one"))
    assert one.meta == both.meta
    assert one.sources == both.sources and len(one.sources) == 3
    after = everything(one)
    for name in ("sentences", "vectors", "line", "first"):
        assert after[name][:60] == before[name], "old rows keep their numbers"
    assert after["first"][-1] == 38
    if factory != FLAT:
        assert one.ann().ntotal == one.meta["distinct"] == 121
    assert entries(tmp_path) == ["both", "more", "one"]


def test_add_encodes_only_new_text(
    tiny_model: Path, built: Index, english_file: Path, english: list[str]
) -> None:
    seen: list[str] = []

    class Watched(Encoder):
        def _encode(self, sentences: Sequence[str], out: np.ndarray) -> None:
            seen.extend(sentences)
            super()._encode(sentences, out)

    assert len(built.add(Watched.load(tiny_model), english_file)) == 120
    assert seen == english


def test_add_to_own_ids(encoder: Encoder, tmp_path: Path) -> None:
    a, b = text(tmp_path / "a", "x1\teins", "x2\tzwei"), text(tmp_path / "b", "y1\tdrei")
    index = Index.build(encoder, a, tmp_path / "i", format="bucc")
    index = index.add(encoder, b, format="bucc")
    assert index.ids(np.arange(3)) == ["x1", "x2", "y1"]


def test_adds_exclude_each_other(encoder: Encoder, tmp_path: Path) -> None:
    """The second is refused while the first runs, and loses nothing of it afterwards."""
    a, b, c = (text(tmp_path / name, name) for name in ("eins", "zwei", "drei"))
    older = Index.build(encoder, a, tmp_path / "i")

    def meanwhile(stage: str, done: int, total: int | None) -> None:
        with pytest.raises(ResourceError, match=f"held by process {os.getpid()}"):
            older.add(encoder, c)

    Index.open(tmp_path / "i").add(encoder, b, report=meanwhile)
    both = older.add(encoder, c)
    assert both.sentences(np.arange(3)) == ["eins", "zwei", "drei"]
    assert entries(tmp_path) == ["drei", "eins", "i", "zwei"]


def test_add_to_an_empty_index(encoder: Encoder, german_file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    index = Index.build(encoder, tmp_path / "empty", tmp_path / "i").add(encoder, german_file)
    assert len(index) == 60 and index.ids(np.array([0])) == [f"{german_file}:1"]


def test_add_with_another_model(built: Index, other_model: Path, english_file: Path) -> None:
    other = Encoder.load(other_model)
    with pytest.raises(MismatchError) as caught:
        built.add(other, english_file)
    for word in (built.model_name, built.fingerprint, other.name, other.fingerprint):
        assert word in str(caught.value)
    assert len(Index.open(built.path)) == 60


@pytest.mark.parametrize("where", ["reading", "encoding", "writing"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_add_leaves_the_old_index(
    encoder: Encoder,
    built: Index,
    english_file: Path,
    where: str,
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, files = everything(built), {p.name: p.read_bytes() for p in built.path.iterdir()}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage.startswith(where):
            raise error

    def fail(*_: object) -> None:
        raise error

    if where == "writing":
        monkeypatch.setattr(store.VectorWriter, "seal", fail)
    with pytest.raises(error):
        built.add(encoder, english_file, report=report)
    assert entries(built.path.parent) == ["index"]
    assert {p.name: p.read_bytes() for p in built.path.iterdir()} == files
    assert everything(Index.open(built.path)) == before


def test_add_of_a_bad_file_leaves_the_old_index(
    encoder: Encoder, built: Index, english_file: Path
) -> None:
    with pytest.raises(CorpusError):
        built.add(encoder, [english_file, built.path.parent / "none"])
    assert len(Index.open(built.path)) == 60 and entries(built.path.parent) == ["index"]


# --- vectors from elsewhere ---------------------------------------------------------------------


def save(path: Path, array: np.ndarray) -> Path:
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["v"] = array
    else:
        array.astype("<f2" if path.suffix == ".f16" else "<f4").tofile(path)
    return path


@pytest.mark.parametrize("name", ["v.npy", "v.h5", "v.raw", "v.f16"])
def test_vectors_of_every_format(tmp_path: Path, name: str) -> None:
    vectors = save(tmp_path / name, VECTORS)
    corpus = text(tmp_path / "c", "a", "", "c", "d")
    index = Index.build_from_vectors(vectors, corpus, tmp_path / "i", dimension=6)
    assert len(index) == 3 and index.store.line.tolist() == [1, 3, 4]
    expected = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    np.testing.assert_allclose(index.store.vectors, expected[[0, 2, 3]], atol=2e-3)
    assert index.model_name == index.fingerprint == "external, 6 dimensions"


def test_vectors_of_a_table_with_header(tmp_path: Path) -> None:
    """The header is a line but no record: vector i belongs to record i."""
    corpus = text(tmp_path / "c.tsv", "satz", "a", "b", "", "d")
    array = np.eye(4, 6, dtype=np.float32)
    index = Index.build_from_vectors(
        save(tmp_path / "v.npy", array), corpus, tmp_path / "i", header=True
    )
    np.testing.assert_array_equal(index.store.vectors, array[[0, 1, 3]])


@pytest.mark.parametrize("lines", [3, 5])
def test_vectors_that_are_too_many_or_too_few(tmp_path: Path, lines: int) -> None:
    corpus = text(tmp_path / "c", *"abcde"[:lines])
    with pytest.raises(MismatchError, match=f"4 vectors but .* {lines} lines"):
        Index.build_from_vectors(save(tmp_path / "v.npy", VECTORS), corpus, tmp_path / "i")
    assert entries(tmp_path) == ["c", "v.npy"]


def test_a_vector_that_is_not_finite(tmp_path: Path) -> None:
    array = VECTORS.copy()
    array[2, 1] = np.nan
    corpus = text(tmp_path / "c", *"abcd")
    with pytest.raises(ArtifactError, match="v.npy: vector 3 of 4"):
        Index.build_from_vectors(save(tmp_path / "v.npy", array), corpus, tmp_path / "i")
    assert entries(tmp_path) == ["c", "v.npy"]


def test_vectors_of_another_dimension(tmp_path: Path) -> None:
    corpus = text(tmp_path / "c", *"abcd")
    for name in ("v.npy", "v.raw"):
        vectors = save(tmp_path / name, VECTORS)
        with pytest.raises(ArtifactError, match=name):
            Index.build_from_vectors(vectors, corpus, tmp_path / "i", dimension=7)
    assert not (tmp_path / "i").exists()


def test_foreign_vectors_take_no_text_of_ours(encoder: Encoder, tmp_path: Path) -> None:
    corpus = text(tmp_path / "c", *"abcd")
    index = Index.build_from_vectors(save(tmp_path / "v.npy", VECTORS), corpus, tmp_path / "i")
    with pytest.raises(MismatchError, match="--embeddings"):
        index.add(encoder, corpus)


def test_vectors_appended(tmp_path: Path) -> None:
    """An extended index holds what one of all text and vectors does."""
    whole = text(tmp_path / "whole", "a", "", "c", "d", "e", "", "a")
    array = np.random.default_rng(3).normal(size=(7, 6)).astype(np.float32)
    wanted = Index.build_from_vectors(save(tmp_path / "w.npy", array), whole, tmp_path / "w")
    first, more = text(tmp_path / "a", "a", "", "c"), text(tmp_path / "b", "d", "e", "", "a")
    index = Index.build_from_vectors(save(tmp_path / "a.npy", array[:3]), first, tmp_path / "i")
    index = index.add_vectors(save(tmp_path / "b.raw", array[3:]), more, dimension=6)
    np.testing.assert_array_equal(index.store.vectors, wanted.store.vectors)
    assert index.sentences(np.arange(5)) == wanted.sentences(np.arange(5))
    assert index.store.first.tolist() == wanted.store.first.tolist() == [0, 1, 2, 3, 0]
    assert index.ids(np.arange(5)) == [f"{first}:1", f"{first}:3", *(f"{more}:{i}" for i in "124")]
    assert index.distinct == 4 and index.fingerprint == wanted.fingerprint and index.verify()


def test_vectors_that_cannot_follow(encoder: Encoder, built: Index, tmp_path: Path) -> None:
    corpus = text(tmp_path / "c", *"abcd")
    good = save(tmp_path / "v.npy", VECTORS)
    index = Index.build_from_vectors(good, corpus, tmp_path / "i")
    before = (index.path / "meta.json").read_bytes()
    bad = VECTORS.copy()
    bad[1, 1] = np.inf
    for place, vectors, lines, error, said in (
        (built, good, corpus, MismatchError, "without --embeddings"),
        (index, save(tmp_path / "n.npy", VECTORS[:, :5]), corpus, MismatchError, "5 dimensions"),
        (index, good, text(tmp_path / "s", "a"), MismatchError, "4 vectors but .* 1 lines"),
        (index, save(tmp_path / "b.npy", bad), corpus, ArtifactError, "vector 2 of 4"),
    ):
        with pytest.raises(error, match=said):
            place.add_vectors(vectors, lines)
    assert (index.path / "meta.json").read_bytes() == before and len(Index.open(index.path)) == 4


# --- what is never replaced, and what never opens -----------------------------------------------


def test_a_build_replaces_an_older_index(
    encoder: Encoder, built: Index, english_file: Path, english: list[str]
) -> None:
    index = Index.build(encoder, english_file, built.path)
    assert index.sentences(np.arange(60)) == english
    assert entries(built.path.parent) == ["index"]


@pytest.mark.parametrize("kind", ["directory", "file", "model"])
def test_only_an_index_is_replaced(
    encoder: Encoder, german_file: Path, tiny_model: Path, tmp_path: Path, kind: str
) -> None:
    place = tmp_path / "place"
    if kind == "model":
        shutil.copytree(tiny_model, place)
    elif kind == "directory":
        place.mkdir()
        (place / "thesis.tex").write_text("years of work")
    else:
        place.write_text("years of work")
    before = entries(place) if place.is_dir() else place.read_text()
    with pytest.raises(ArtifactError, match="not one of ours"):
        Index.build(encoder, german_file, place)
    assert before == (entries(place) if place.is_dir() else place.read_text())
    assert entries(tmp_path) == ["place"]


def test_an_empty_directory_may_be_used(
    encoder: Encoder, german_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "i").mkdir()
    assert len(Index.build(encoder, german_file, tmp_path / "i")) == 60


def unseal(path: Path) -> None:
    with h5py.File(path / EMBEDDINGS, "r+") as file:
        file.attrs["sealed"] = False


def meta(**changes: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        record = json.loads((path / META).read_text()) | changes
        record = {name: value for name, value in record.items() if value is not ...}
        (path / META).write_text(json.dumps(record))

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "not sealed": unseal,
    "vectors cut short": lambda path: os.truncate(path / EMBEDDINGS, 3000),
    "no vectors": lambda path: (path / EMBEDDINGS).unlink(),
    "sentences cut short": lambda path: os.truncate(path / SENTENCES, 100),
    "no sentences": lambda path: (path / SENTENCES).unlink(),
    "no meta": lambda path: (path / META).unlink(),
    "empty meta": lambda path: os.truncate(path / META, 0),
    "half of meta": lambda path: os.truncate(path / META, 50),
    "deep meta": lambda path: (path / META).write_text("[" * 10_000),
    "meta is a list": lambda path: (path / META).write_text("[]"),
    "another format": meta(format="bitext-miner model"),
    "another version": meta(version=2),
    "no version": meta(version=...),
    "other counts": meta(sentences=59),
    "other dimension": meta(dimension=31),
    "no model": meta(model=...),
    "a model of text": meta(model="tiny"),
    "no index": meta(index=...),
    "no distinct": meta(distinct=...),
    "no sources": meta(sources=...),
    "sources of another kind": meta(sources=[{"path": "x"}]),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("older", [False, True])
def test_a_damaged_index_does_not_open(built: Index, damage: str, older: bool) -> None:
    if older:
        without_checksums(built.path)
    DAMAGES[damage](built.path)
    refused(built.path)


def test_an_older_index_without_checksums_opens(built: Index) -> None:
    without_checksums(built.path)
    assert everything(Index.open(built.path).verify()) == everything(built)


@pytest.mark.parametrize("kind", ["flipped", "zeroed"])
def test_altered_bytes_are_found_before_a_search(
    encoder: Encoder, german_file: Path, tmp_path: Path, kind: str
) -> None:
    """Wherever they are: a few places of every file, in a compressed index with ids."""
    corpus = text(tmp_path / "c", *(f"id{i}\t{line}" for i, line in enumerate(
        german_file.read_text(encoding="utf-8").splitlines()
    )))  # fmt: skip
    path = tmp_path / "i"
    Index.build(encoder, corpus, path, format="bucc", index="SQ8")
    assert entries(path) == sorted([ANN, EMBEDDINGS, IDS, META, SENTENCES])
    for name in entries(path):
        data = (path / name).read_bytes()
        for place in np.linspace(0, len(data) - 1, 12).astype(int).tolist():
            changed = bytearray(data)
            if kind == "flipped":
                changed[place] ^= 4
            else:
                changed[place : place + 40] = bytes(len(changed[place : place + 40]))
            if changed == data:
                continue
            (path / name).write_bytes(changed)
            with pytest.raises(ArtifactError) as caught:
                search(Index.open(path), Index.open(path))
            assert str(path) in str(caught.value) and "\n" not in str(caught.value)
        (path / name).write_bytes(data)
    assert len(search(Index.open(path), Index.open(path))) > 0


def test_an_altered_index_is_not_extended(
    encoder: Encoder, built: Index, english_file: Path
) -> None:
    data = bytearray((built.path / SENTENCES).read_bytes())
    data[7] ^= 1
    (built.path / SENTENCES).write_bytes(data)
    with pytest.raises(ArtifactError, match=f"{SENTENCES}: altered"):
        Index.open(built.path).add(encoder, english_file)


def test_ids_that_went_missing(encoder: Encoder, tmp_path: Path) -> None:
    """Line numbers must not replace ids of the corpus."""
    corpus = text(tmp_path / "c", "x1\teins", "x2\tzwei")
    Index.build(encoder, corpus, tmp_path / "i", format="bucc")
    (tmp_path / "i" / IDS).unlink()
    assert IDS in refused(tmp_path / "i")


def test_a_missing_index(tmp_path: Path) -> None:
    assert "miner index" in refused(tmp_path / "none")
    refused(text(tmp_path / "file", "x"))


def test_meta_is_complete(built: Index) -> None:
    record = json.loads((built.path / META).read_text())
    assert record["sources"] == [dataclasses.asdict(source) for source in built.sources]
    assert record["sentences"] == record["distinct"] == sum(s.records for s in built.sources)


def test_an_inverted_index_looks_into_more_than_one_list(tmp_path: Path) -> None:
    """FAISS's own default of one list would find a fraction of the neighbours."""
    vectors = np.random.default_rng(3).normal(size=(3000, 16)).astype(np.float16)
    faiss.build(tmp_path / "ivf", vectors, np.arange(3000), "IVF32,Flat")
    queries = vectors[:200].astype(np.float32)
    _, found = faiss.read(tmp_path / "ivf").search(queries, 5)
    _, exact = faiss.flat_search(queries, vectors.astype(np.float32), 5, "cpu")
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, exact, strict=True)])
    assert recall > 0.8


def test_ids_of_several_files_are_told_apart(encoder: Encoder, tmp_path: Path) -> None:
    bucc, plain = tmp_path / "a.jsonl", tmp_path / "b.txt"
    bucc.write_text('{"id": "x1", "text": "der hund"}\n', encoding="utf-8")
    plain.write_text("die katze\n", encoding="utf-8")
    built = Index.build(encoder, [bucc, plain], tmp_path / "i")
    assert built.ids(np.array([0, 1])) == ["x1", f"{plain}:1"]


def test_a_file_that_changes_while_it_is_read(
    encoder: Encoder, tmp_path: Path, german_file: Path
) -> None:
    corpus = tmp_path / "growing"
    shutil.copy(german_file, corpus)

    def grow(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("reading"):
            with open(corpus, "a", encoding="utf-8") as file:
                file.write("mehr\n")

    with pytest.raises(CorpusError, match="growing: changed while it was read"):
        Index.build(encoder, corpus, tmp_path / "i", report=grow)
    assert not (tmp_path / "i").exists()


def test_an_index_built_twice_has_the_same_bytes(
    encoder: Encoder, german_file: Path, tmp_path: Path
) -> None:
    """HDF5 would write the time of creation, so the second build comes a second later."""
    made = []
    for name in ("one", "two"):
        path = Path(Index.build(encoder, german_file, tmp_path / name).path)
        made.append({file.name: file.read_bytes() for file in path.iterdir()})
        time.sleep(1.1 if name == "one" else 0)
    assert made[0] == made[1]
