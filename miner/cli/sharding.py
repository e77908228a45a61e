"""Options of work by shards: patterns of files, backends and workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from miner.cli.settings_options import Settings
from miner.config_fields import option
from miner.errors import CorpusError
from miner.shards.worker_settings import SHARD_LINES, Workers
from miner.text.patterns import matching


@dataclass(frozen=True)
class Sharding(Workers):
    """Workers, and the size of the shards that they work on."""

    shard_lines: int = option(
        SHARD_LINES,
        "Sentences of a shard, such as 200k [1M]. Never changes the result.",
        kind="positive count",
        metavar="N",
        quiet=True,
    )


def _sharding(given: dict[str, Any]) -> Sharding | None:
    """Return how to work by shards; None where no option asks for it."""
    if not given:
        return None
    if "backend" not in given:
        usual = "processes" if "workers" in given else "serial"
        given["backend"] = "ray" if "address" in given else usual
    if "address" in given and given["backend"] != "ray":
        raise click.UsageError("--address is that of a Ray cluster; give --backend ray")
    return Sharding(**given)


options = Settings(Sharding, "shards", _sharding)()
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


def require_work(work: str | None, texts: Sequence[str]) -> str:
    """Return the work directory. Raises UsageError without one, and for standard input."""
    if work is None:
        raise click.UsageError("shards keep their tasks' results: name a --work directory")
    if "-" in texts:
        raise click.UsageError("shards need files, not standard input")
    return work


def refuse_work(work: str | None) -> None:
    """Refuse a directory of tasks where there are none."""
    if work is not None:
        raise click.UsageError("--work keeps the results of tasks; give --backend, too")


def bitexts(patterns: Sequence[str]) -> list[list[str]]:
    """List the bitexts of a pattern, or of one for each side, whose files go together in order.

    Raises UsageError where the patterns have different numbers of files.
    """
    sides = [expanded(pattern) for pattern in patterns]
    if len(sides[0]) != len(sides[-1]):
        raise click.UsageError(
            f"--source {patterns[0]} has {len(sides[0])} files but --target {patterns[1]} has "
            f"{len(sides[1])}; each needs its translation"
        )
    return [list(files) for files in zip(*sides, strict=True)]
