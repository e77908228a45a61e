"""Fixture of the tests of indexes: one that a test may change."""

import shutil
from pathlib import Path

import pytest

from miner.index.index import Index


@pytest.fixture
def built(indexes: tuple[Index, Index], tmp_path: Path) -> Index:
    """Copy of the German index that a test may change."""
    return Index.open(shutil.copytree(indexes[0].path, tmp_path / "index"))
