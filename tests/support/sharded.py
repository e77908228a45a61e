"""A corpus of several files for mining by shards, and the comparison of two results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miner.shards.mine_shards import mine_shards
from miner.shards.workers import Workers

from miner.encoder.encoder import Encoder
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.mining.mine import Mined, mine

MEANS = 256 << 20
SERIAL = Workers()


@dataclass(frozen=True)
class Corpus:
    """Two texts of several files, with repeats across them, and their encoder."""

    texts: tuple[list[str], list[str]]
    encoder: Encoder

    def whole(self, settings: SearchSettings = SearchSettings(), keep: Keep = Keep()) -> Mined:
        return mine(*self.texts, keep=keep, settings=settings, encoder=self.encoder)

    def shards(self, work: Path, lines: int = 25, workers: Workers = SERIAL, **more: Any) -> Mined:
        return mine_shards(
            self.texts, work, encoder=self.encoder, shard_lines=lines,
            workers=replace(workers, memory=MEANS), **more,
        )  # fmt: skip


def same(found: Mined, wanted: Mined, place: Path) -> bool:
    """All columns of all pairs, the threshold, the table and the words about them agree."""
    place.mkdir(exist_ok=True)
    found.all_pairs.write(place / "found.parquet")
    wanted.all_pairs.write(place / "wanted.parquet")
    assert (place / "found.parquet").read_bytes() == (place / "wanted.parquet").read_bytes()
    assert len(found.pairs) == len(wanted.pairs)
    assert found.threshold == wanted.threshold
    assert found.table() == wanted.table()
    return (found.notes, found.warnings) == (wanted.notes, wanted.warnings)
