"""Searches of the small text, and of sentences in a test."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.mine import search
from miner.scoring.pairs import Pairs

Build = Callable[..., Index]


@pytest.fixture
def build(encoder: Encoder, tmp_path: Path) -> Build:
    """Build an index of these sentences, named after the file."""

    def build(name: str, sentences: Sequence[str], **settings: Any) -> Index:
        (tmp_path / name).write_text("".join(f"{s}\n" for s in sentences), encoding="utf-8")
        return Index.build(encoder, tmp_path / name, tmp_path / f"{name}.index", **settings)

    return build


@pytest.fixture(scope="module")
def pairs(indexes: tuple[Index, Index]) -> Pairs:
    return search(*indexes, SearchSettings(device="cpu", threads=2))


def mine(source: Index, target: Index, **settings: Any) -> Pairs:
    return search(source, target, SearchSettings(**{"device": "cpu", "threads": 2} | settings))


def rows(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.source_row.tolist(), pairs.target_row.tolist(), strict=True))
