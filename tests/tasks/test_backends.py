"""Clusters: Ray with two nodes of this machine, one of which is killed; Slurm by submitit."""

from __future__ import annotations

from pathlib import Path

import pytest
from miner.shards.workers import Workers
from support.sharded import Corpus, same

from miner.errors import ResourceError
from miner.knn.settings import SearchSettings

# Few tasks: each costs a busy machine a second here.
MARGIN = SearchSettings(rank="margin")


def test_ray_of_which_a_node_is_killed_and_another_joins(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        found = corpus.shards(tmp_path / "work", 30, workers, settings=MARGIN, report=report)
        assert others
        assert same(found, corpus.whole(MARGIN), tmp_path)
    finally:
        cluster.shutdown()


def test_no_ray_cluster(corpus: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(ResourceError, match=r"--address 127\.0\.0\.1:1: no Ray cluster"):
        corpus.shards(tmp_path / "work", workers=Workers("ray", 2, "127.0.0.1:1"))


def test_slurm_by_local_jobs(corpus: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("submitit")
    found = corpus.shards(tmp_path / "work", 1000, Workers("slurm", 2), settings=MARGIN)
    assert same(found, corpus.whole(MARGIN), tmp_path)
