"""Hybrid search by shards: equal to that of one process to the last bit."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from miner.shards.shard_plan import Plan
from miner.shards.status import status
from miner.shards.task import notes
from miner.shards.workers import Workers
from support.sharded import Corpus, same

from miner.errors import ResourceError
from miner.knn import hybrid, knn_search
from miner.knn.settings import SearchSettings
from miner.mining import search as searching
from miner.mining.keep import Keep
from miner.shards import hybrid_tasks
from miner.shards.cost import BASE, costs
from miner.shards.needs import TYPICAL

HYBRID = SearchSettings(engine="hybrid")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search small corpora by hybrid, too."""
    for module in (knn_search, searching):
        monkeypatch.setattr(module, "HYBRID", 0)
    monkeypatch.setattr(knn_search, "SMALL", 0)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe and retrieve so few that pairs are missed, with several steps of queries."""
    monkeypatch.setattr(hybrid, "PROBES", 2)
    monkeypatch.setattr(hybrid, "RETRIEVED", 3)
    monkeypatch.setattr(hybrid, "QUERIES", 8)


@pytest.mark.parametrize(("lines", "estimate"), [(1000, False), (25, True), (13, False)])
def test_shards_of_any_size(
    few: None, corpus: Corpus, tmp_path: Path, lines: int, estimate: bool
) -> None:
    work, keep = tmp_path / "work", Keep(estimate=estimate)
    wanted = corpus.whole(HYBRID, keep)
    found = corpus.shards(work, lines, settings=HYBRID, keep=keep)
    assert same(found, wanted, tmp_path)
    assert found.search.recall == wanted.search.recall and wanted.search.recall is not None
    assert wanted.search.recall.forward < 1 and any("hybrid engine" in note for note in found.notes)
    kinds = {kind.name: kind for kind in status(work).kinds}
    assert "search" not in kinds and kinds["hybrid"].done == kinds["hybrid"].total
    assert kinds["hybrid"].total == kinds["retrieve"].total ** 2 / 4


def test_without_a_lexicon(few: None, corpus: Corpus, tmp_path: Path) -> None:
    """Clusters alone, and codes that stay in their files."""
    settings = SearchSettings(engine="hybrid", rank="margin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hybrid_tasks, "Room", lambda left: hybrid.Room(0))
        found = corpus.shards(tmp_path / "work", 13, settings=settings)
    assert same(found, corpus.whole(settings), tmp_path)
    assert "retrieve" not in {kind.name for kind in status(tmp_path / "work").kinds}


def test_processes_of_which_one_is_killed(corpus: Corpus, tmp_path: Path) -> None:
    killed: list[int] = []
    work = tmp_path / "work"

    def report(stage: str, done: int, total: int | None) -> None:
        running = {name: note for name, note in notes(work, "running").items() if "hybrid" in name}
        if not killed and running:
            killed.append(next(iter(running.values()))["pid"])
            os.kill(killed[0], signal.SIGKILL)

    settings, keep = SearchSettings(engine="hybrid"), Keep(estimate=False)
    found = corpus.shards(
        work, 13, Workers("processes", 2), settings=settings, keep=keep, report=report
    )
    assert killed and same(found, corpus.whole(settings, keep), tmp_path)


def test_the_search_is_chosen_by_size(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sizes(**settings: str) -> int | None:
        corpus.shards(tmp_path / "work", settings=SearchSettings(**settings), keep=keep)  # type: ignore[arg-type]
        return Plan.read(tmp_path / "work").hybrid_from

    keep = Keep(estimate=False)
    assert sizes(device="cpu") == searching.LARGE
    # A repeated command may ask for another engine: what does not depend on it stands.
    assert sizes(device="cpu", engine="fused") is None
    with pytest.raises(ResourceError, match="hybrid runs on processors"):
        sizes(engine="hybrid", device="cuda")
    with pytest.raises(ResourceError, match="is not exact"):
        corpus.shards(tmp_path / "other", settings=SearchSettings(engine="hybrid", exact=True))
    assert not (tmp_path / "other").exists()


def test_the_cost_of_a_hybrid_search_grows_less() -> None:
    few, many = (
        {cost.kind: cost for cost in costs((n, n), (1, 1), 1_000_000, 8, TYPICAL)}
        for n in (1_000_000, 64_000_000)
    )
    for kind, least, most in (
        ("search", 64**2, 64**2),
        ("assign", 64, 64 * 8),
        ("retrieve", 64, 64 * 16),
        ("hybrid", 64, 64 * 32),
        ("recall", 64, 64),
    ):
        grown = many[kind].core_seconds / few[kind].core_seconds
        assert least * 0.99 < grown < most * 1.01, kind
    # A block holds no more; the sample of the centroids grows with the root.
    assert many["hybrid"].memory == few["hybrid"].memory
    assert 4 < (many["centroids"].memory - BASE) / (few["centroids"].memory - BASE) < 9
