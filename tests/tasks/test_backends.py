"""Clusters: Ray with two nodes on this machine, one of them killed; Slurm by submitit."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.mined_corpus import same
from support.stages import pipeline

from miner.errors import ResourceError
from miner.knn.settings import SearchSettings
from miner.libraries import has_driver
from miner.mining.means import search_workers
from miner.mining.search_stages import merge, search
from miner.tasks.assignment import Assignment
from miner.tasks.backends import open_backend
from miner.tasks.run import RunOptions, open_run
from miner.tasks.task import Task
from miner.tasks.workers import MEMORY, Workers

# Few tasks: on a busy machine each costs a second.
MARGIN = SearchSettings(rank="margin")


def test_ray_of_which_a_node_is_killed_and_another_joins(corpus, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # On a busy machine the processes of a node take longer to start than Ray waits by itself: 30
    # seconds, by a clock that is slowed down here.
    slow = SimpleNamespace(**{**vars(time), "monotonic": lambda: time.monotonic() / 20})
    monkeypatch.setattr(ray._private.node, "time", slow)
    monkeypatch.setattr(ray._private.ray_constants, "RAY_DASHBOARD_STARTUP_TIMEOUT_S", 600)
    for limit in ("raylet_start_wait_time_s", "worker_register_timeout_seconds"):
        monkeypatch.setenv(f"RAY_{limit}", "600")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    size = 80 << 20
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": size, "include_dashboard": False},
    )
    try:
        node = cluster.add_node(wait=False, num_cpus=1, object_store_memory=size)
        cluster.wait_for_nodes(timeout=600)
        others: list[object] = []

        def report(stage: str, done: int, total: int | None) -> None:
            if done >= 16 and not others:
                cluster.remove_node(node, allow_graceful=False)
                others.append(cluster.add_node(False, num_cpus=1, object_store_memory=size))

        workers = Workers("ray", 2, cluster.address)
        found = corpus.mine(tmp_path / "work", 30, workers, settings=MARGIN, report=report)
        assert others
        assert same(found, corpus.whole(settings=MARGIN), tmp_path)
    finally:
        cluster.shutdown()


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "auto", "cpu"])
def test_ray_tasks_that_work_on_a_gpu_ask_for_one(monkeypatch, device: str) -> None:
    """Only if the search was told to use a GPU; ``auto`` uses what a node offers."""
    asked: list[tuple[int, str]] = []

    class Remote:
        def options(self, num_gpus: int) -> SimpleNamespace:
            return SimpleNamespace(remote=lambda given: asked.append((num_gpus, given.task.kind)))

    ray = SimpleNamespace(is_initialized=lambda: True, remote=lambda **more: lambda call: Remote())
    monkeypatch.setitem(sys.modules, "ray", ray)
    workers = search_workers(Workers("ray", 2), SearchSettings(device=device))
    backend = open_backend("ray", 2, Path(), gpu=workers.gpu)
    kinds = {"search": search, "merge": merge}
    tasks = [Task(f"{kind}/0", function, {}) for kind, function in kinds.items()]
    backend.submit([Assignment("", task, 1, 1, True) for task in tasks])
    assert asked == [(int("cuda" in device), "search"), (0, "merge")]


def test_a_gpu_of_this_machine_must_be_there() -> None:
    """Checked before the work begins, and not for other machines."""
    if has_driver():
        pytest.skip("there is a GPU")
    with pytest.raises(ResourceError, match="--device cuda: no GPU here that torch or FAISS finds"):
        search_workers(Workers("processes", 2), SearchSettings(device="cuda"))
    assert search_workers(Workers("slurm", 2), SearchSettings(device="cuda")).gpu


def test_no_ray_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    options = RunOptions(tmp_path / "work", workers=Workers("ray", 2, "127.0.0.1:1"))
    run = open_run(options, "adding", {})
    said = r"--address 127\.0\.0\.1:1: no Ray cluster"
    with pytest.raises(ResourceError, match=said), run:
        pass


def test_slurm_by_local_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit")
    path = str(Path(__file__).parents[1])  # seconds of all stages of a job
    monkeypatch.setenv("PYTHONPATH", path, prepend=os.pathsep)
    with open_run(RunOptions(tmp_path / "work", workers=Workers("slurm", 2)), "adding", {}) as run:
        assert pipeline(run) == 36


def test_means_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's memory and threads are divided among workers; others' are unknown."""
    monkeypatch.setattr("miner.machine._usable_cores", lambda: 8)
    monkeypatch.setattr("miner.tasks.workers.memory_budget", lambda size=None: size or 64 << 30)
    assert Workers().means == {"memory": 64 << 30, "threads": 8}
    assert Workers(threads=999).means["threads"] == 32  # more only wait for each other
    assert Workers(workers=3).count == 1
    assert Workers("processes").means == {"memory": 8 << 30, "threads": 1}
    assert Workers("processes", 2).means == {"memory": 32 << 30, "threads": 4}
    assert Workers("slurm", 200).means == {"memory": MEMORY, "threads": 1}
    assert Workers("ray", 9, memory=5 << 30, threads=2).means == {"memory": 5 << 30, "threads": 2}
