"""Directories that must not be replaced, and damaged indexes, which do not open."""

import dataclasses
import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support.files import entries
from support.files import refused as refused_by
from support.indexes import text, with_checksums

from miner.errors import ArtifactError
from miner.index.columns import EMBEDDINGS, IDS, SENTENCES
from miner.index.directory import ANN, META
from miner.index.index import Index
from miner.mining.mine import search

refused = partial(refused_by, Index.open)


def test_a_build_replaces_an_older_index(encoder, built, english_file, english):
    index = Index.build(encoder, english_file, built.path)
    assert index.sentences(np.arange(60)) == english
    assert entries(built.path.parent) == ["index"]


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
@pytest.mark.parametrize("resealed", [False, True])
def test_a_damaged_index_does_not_open(built: Index, damage: str, resealed: bool) -> None:
    """Neither with correct checksums of the damaged files."""
    DAMAGES[damage](built.path)
    if resealed:
        with suppress(Exception):  # missing files have no checksum
            with_checksums(built.path)
    refused(built.path)


@pytest.mark.parametrize("key", ["digest", "files"])
def test_an_index_without_checksums_does_not_open(built: Index, key: str) -> None:
    record = json.loads((built.path / META).read_text())
    del record[key]
    (built.path / META).write_text(json.dumps(record))
    assert "meta.json: " in refused(built.path)


@pytest.mark.parametrize("kind", ["flipped", "zeroed"])
def test_altered_bytes_are_found_before_a_search(encoder, german_file, tmp_path, kind):
    """At some positions of every file of a compressed index with ids."""
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
            assert str(path) in str(caught.value)
        (path / name).write_bytes(data)
    assert len(search(Index.open(path), Index.open(path))) > 0


def test_an_altered_index_is_not_extended(encoder, built, english_file):
    data = bytearray((built.path / SENTENCES).read_bytes())
    data[7] ^= 1
    (built.path / SENTENCES).write_bytes(data)
    with pytest.raises(ArtifactError, match=f"{SENTENCES}: altered"):
        Index.open(built.path).add(encoder, english_file)


def test_a_missing_index(tmp_path: Path) -> None:
    assert "miner index" in refused(tmp_path / "none")
    refused(text(tmp_path / "file", "x"))


def test_meta_is_complete(built: Index) -> None:
    record = json.loads((built.path / META).read_text())
    assert record["sources"] == [dataclasses.asdict(source) for source in built.sources]
    assert record["sentences"] == record["distinct"] == sum(s.records for s in built.sources)
