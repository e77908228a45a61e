"""The cost of a mining: registered tasks, times the rates of a sample."""

from pathlib import Path

import pytest

from miner.encoder.encoder import Encoder
from miner.mining.cost import Cost, Planner, Sample
from miner.mining.keep import Keep
from miner.tasks.task import BASE
from miner.tasks.workers import Workers

MILLION = 1_000_000


@pytest.fixture(scope="module")
def planners(verifying_model: Path) -> dict[bool, Planner]:
    """Return planners with the exhaustive and the hybrid engine, the latter without decoys."""
    encoder = Encoder.load(verifying_model)
    return {hybrid: Planner(encoder, keep=Keep(estimate=not hybrid)) for hybrid in (False, True)}


@pytest.fixture(scope="module")
def samples(planners, lone_file: Path, english_file: Path) -> dict[bool, Sample]:
    files = [lone_file], [english_file]
    return {hybrid: one.measured(files, hybrid=hybrid) for hybrid, one in planners.items()}


def costs(planner: Planner, sample: Sample, lines: int, part: int = MILLION) -> dict[str, Cost]:
    found = planner.costs((lines, lines), (1, 1), Workers(shard_lines=part), sample)
    return {cost.kind: cost for cost in found}


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_plan_of_the_sample_is_the_sample(planners, samples, hybrid):
    found = costs(planners[hybrid], samples[hybrid], 60, 30)
    assert found.keys() == samples[hybrid].costs.keys()
    for kind, cost in found.items():
        assert cost.core_seconds == pytest.approx(samples[hybrid].costs[kind].core_seconds), kind
        assert cost.disk == pytest.approx(samples[hybrid].costs[kind].disk), kind
    assert found["search" if not hybrid else "hybrid"].tasks == 4


def test_parts(planners: dict[bool, Planner], samples: dict[bool, Sample]) -> None:
    found = costs(planners[False], samples[False], 5 * MILLION, 2 * MILLION)
    assert [found[kind].tasks for kind in ("read", "part", "search", "verify")] == [2, 6, 9, 3]
    fewer = costs(planners[False], samples[False], 5 * MILLION, 5 * MILLION)
    assert found["search"].disk > fewer["search"].disk, "lists of more blocks take more space"
    assert found["match"].memory == fewer["match"].memory > 190 * 10 * MILLION
    assert found["verify"].memory < fewer["verify"].memory


def test_the_hybrid_engine_grows_less(planners, samples):
    few, many = (costs(planners[True], samples[True], n) for n in (MILLION, 64 * MILLION))
    for kind, most in (("assign", 8), ("retrieve", 16), ("hybrid", 32), ("recall", 1)):
        grown = many[kind].core_seconds / few[kind].core_seconds
        assert 64 * 0.99 < grown < 64 * most * 1.01, kind
    # The size of a block is fixed; the sample for centroids grows with the root.
    assert many["hybrid"].memory == few["hybrid"].memory
    assert 4 < (many["centroids"].memory - BASE) / (few["centroids"].memory - BASE) < 9
    few, many = (costs(planners[False], samples[False], n) for n in (MILLION, 64 * MILLION))
    assert many["search"].core_seconds == pytest.approx(64**2 * few["search"].core_seconds)
    assert planners[True].hybrid((MILLION, MILLION))
    assert not planners[True].hybrid((1000, 1000))
