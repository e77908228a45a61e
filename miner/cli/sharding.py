"""Options of mining by shards: patterns of files, backends and workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from miner.cli.options import several
from miner.errors import CorpusError
from miner.names import BACKENDS
from miner.text.patterns import matching

if TYPE_CHECKING:
    from miner.knn.settings import SearchSettings
    from miner.shards.mine_shards import Workers


class Count(click.ParamType):
    """Number of things: 5000, 200k, 1M."""

    name = "count"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        text = str(value).strip().upper()
        try:
            number = float(text.rstrip("KMB")) * 1000 ** " KMB".index(text[-1:] or " ", 1)
        except ValueError:
            try:
                number = float(text)
            except ValueError:
                number = 0.0
        if not 1 <= number < float("inf"):
            self.fail(f"{value!r} is not a count; write for example 5000, 200k or 1M", param, ctx)
        return round(number)


options = several(
    click.option(
        "--backend",
        "shard_backend",
        type=click.Choice(BACKENDS),
        help="Mine by shards: one task after the other, in processes of this machine, on a Ray "
        "cluster (extra: ray), or in job arrays of Slurm (extra: slurm). Never changes the result. "
        "A stopped run, repeated, goes on.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="Tasks at a time [all cores]; with processes, --memory and --threads are of one.",
    ),
    click.option(
        "--shard-lines",
        type=Count(),
        metavar="N",
        help="Sentences of a shard, such as 200k [1M]. Never changes the result.",
    ),
    click.option("--address", help="Ray cluster: auto, or HOST:PORT [one on this machine]."),
)


def expanded(pattern: str) -> list[str]:
    """List the files of a pattern, sorted; a name that is none stays as it is.

    Raises UsageError for a pattern that no file has.
    """
    try:
        return matching(pattern)
    except CorpusError as error:
        raise click.UsageError(str(error)) from None


@dataclass(frozen=True)
class Sharding:
    """How to mine by shards."""

    backend: str
    count: int | None
    lines: int
    address: str | None

    def workers(self, settings: SearchSettings) -> Workers:
        """Return where tasks run."""
        from miner.shards.mine_shards import Workers

        return Workers(self.backend, self.count, self.address, settings.memory, settings.threads)


def take_sharding(given: dict[str, Any]) -> Sharding | None:
    """Take the options of shards out of ``given``; None where none was given."""
    names = ("shard_backend", "workers", "shard_lines", "address")
    backend, workers, lines, address = (given.pop(name) for name in names)
    if (backend, workers, lines, address) == (None,) * 4:
        return None
    if backend is None:
        backend = "ray" if address is not None else "processes" if workers else "serial"
    if address is not None and backend != "ray":
        raise click.UsageError("--address is that of a Ray cluster; give --backend ray")
    return Sharding(backend, workers, lines or 1_000_000, address)
