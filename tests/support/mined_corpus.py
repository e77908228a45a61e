"""A corpus of several files, mined with any settings, and the comparison of results."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miner.encoder.encoder import Encoder
from miner.mining.mine import mine
from miner.mining.result import Mined
from miner.tasks.record import DONE
from miner.tasks.workers import Workers
from miner.text.remote import is_remote

MEANS = 256 << 20


@dataclass(frozen=True)
class Corpus:
    """Two texts of several files, with repeats across them, and their encoder."""

    texts: tuple[list[str], list[str]]
    encoder: Encoder

    @property
    def sides(self) -> list[list[str | Path]]:
        """Return the files of both sides: paths, or addresses in an object store."""
        return [[one if is_remote(one) else Path(one) for one in own] for own in self.texts]

    def mine(
        self,
        work: str | Path | None = None,
        lines: int | None = 25,
        workers: Workers = Workers(),
        **more: Any,
    ) -> Mined:
        """Mine in parts of ``lines`` lines, in the directory ``work`` or a temporary one."""
        own = replace(workers, memory=MEANS, threads=1, shard_lines=lines)
        return mine(*self.sides, encoder=self.encoder, work=work, workers=own, **more)

    def whole(self, **more: Any) -> Mined:
        """Mine in one part, without options."""
        return mine(*self.sides, encoder=self.encoder, **more)


def same(found: Mined, wanted: Mined, place: Path) -> bool:
    """Assert that all columns of all pairs, the thresholds and the messages agree."""
    place.mkdir(exist_ok=True)
    found.all_pairs.write(place / "found.parquet")
    wanted.all_pairs.write(place / "wanted.parquet")
    assert (place / "found.parquet").read_bytes() == (place / "wanted.parquet").read_bytes()
    assert len(found.pairs) == len(wanted.pairs)
    assert found.threshold == wanted.threshold
    assert found.table() == wanted.table()
    return (found.notes, found.warnings) == (wanted.notes, wanted.warnings)


class Tasks:
    """Finished tasks of a work directory, and which of them are new since the last call."""

    def __init__(self, work: Path):
        self.work = work
        self._seen: dict[str, tuple[int, int]] = {}
        self.new()

    def new(self) -> list[str]:
        """Return the names of the tasks done since the last call, sorted."""
        seen = {}
        for path in self.work.glob(f"*/*/{DONE}"):
            found = path.stat()
            seen[f"{path.parent.parent.name}/{path.parent.name}"] = found.st_ino, found.st_mtime_ns
        new = sorted(name for name in seen if self._seen.get(name) != seen[name])
        self._seen = seen
        return new

    def kinds(self) -> dict[str, int]:
        """Return the number of tasks of each kind done since the last call."""
        names = [name.partition("/")[0] for name in self.new()]
        return {kind: names.count(kind) for kind in sorted(set(names))}
