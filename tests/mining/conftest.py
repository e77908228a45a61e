"""Fixtures of the mining tests: a corpus of near-copies, searched and calibrated once."""

from dataclasses import replace

import pytest
from support.near_copies import NEAR

from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes
from miner.precision.estimate import Estimate, calibrate
from miner.precision.search_result import SearchResult


@pytest.fixture(scope="session")
def copies(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    """Search the near-copies with the shipped model."""
    encoder, work = Encoder.load("default"), tmp_path_factory.mktemp("near")
    sides = [
        Index.build(encoder, NEAR / name, work / name, format="plain")
        for name in ("near.de", "near.en")
    ]
    return search_indexes(
        sides[0], sides[1], verifier_for(sides[0], "probability", encoder), estimating=True
    )


@pytest.fixture(scope="session")
def calibrated_copies(copies: SearchResult) -> tuple[SearchResult, Estimate]:
    """Calibrate the search of the near-copies with three threads."""
    return calibrate(replace(copies, settings=replace(copies.settings, threads=3)))
