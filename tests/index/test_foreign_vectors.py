"""Indexes of vectors from elsewhere."""

from pathlib import Path

import numpy as np
import pytest
from support.indexes import entries, saved, text

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, MismatchError
from miner.index.index import Index

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
    """An extended index holds what one of all text and vectors does."""
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
    for place, vectors, lines, error, said in (
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
            place.add_vectors(vectors, lines)
    assert (index.path / "meta.json").read_bytes() == before and len(Index.open(index.path)) == 4
