"""Jobs of Slurm, of which some are lost, by a stand-in for submitit; what jobs ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from miner.shards.shard_plan import Plan
from miner.shards.slurm_jobs import Slurm
from miner.shards.task import Task
from miner.shards.work import Order

from miner.errors import ResourceError
from miner.mining.mine import Mined
from miner.shards import needs as estimates
from miner.shards import slurm_jobs
from miner.shards.needs import UNKNOWN, needs

GB = 1 << 30


class Job:
    """A job that has left a result, or not."""

    def __init__(self, name: str, place: Path, run: Callable[[], Any], whole: bool):
        self.job_id, self.result = name, run
        self.paths = SimpleNamespace(result_pickle=place / name)
        if whole:
            self.paths.result_pickle.touch()


class Executor:
    """Stand-in for submitit's. The second job of an array leaves no result."""

    cluster = "slurm"

    def __init__(self, folder: Path):
        self.folder, self.given, self.refusal = folder, {}, ""
        folder.mkdir(parents=True)

    def update_parameters(self, **given: Any) -> None:
        self.given |= given

    def map_array(self, function: Any, parts: list[Any]) -> list[Job]:
        if self.refusal:
            raise OSError(self.refusal)
        return [
            Job(f"7_{i}", self.folder, lambda part=part: [{} for _ in part], i != 1)
            for i, part in enumerate(parts)
        ]


@pytest.fixture
def slurm(finished: tuple[Path, Mined], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    errors = SimpleNamespace(UncompletedJobError=KeyError, FailedJobError=ValueError)
    core = SimpleNamespace(utils=errors)
    module = SimpleNamespace(core=core, AutoExecutor=lambda folder: Executor(tmp_path / "jobs"))
    monkeypatch.setitem(sys.modules, "submitit", module)
    monkeypatch.setattr(slurm_jobs, "LOOK", 0.0)
    monkeypatch.setattr(slurm_jobs, "PAUSE", 0.01)
    return Slurm(1, finished[0], GB, 1)


def orders(number: int) -> list[Order]:
    return [Order("", Task(f"search/{i:04}-0000"), GB, 1) for i in range(number)]


def test_job_that_leaves_the_queue(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([None, {"7_1"}, {"8"}, {"8"}])
    monkeypatch.setattr(slurm_jobs, "_queue", lambda: next(looks))
    slurm.submit(orders(6))
    whole = slurm.results()
    assert len(whole) == 4 and all(record == {} for _, record in whole)
    lost = slurm.results()
    assert [order.task.name for order, _ in lost] == ["search/0001-0000", "search/0005-0000"]
    assert all(record is None for _, record in lost)
    with pytest.raises(StopIteration):  # it was looked for in vain twice, after an answer
        next(looks)


def test_what_a_job_asks_for(slurm: Slurm) -> None:
    slurm.submit(orders(6))
    executor: Any = slurm._executor
    assert executor.given["name"] == "miner-search" and executor.given["mem_gb"] == 2
    assert executor.given["timeout_min"] == 2 * 60  # two tasks a job
    assert executor.given["slurm_additional_parameters"] == {"requeue": True}
    executor.refusal = "sbatch: error: invalid account\n"
    with pytest.raises(ResourceError, match=r"refused jobs of search .*\(sbatch: .*account\)"):
        slurm.submit(orders(1))


def test_estimates(finished: tuple[Path, Mined], monkeypatch: pytest.MonkeyPatch) -> None:
    work, _ = finished
    plan = replace(Plan.read(work), shard_lines=1_000_000)
    monkeypatch.setattr(estimates, "_sizes", lambda plan, work: (10_000_000, 10_000_000))
    found = {kind: needs(plan, work, kind, GB, False) for kind in ("read", "search", "match")}
    assert found["search"].minutes > 8 * 1e12 * 8e-9 / 60 > 8 * 60
    assert found["match"].memory > 190 * 20_000_000
    assert found["read"].memory < found["search"].memory
    assert needs(plan, work, "encode", GB, True).minutes == UNKNOWN
    assert needs(plan, work, "another", GB, False).minutes == UNKNOWN
    monkeypatch.undo()
    assert needs(plan, work / "none", "read", GB, False).minutes == estimates.MINUTES
