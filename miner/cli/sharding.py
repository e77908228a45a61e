"""Options of mining by shards: patterns of files, backends and workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from miner.cli.options import several
from miner.errors import CorpusError
from miner.names import BACKENDS
from miner.text.patterns import matching

if TYPE_CHECKING:
    from miner.shards.workers import Workers


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


backends = several(
    click.option(
        "--backend",
        "shard_backend",
        type=click.Choice(BACKENDS),
        help="Work by shards: one task after the other, in processes of this machine, on a Ray "
        "cluster (extra: ray), or in job arrays of Slurm (extra: slurm). Never changes the result. "
        "A stopped run, repeated, goes on.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        metavar="N",
        help="Tasks at a time [all cores]; with processes, --memory and --threads are of one.",
    ),
    click.option("--address", help="Ray cluster: auto, or HOST:PORT [one on this machine]."),
)
options = several(
    backends,
    click.option(
        "--shard-lines",
        type=Count(),
        metavar="N",
        help="Sentences of a shard, such as 200k [1M]. Never changes the result.",
    ),
)


work = click.option(
    "--work",
    metavar="DIR",
    help="With --backend: directory of the tasks' results, from which a repeated command goes on.",
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

    def workers(self, memory: int | None = None, threads: int | None = None) -> Workers:
        """Return where tasks run; ``memory`` and ``threads`` are those of one."""
        from miner.shards.workers import Workers

        return Workers(self.backend, self.count, self.address, memory, threads)


def require_work(work: str | None, texts: Sequence[str]) -> str:
    """Return the work directory. Raises UsageError without one, and for standard input."""
    if work is None:
        raise click.UsageError("shards keep their tasks' results: name a --work directory")
    if "-" in texts:
        raise click.UsageError("shards need files, not standard input")
    return work


def bitexts(bitext: str | None, source: str | None, target: str | None) -> list[list[str]]:
    """List the bitexts of a pattern, or of one for each side, whose files go together in order.

    Raises UsageError where the patterns have different numbers of files.
    """
    if bitext is not None:
        return [[path] for path in expanded(bitext)]
    assert source is not None and target is not None
    left, right = expanded(source), expanded(target)
    if len(left) != len(right):
        raise click.UsageError(
            f"--source {source} has {len(left)} files but --target {target} has {len(right)}; each "
            "needs its translation"
        )
    return [list(pair) for pair in zip(left, right, strict=True)]


def take_sharding(given: dict[str, Any], work: str | None = None) -> Sharding | None:
    """Take the options of shards out of ``given``; None where none was given.

    Raises UsageError for ``work``, the directory of the tasks, without any of them.
    """
    names = ("shard_backend", "workers", "shard_lines", "address")
    backend, workers, lines, address = (given.pop(name, None) for name in names)
    if (backend, workers, lines, address) == (None,) * 4:
        if work is not None:
            raise click.UsageError("--work keeps the results of tasks; give --backend, too")
        return None
    if backend is None:
        backend = "ray" if address is not None else "processes" if workers else "serial"
    if address is not None and backend != "ray":
        raise click.UsageError("--address is that of a Ray cluster; give --backend ray")
    return Sharding(backend, workers, lines or 1_000_000, address)
