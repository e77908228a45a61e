"""The mining pipeline: equal results for any parts and any killed workers, each task done once."""

import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.mined_corpus import Corpus, Tasks, same

from miner.errors import MinerError, ResourceError
from miner.knn import clusters, knn_search
from miner.knn.settings import SearchSettings
from miner.mining import choices, hybrid_stages
from miner.mining.choices import pairs_for_hybrid
from miner.mining.keep import Keep
from miner.mining.mine import mine
from miner.mining.result import Mined
from miner.tasks.record import RUNNING, notes
from miner.tasks.workers import Workers

HYBRID = SearchSettings(engine="hybrid")
FAST = Keep(estimate=False)
# Kinds of tasks that depend on the languages.
SCORED = {"decoys", "decoy-search", "lists", "verify", "rivals", "best-logits", "score", "match"}
SCORED |= {"features", "knock-out"}


@pytest.fixture(scope="session")
def expected(corpus: Corpus) -> Mined:
    found = corpus.whole()
    assert len(found.all_pairs) > 40 and found.estimate is not None
    return found


@pytest.fixture(scope="session")
def finished(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the work directory of a finished mining; tests must copy it before changes."""
    work = tmp_path_factory.mktemp("finished") / "work"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knn_search, "SMALL", 0)  # as in all tests here
        corpus.mine(work)
    return work


@pytest.mark.parametrize("lines", [1000, 25, 17])
@pytest.mark.parametrize("kept", [True, False])
def test_parts_of_any_size(corpus, expected, tmp_path, lines, kept):
    found = corpus.mine(tmp_path / "work" if kept else None, lines)
    assert same(found, expected, tmp_path / "compared")
    assert found.estimate is not None and expected.estimate is not None
    assert found.estimate.matched == expected.estimate.matched


@pytest.mark.parametrize(
    ("settings", "keep", "more"),
    [
        (SearchSettings(rank="margin", margin="distance", retrieval="intersection"), Keep(), {}),
        (SearchSettings(rank="margin"), Keep(target_precision=0.5), {}),
        (SearchSettings(duplicates="each", k=3, exact=True), replace(FAST, threshold=0.1), {}),
        (SearchSettings(engine="faiss", retrieval="backward"), Keep(refit=False), {}),
        (SearchSettings(), Keep(decoys=["one", "two"], top_n=5), {}),
        (SearchSettings(), Keep(), {"factory": "SQ8"}),
        (SearchSettings(), FAST, {"workers": Workers("processes", 2)}),
    ],
    ids=str,
)
def test_settings(corpus, tmp_path, settings, keep, more):
    def attempt(way: Any, **given: Any) -> Mined | str:
        try:
            found: Mined = way(settings=settings, keep=keep, **given)
            return found
        except MinerError as error:
            return str(error)

    wanted = attempt(corpus.whole, **{key: more[key] for key in more if key != "workers"})
    found = attempt(corpus.mine, **more)
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted and "decoys" in str(found)
    else:
        assert same(found, wanted, tmp_path)


@pytest.mark.parametrize("kind", ["search", "hybrid"])
def test_processes_of_which_one_is_killed(corpus, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(choices, "HYBRID", 0)
    said: list[str] = []
    killed: list[int] = []
    work = tmp_path / "work"
    settings = HYBRID if kind == "hybrid" else SearchSettings()

    def kill(done: threading.Event) -> None:
        while not killed and not done.wait(0.001):
            running = [note for name, note in notes(work, RUNNING).items() if name.startswith(kind)]
            if running:
                killed.append(running[0]["pid"])
                os.kill(killed[0], signal.SIGKILL)

    done = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(kill, done)
        try:
            found = corpus.mine(
                work, 13, Workers("processes", 2), settings=settings, keep=FAST, note=said.append
            )
        finally:
            done.set()
    assert killed and any("its worker died; trying again" in line for line in said)
    assert same(found, corpus.whole(settings=settings, keep=FAST), tmp_path)


@pytest.mark.parametrize(
    ("change", "redone"),
    [
        ({"retrieval": "intersection"}, {"match", "features", "knock-out"}),
        ({"languages": ("fr", None)}, SCORED),
        ({"languages": ("de", None)}, set()),  # as the identified languages
        ({"rank": "margin"}, {"part", "lists", "score", "match"}),
        ({"rank": "margin", "k": 8}, {"part", "score", "match"}),
        ({"duplicates": "each"}, set()),
        ({"keep": Keep(top_n=3)}, set()),
        ({"keep": Keep(refit=False)}, set()),
        ({"k": 5}, SCORED - {"decoys"}),
        ({"k": 9}, SCORED | {"probe", "search", "merge"}),
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else str(value),
)  # fmt: skip
def test_a_changed_setting_searches_no_block_again(corpus, finished, tmp_path, change, redone):
    """Each setting redoes these kinds of tasks; only a larger k searches again."""
    work = tmp_path / "work"
    shutil.copytree(finished, work)
    settings, keep = dict(change), change.get("keep", Keep())
    settings.pop("keep", None)
    given = {"settings": SearchSettings(**settings), "keep": keep}
    # Results name their work directory.
    corpus.mine(work)
    tasks = Tasks(work)
    found = corpus.mine(work, **given)
    assert set(tasks.kinds()) == redone
    assert same(found, corpus.whole(**given), tmp_path / "compared")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the hybrid engine for small corpora as well."""
    monkeypatch.setattr(choices, "HYBRID", 0)


@pytest.fixture
def few(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probe and retrieve so little that pairs are missed, in several steps of queries."""
    monkeypatch.setattr(clusters, "PROBES", 2)
    monkeypatch.setattr(hybrid_stages, "RETRIEVED", 3)
    monkeypatch.setattr(hybrid_stages, "QUERIES", 8)


@pytest.mark.parametrize("rank", ["probability", "margin"])
@pytest.mark.parametrize("lines", [25, 13])
def test_hybrid_parts(few: None, corpus: Corpus, tmp_path: Path, rank: str, lines: int) -> None:
    """Results are equal for any parts, threads and memory, and by clusters alone."""
    given = {"settings": replace(HYBRID, rank=rank), "keep": FAST}
    wanted = corpus.whole(**given)
    assert wanted.search.recall is not None and wanted.search.recall.forward < 1
    assert wanted.search.settings.engine == "hybrid"
    tasks = Tasks(tmp_path / "work")
    with pytest.MonkeyPatch.context() as patch:
        if lines == 13:  # codes are not loaded
            room = hybrid_stages.Room
            patch.setattr(hybrid_stages, "Room", lambda left: room(0))
        found = corpus.mine(tmp_path / "work", lines, **given)
    assert same(found, wanted, tmp_path / "compared")
    assert found.search.recall == wanted.search.recall
    assert any("hybrid engine" in note for note in found.notes)
    kinds = tasks.kinds()
    assert "search" not in kinds and kinds["hybrid"] == kinds["assign"] ** 2 / 4
    assert kinds.get("retrieve", 0) == (kinds["assign"] if rank == "probability" else 0)


def test_tokens_find_what_clusters_miss(few: None, corpus: Corpus) -> None:
    recall = [
        corpus.whole(settings=replace(HYBRID, rank=rank, k=4), keep=FAST).search.recall
        for rank in ("margin", "probability")
    ]
    assert recall[0] is not None and recall[1] is not None
    assert 0.2 < recall[0].forward < recall[1].forward
    assert 0.2 < recall[0].backward < recall[1].backward


@pytest.mark.parametrize("sizes", [(1, 1), (1, 9), (40, 3)])
def test_hybrid_of_small_sides(always, corpus, german, english, tmp_path, sizes):
    """With fewer sentences than clusters, than neighbours, or than either."""
    for name, text, size in zip("ab", (german, english), sizes, strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text[:size]), "utf-8")
    found = mine(tmp_path / "a", tmp_path / "b", encoder=corpus.encoder, settings=HYBRID, keep=FAST)
    assert found.search.settings.engine == "hybrid" and len(found.all_pairs) >= 1
    for lists, most in ((found.search.forward, sizes[1]), (found.search.backward, sizes[0])):
        for row in lists.row:
            chosen = row[row >= 0].tolist()
            assert len(set(chosen)) == len(chosen) <= min(8, most)


def test_when_the_search_is_hybrid(monkeypatch: pytest.MonkeyPatch) -> None:
    auto = SearchSettings(device="cpu")
    assert pairs_for_hybrid(auto, True) == choices.LARGE
    assert pairs_for_hybrid(HYBRID, False) == choices.HYBRID
    for settings in ({"engine": "faiss"}, {"engine": "fused"}, {"exact": True}):
        assert pairs_for_hybrid(replace(auto, **settings), True) is None  # type: ignore[arg-type]
    assert pairs_for_hybrid(auto, False) is None
    with pytest.raises(ResourceError, match="hybrid runs on processors"):
        pairs_for_hybrid(replace(HYBRID, device="cuda"), True)
    with pytest.raises(ResourceError, match="is not exact"):
        pairs_for_hybrid(replace(HYBRID, exact=True), True)
    monkeypatch.setattr(choices, "search_device", lambda device, engine: "cuda")
    assert pairs_for_hybrid(SearchSettings(), True) is None
