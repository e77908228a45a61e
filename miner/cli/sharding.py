"""Options of where tasks run, and patterns of files."""

from collections.abc import Sequence
from typing import Any

import click

from miner.cli.options import several
from miner.cli.settings_options import Decorator, Settings
from miner.errors import CorpusError
from miner.knn.settings import SearchSettings
from miner.tasks.workers import Workers
from miner.text.patterns import matching


def _workers(values: dict[str, Any]) -> Workers:
    """Return the settings of workers from the options that were set."""
    if "backend" not in values:
        default = "processes" if "workers" in values else "serial"
        values["backend"] = "ray" if "address" in values else default
    if "address" in values and values["backend"] != "ray":
        raise click.UsageError("--address names a Ray cluster; give --backend ray")
    return Workers(**values)


options = Settings(Workers, "workers", _workers)()
# The same, with --threads for each task.
with_threads = several(options, Settings(SearchSettings, "workers")("threads"))


def work(what: str = "") -> Decorator:
    """Option for the directory that keeps the results of all tasks; ``what`` names further
    content.
    """
    return click.option(
        "--work",
        metavar="DIR",
        help=f"Keep the results of all tasks in DIR, {what}which all workers share: a repeated or "
        "stopped command continues from there. Also s3://BUCKET/DIR (extra: s3).",
    )


def expanded(pattern: str) -> list[str]:
    """Expand a pattern to sorted files; another name is kept as it is.

    Raises UsageError for a pattern that matches no file.
    """
    try:
        return matching(pattern)
    except CorpusError as error:
        raise click.UsageError(str(error)) from None


def bitexts(patterns: Sequence[str]) -> list[list[str]]:
    """Return the bitexts of a pattern, or of a pattern per side, whose files are paired in order.

    Raises UsageError if the patterns match different numbers of files.
    """
    sides = [expanded(pattern) for pattern in patterns]
    if len(sides[0]) != len(sides[-1]):
        raise click.UsageError(
            f"--source {patterns[0]} has {len(sides[0])} files but --target {patterns[1]} has "
            f"{len(sides[1])}; each needs its translation"
        )
    return [list(files) for files in zip(*sides, strict=True)]
