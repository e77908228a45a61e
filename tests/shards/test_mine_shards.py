"""Mining by shards: equal to the unsharded search to the last bit, whatever happens on the way."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from miner.shards.shard_plan import Plan, cut
from miner.shards.status import status
from miner.shards.task import DONE, FAILED, Task, notes, perform, record
from miner.shards.work import Order, execute
from miner.shards.workers import Workers
from support.sharded import Corpus, same

from miner.encoder.encoder import Encoder
from miner.errors import (
    ArtifactError,
    CorpusError,
    DependencyError,
    MinerError,
    MismatchError,
    ResourceError,
)
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.mining.mine import Mined
from miner.shards import run_tasks as runner
from miner.shards.plan_file import PLAN
from miner.text.locks import lock

MEANS = 256 << 20


def test_shards_of_a_few_lines(
    finished: tuple[Path, Mined], expected: Mined, tmp_path: Path
) -> None:
    _, found = finished
    assert same(found, expected, tmp_path)
    assert len(expected.all_pairs) > 40 and expected.estimate is not None
    assert found.estimate is not None and found.estimate.matched == expected.estimate.matched


def test_one_shard(corpus: Corpus, expected: Mined, tmp_path: Path) -> None:
    assert same(corpus.shards(tmp_path / "work", 1000), expected, tmp_path)


@pytest.mark.parametrize(
    ("settings", "keep"),
    [
        (SearchSettings(rank="margin", margin="distance", retrieval="intersection"), Keep()),
        (SearchSettings(duplicates="each", k=3, exact=True), Keep(estimate=False, threshold=0.1)),
        (SearchSettings(engine="faiss", retrieval="backward"), Keep(refit=False)),
        (SearchSettings(), Keep(decoys=["one", "two"], top_n=5)),
    ],
)
def test_settings(corpus: Corpus, tmp_path: Path, settings: SearchSettings, keep: Keep) -> None:
    def attempt(call: Callable[[], Mined]) -> Mined | str:
        try:
            return call()
        except MinerError as error:
            return str(error)

    wanted = attempt(lambda: corpus.whole(settings, keep))
    found = attempt(lambda: corpus.shards(tmp_path / "work", settings=settings, keep=keep))
    if isinstance(wanted, str) or isinstance(found, str):
        assert found == wanted and "decoys" in str(found)
    else:
        assert same(found, wanted, tmp_path)


def test_processes_of_which_one_is_killed(corpus: Corpus, expected: Mined, tmp_path: Path) -> None:
    said: list[str] = []
    killed: list[int] = []

    def report(stage: str, done: int, total: int | None) -> None:
        running = notes(tmp_path / "work", "running")
        if done >= 20 and not killed and running:
            killed.append(next(iter(running.values()))["pid"])
            os.kill(killed[0], signal.SIGKILL)

    before = set(psutil.Process().children(recursive=True))
    found = corpus.shards(
        tmp_path / "work", 30, Workers("processes", 2), report=report, note=said.append
    )
    assert same(found, expected, tmp_path)
    assert killed and any("its worker died; trying again" in line for line in said)
    left = set(psutil.Process().children(recursive=True)) - before
    assert not [child for child in left if "spawn_main" in " ".join(child.cmdline())]


def test_a_stopped_run_goes_on(
    corpus: Corpus, expected: Mined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(stage: str, done: int, total: int | None) -> None:
        if done == 30:
            raise KeyboardInterrupt

    work = tmp_path / "work"
    with pytest.raises(KeyboardInterrupt):
        corpus.shards(work, report=stop)
    counts: list[int] = []
    # A result that was damaged is made again, and what follows from it stands.
    damaged = work / "search" / "0000-0000" / "forward.npy"
    size = damaged.stat().st_size
    damaged.write_bytes(damaged.read_bytes()[:-1])
    (work / "search" / ".0001-0000.abc.partial").mkdir()
    found = corpus.shards(work, report=lambda stage, done, total: counts.append(done))
    assert same(found, expected, tmp_path)
    assert damaged.stat().st_size == size
    assert not list(work.glob("*/.*.partial")) and not notes(work, FAILED)
    # Nothing is left to do.
    given: list[Task] = []
    monkeypatch.setattr(runner, "Order", lambda work, task, *rest: given.append(task))
    assert same(corpus.shards(work), expected, tmp_path)
    assert not given


def test_full_disk_of_a_node(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 2**12

    def full(descriptor: int, start: int, size: int) -> None:
        nonlocal left
        left -= size
        if left < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    work, margin = tmp_path / "work", SearchSettings(rank="margin")
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(ResourceError, match=r"cannot be written: no space left; free some"):
            corpus.shards(work, 1000, settings=margin)
    (name,) = notes(work, FAILED)
    assert "no space left" in status(work).errors[name]
    done = sum(kind.done for kind in status(work).kinds)
    assert done and not list(work.glob("*/.*.partial"))
    counts: list[int] = []
    found = corpus.shards(
        work, 1000, settings=margin, report=lambda stage, done, total: counts.append(done)
    )
    assert same(found, corpus.whole(margin), tmp_path) and done in counts
    assert not notes(work, FAILED)


def test_input_that_changes(corpus: Corpus, tmp_path: Path) -> None:
    path = tmp_path / "more.de"
    path.write_text("Der Hund bellt.\n", encoding="utf-8")
    grown = replace(corpus, texts=([*corpus.texts[0], str(path)], corpus.texts[1]))
    work = tmp_path / "work"
    grown.shards(work, keep=Keep(estimate=False))
    os.utime(path, (1, 1))
    with pytest.raises(CorpusError, match=r"more\.de: changed since the plan in .* was made"):
        grown.shards(work)
    path.unlink()
    with pytest.raises(CorpusError, match=r"more\.de: cannot be read: No such file"):
        grown.shards(work)
    with pytest.raises(MismatchError, match=r"other source files \(.*more\.de\)"):
        corpus.shards(work)


def test_another_plan(corpus: Corpus, tmp_path: Path, tiny_model: Path) -> None:
    work = tmp_path / "work"
    corpus.shards(work, keep=Keep(estimate=False))
    with pytest.raises(MismatchError, match="--shard-lines 25, not 30"):
        corpus.shards(work, 30)
    with pytest.raises(MismatchError, match="another model"):
        replace(corpus, encoder=Encoder.load(tiny_model)).shards(work)
    with lock(work / PLAN), pytest.raises(ResourceError, match="held by process"):
        corpus.shards(work)
    plan = json.loads((work / PLAN).read_text())
    (work / PLAN).write_text(json.dumps(plan | {"version": "0.0.1"}))
    with pytest.raises(MismatchError, match=r"0\.0\.1.* install one version everywhere"):
        corpus.shards(work)
    (work / PLAN).write_text(json.dumps(plan | {"more": 1}))
    with pytest.raises(ArtifactError, match="not a whole plan"):
        corpus.shards(work)
    (work / PLAN).write_text("{}")
    with pytest.raises(ArtifactError, match="not the plan of a sharded mining"):
        corpus.shards(work)


def test_worker_of_another_version(tmp_path: Path) -> None:
    order = Order(str(tmp_path), Task("read/source-0000"), MEANS, 1, version="0.0.1")
    assert "made by 0.0.1; install one version" in execute(order)["error"]


@pytest.mark.parametrize("name", ["ray", "slurm"])
def test_missing_extra(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(DependencyError, match=rf"--backend {name} .*bitext-miner\[{name}\]"):
        corpus.shards(tmp_path / "work", workers=Workers(name))


def test_faults_are_noted(tmp_path: Path) -> None:
    def fault(out: Path) -> None:
        raise CorpusError("no such thing")

    with pytest.raises(CorpusError):
        perform(tmp_path, Task("read/source-0000"), "", fault)
    assert notes(tmp_path, FAILED)["read/source-0000"]["error"] == "no such thing"
    assert not list(tmp_path.glob("read/*")) and not list(tmp_path.glob("read/.*"))
    perform(tmp_path, Task("read/source-0000"), "", lambda out: {"rows": 3})
    assert record(tmp_path, "read/source-0000")["result"] == {"rows": 3}
    assert not notes(tmp_path, FAILED)
    with pytest.raises(ArtifactError, match="the result of a task is missing"):
        perform(tmp_path, Task("encode/x", ("read/source-0001",)), "", lambda out: None)


def test_tasks_follow_their_inputs(finished: tuple[Path, Mined]) -> None:
    work, _ = finished
    plan = Plan.read(work)
    tasks = plan.all_tasks(work)
    seen: set[str] = set()
    for task in tasks:
        assert set(task.inputs) <= seen, task.name
        seen.add(task.name)
        assert (work / task.name / DONE).exists()
    assert len(seen) == len(tasks)
    found = status(work)
    assert found.known and not found.errors and found.left is None
    assert [kind.done for kind in found.kinds] == [kind.total for kind in found.kinds]
    assert sum(kind.total for kind in found.kinds) == len(tasks)
    assert cut(5, 2) == [(0, 2), (2, 4), (4, 5)] and cut(0, 2) == []
