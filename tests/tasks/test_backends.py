"""Clusters: Ray with two nodes of this machine, one of which is killed; Slurm by submitit."""

import os
from pathlib import Path

import pytest
from support.mined_corpus import same
from support.stages import pipeline

from miner.errors import ResourceError
from miner.knn.settings import SearchSettings
from miner.tasks.run import open_run
from miner.tasks.workers import MEMORY, Workers

# Few tasks: each costs a busy machine a second here.
MARGIN = SearchSettings(rank="margin")


def test_ray_of_which_a_node_is_killed_and_another_joins(corpus, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    size = 80 << 20
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": size, "include_dashboard": False},
    )
    try:
        node = cluster.add_node(num_cpus=1, object_store_memory=size)
        others: list[object] = []

        def report(stage: str, done: int, total: int | None) -> None:
            if done >= 16 and not others:
                cluster.remove_node(node, allow_graceful=False)
                others.append(cluster.add_node(num_cpus=1, object_store_memory=size))

        workers = Workers("ray", 2, cluster.address)
        found = corpus.mine(tmp_path / "work", 30, workers, settings=MARGIN, report=report)
        assert others
        assert same(found, corpus.whole(settings=MARGIN), tmp_path)
    finally:
        cluster.shutdown()


def test_no_ray_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    run = open_run(tmp_path / "work", Workers("ray", 2, "127.0.0.1:1"), "adding", {})
    said = r"--address 127\.0\.0\.1:1: no Ray cluster"
    with pytest.raises(ResourceError, match=said), run:
        pass


def test_slurm_by_local_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit")
    path = str(Path(__file__).parents[1])  # of the stages, for a job
    monkeypatch.setenv("PYTHONPATH", path, prepend=os.pathsep)
    with open_run(tmp_path / "work", Workers("slurm", 2), "adding", {}) as run:
        assert pipeline(run) == 36


def test_means_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's are divided among its workers; of others nothing is known."""
    monkeypatch.setattr("miner.tasks.workers.thread_count", lambda: 8)
    monkeypatch.setattr("miner.tasks.workers.memory_budget", lambda size=None: size or 64 << 30)
    assert Workers().means == {"memory": 64 << 30, "threads": 8}
    assert Workers(workers=3).count == 1
    assert Workers("processes").means == {"memory": 8 << 30, "threads": 1}
    assert Workers("processes", 2).means == {"memory": 32 << 30, "threads": 4}
    assert Workers("slurm", 200).means == {"memory": MEMORY, "threads": 1}
    assert Workers("ray", 9, memory=5 << 30, threads=2).means == {"memory": 5 << 30, "threads": 2}
