"""The demo text, searched and calibrated once for all tests of mining."""

from dataclasses import replace
from pathlib import Path

import pytest

import miner
from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.mining.mine import run
from miner.mining.search import verifier_for
from miner.precision.estimate import Estimate, calibrate
from miner.precision.search_result import Search

DEMO = Path(miner.__file__).parent / "demo"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """The demo text, searched with the model that ships."""
    encoder, work = Encoder.load("default"), tmp_path_factory.mktemp("demo")
    sides = [
        Index.build(encoder, DEMO / name, work / name, format="plain")
        for name in ("demo.de", "demo.en")
    ]
    return run(sides[0], sides[1], verifier_for(sides[0], "probability", encoder), estimating=True)


@pytest.fixture(scope="session")
def calibrated_demo(demo: Search) -> tuple[Search, Estimate]:
    """The search of the demo, calibrated with three threads, and its estimate."""
    return calibrate(replace(demo, settings=replace(demo.settings, threads=3)))
