"""Slurm jobs, some of them lost, by a stand-in for submitit; requested resources."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.stages import Named, add, read

from miner.errors import ResourceError
from miner.mining.search_stages import search
from miner.tasks import slurm as jobs
from miner.tasks.assignment import Assignment
from miner.tasks.slurm import MINUTES, ROOM, UNKNOWN, Slurm, need
from miner.tasks.task import Task, hints_of

GB = 1 << 30


class Job:
    """Job that may have left a result."""

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
        folder.mkdir(parents=True, exist_ok=True)

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
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    errors = SimpleNamespace(UncompletedJobError=KeyError, FailedJobError=ValueError)
    core = SimpleNamespace(utils=errors)
    module = SimpleNamespace(core=core, AutoExecutor=lambda folder: Executor(tmp_path / "jobs"))
    monkeypatch.setitem(sys.modules, "submitit", module)
    monkeypatch.setattr(jobs, "LOOK", 0.0)
    monkeypatch.setattr(jobs, "PAUSE", 0.01)
    return Slurm(1, tmp_path, 1)


def assignments(number: int) -> list[Assignment]:
    return [
        Assignment("", Task(f"search/{i:04}-0000", search, {}, 1.0, 1000.0), GB, 1, durably=True)
        for i in range(number)
    ]


def test_job_that_leaves_the_queue(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([None, {"7_1"}, {"8"}, {"8"}])
    monkeypatch.setattr(jobs, "_queue", lambda: next(looks))
    slurm.submit(assignments(6))
    whole = slurm.results()
    assert len(whole) == 4 and all(record == {} for _, record in whole)
    lost = slurm.results()
    assert [given.task.name for given, _ in lost] == ["search/0001-0000", "search/0005-0000"]
    assert all(record is None for _, record in lost)
    with pytest.raises(StopIteration):  # searched twice in vain, after an answer
        next(looks)


def test_what_a_job_asks_for(slurm: Slurm) -> None:
    slurm.submit(assignments(6))
    executor: Any = slurm._executor
    assert executor.given["name"] == "miner-search" and executor.given["mem_gb"] == 2
    assert executor.given["timeout_min"] == 2 * 60  # two tasks per job
    assert executor.given["slurm_additional_parameters"] == {"requeue": True}
    executor.refusal = "sbatch: error: invalid account\n"
    with pytest.raises(ResourceError, match=r"refused jobs of search .*\(sbatch: .*account\)"):
        slurm.submit(assignments(1))


def test_tasks_that_work_on_a_gpu_ask_for_one(slurm: Slurm, tmp_path: Path) -> None:
    with_gpu = Slurm(1, tmp_path, 1, gpu=True)
    executor: Any = with_gpu._executor
    with_gpu.submit([Assignment("", Task("add/0", add, {}), GB, 1, durably=True)])
    assert executor.given["slurm_additional_parameters"] == {"requeue": True}
    with_gpu.submit(assignments(1))
    assert executor.given["slurm_additional_parameters"] == {"requeue": True, "gres": "gpu:1"}


def test_needs() -> None:
    """Memory in GB and minutes, from the hints of a task's function, with a reserve."""
    reading = Task("read/0", read, {"value": Named(1, "")}, units=100, rows=4096)
    assert need(reading, GB) == (6, ROOM * 100 * 100 / 60 // 1 + 1)
    adding = Task("add/0", add, {"more": 1}, units=100, rows=4096)
    assert hints_of(add).seconds == 0 and need(adding, GB) == (1, UNKNOWN)
    few = Task("search/0", search, {}, units=1e6, rows=1000)
    many = Task("search/0", search, {}, units=1e12, rows=1_000_000)
    assert need(few, GB) == (2, MINUTES) and need(few, 4 * GB)[0] == 6
    assert need(many, GB)[0] == 3 and need(many, GB)[1] > 8 * 1e12 * 8e-9 / 60
