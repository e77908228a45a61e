"""The hybrid search: equal for all threads, blocks and interruptions, and near the exact one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miner.knn.search_checkpoint import Checkpoint
from support.sides import brute, realistic, same, searching, side

from miner.arrays import Room
from miner.encoder.lexicon import Lexicon
from miner.errors import ResourceError
from miner.knn import clusters, hybrid, knn_search, search_checkpoint
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.postings import SideTokens, Tokens
from miner.knn.vector_set import VectorSet
from miner.ragged import offsets_of

VOCABULARY = 400


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search small sets by clusters, too, with several steps of queries."""
    monkeypatch.setattr(knn_search, "HYBRID", 0)
    monkeypatch.setattr(knn_search, "SMALL", 0)
    monkeypatch.setattr(hybrid, "QUERIES", 50)
    monkeypatch.setattr(hybrid, "PROBES", 3)


def sides(n: int = 300, m: int = 260) -> tuple[VectorSet, VectorSet]:
    left, right = realistic(np.random.default_rng(3), n, m, 24)
    left[7], right[11] = 0, 0  # not selected
    right[20] = right[21]
    return side(left), side(right)


def tokens(n: int = 300, m: int = 260) -> Tokens:
    """Sentence i of either side holds the same tokens, the target's by a lexicon of x to x + 1."""
    generator = np.random.default_rng(4)
    lists = generator.integers(0, VOCABULARY - 1, (max(n, m), 6)).astype(np.int32)
    parts = [
        SideTokens((lists[:size] + more).ravel(), offsets_of(np.full(size, 6)))
        for size, more in ((n, 0), (m, 1))
    ]
    rows = np.arange(VOCABULARY)
    lexicon = Lexicon(
        offsets_of(np.ones(VOCABULARY, np.int64)),
        np.minimum(rows + 1, VOCABULARY - 1).astype(np.int32),
        np.full(VOCABULARY, 0.9, np.float32),
        np.full(VOCABULARY, 1 / VOCABULARY, np.float32),
    )
    return Tokens(*parts, lexicon)


def search(both: tuple[VectorSet, VectorSet], words: Tokens | None, **more: Any) -> Any:
    checkpoint = more.pop("checkpoint", None)
    wishes = searching(4, engine="hybrid", **more)
    return nearest_both(*both, wishes, checkpoint=checkpoint, tokens=words)


def found(actual: tuple[Neighbors, Neighbors], both: tuple[VectorSet, VectorSet]) -> list[float]:
    """Return the share of true neighbours in the lists of each direction."""
    wanted = brute(*both, 4), brute(both[1], both[0], 4)
    return [
        float(np.mean(lists.similarity[part.rows] >= true.similarity[part.rows, -1:]))
        for lists, true, part in zip(actual, wanted, both, strict=True)
    ]


def test_the_lists_do_not_depend_on_threads_memory_or_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both, words = sides(), tokens()
    wanted = search(both, words, threads=1)
    same(search(both, words, threads=3), wanted)
    monkeypatch.setattr(knn_search, "BLOCK", 32)
    monkeypatch.setattr(knn_search, "LEAST_BLOCK", 32)
    monkeypatch.setattr(hybrid, "Room", lambda left: Room(0))
    same(search(both, words, threads=2), wanted)


def test_the_lists_are_exact_where_all_clusters_are_probed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hybrid, "PROBES", 1000)
    both = sides()
    same(search(both, None), (brute(*both, 4), brute(both[1], both[0], 4)))


def test_most_neighbours_are_found() -> None:
    both = sides()
    assert min(found(search(both, None), both)) > 0.5


def test_tokens_find_what_clusters_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hybrid, "PROBES", 1)
    both = sides()
    alone, together = (found(search(both, words), both) for words in (None, tokens()))
    assert together[0] > alone[0] and together[1] > alone[1]


@pytest.mark.parametrize("n,m,k", [(1, 1, 4), (1, 9, 4), (40, 3, 8)])
def test_small_sides(n: int, m: int, k: int) -> None:
    """Fewer sentences than clusters, than neighbours, or than either."""
    generator = np.random.default_rng(5)
    both = (
        side(generator.normal(size=(n, 8)).astype(np.float16)),
        side(generator.normal(size=(m, 8)).astype(np.float16)),
    )
    forward, backward = nearest_both(*both, searching(k, engine="hybrid"), tokens=tokens(n, m))
    assert forward.row.shape == (n, k) and backward.row.shape == (m, k)
    for row in forward.row:
        chosen = row[row >= 0].tolist()
        assert len(set(chosen)) == len(chosen) <= min(k, m)


def test_a_stopped_search_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, words = sides(), tokens()
    wanted = search(both, words)
    monkeypatch.setattr(search_checkpoint, "EVERY", 0.0)
    done = 0

    def stop(*rest: Any) -> None:
        nonlocal done
        done += 1
        if done == 40:
            raise KeyboardInterrupt

    path, notes = tmp_path / "search.h5", []
    with pytest.raises(KeyboardInterrupt), Checkpoint(path, keep=True) as state:
        nearest_both(*both, searching(4, engine="hybrid"), stop, checkpoint=state, tokens=words)
    with Checkpoint(path, keep=True, note=notes.append) as state:
        same(search(both, words, checkpoint=state), wanted)
    assert "resuming" in notes[0]
    # Done, it is not done again; with other tokens it starts over.
    with Checkpoint(path, keep=True, note=notes.append) as state:
        same(search(both, words, checkpoint=state), wanted)
    assert "searched before" in notes[1]
    with Checkpoint(path, keep=True, note=notes.append) as state:
        same(search(both, None, checkpoint=state), search(both, None))
    assert "starting over" in notes[2]


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ResourceError, match="not exact"):
        search(sides(), None, exact=True)
    with pytest.raises(ResourceError, match="processors"):
        search(sides(), None, device="cuda")


def test_clusters_of_equal_vectors() -> None:
    """More clusters than different vectors: empty ones keep their centroids."""
    vectors = np.tile(np.float16([1, 0, 0, 0]), (50, 1))
    made = clusters.learn((side(vectors), side(vectors)), 8, 1)
    assert made.shape == (8, 4) and np.isfinite(made).all()
