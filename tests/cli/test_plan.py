"""``miner plan``: what a mining would take; the cost of a hybrid search grows less."""

from __future__ import annotations

from pathlib import Path

import pytest
from miner.shards.cost import BASE, costs
from miner.shards.needs import TYPICAL
from support.commands import Miner, miner, write  # noqa: F401 (fixture)

FAST = ("--rank", "margin", "--threshold", 0)


@pytest.fixture
def files(miner: Miner, german: list[str], english: list[str]) -> tuple[str, str]:
    return str(write("de", *german)), str(write("en", *english))


def test_plan(miner: Miner, files: tuple[str, str]) -> None:
    shown = miner("plan", *files, "--model", miner.model, *FAST, "--as-if", "1B", "--workers", 1000)
    assert shown.code == 0, shown.err
    assert "1,000,000,000 x 1,000,000,000 lines in shards of 1,000,000" in shown.out
    assert "1,000,000 " in shown.out and "most time: search" in shown.out
    assert not Path("work").exists()


def test_the_cost_of_a_hybrid_search_grows_less() -> None:
    few, many = (
        {cost.kind: cost for cost in costs((n, n), (1, 1), 1_000_000, 8, TYPICAL)}
        for n in (1_000_000, 64_000_000)
    )
    for kind, least, most in (
        ("search", 64**2, 64**2),
        ("assign", 64, 64 * 8),
        ("retrieve", 64, 64 * 16),
        ("hybrid", 64, 64 * 32),
        ("recall", 64, 64),
    ):
        grown = many[kind].core_seconds / few[kind].core_seconds
        assert least * 0.99 < grown < most * 1.01, kind
    # A block holds no more; the sample of the centroids grows with the root.
    assert many["hybrid"].memory == few["hybrid"].memory
    assert 4 < (many["centroids"].memory - BASE) / (few["centroids"].memory - BASE) < 9
