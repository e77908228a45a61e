"""Options that the commands of ``miner paraphrase`` share, and their report of counts and means."""

from collections.abc import Mapping
from typing import Any

import click

from miner.cli import options
from miner.cli.settings_options import Decorator

json_file = options.json_file("counts and means", "")


def columns(first: str, second: str) -> Decorator:
    """Options for the columns of both sides; ``first`` and ``second`` describe their content."""
    return options.bitext_format(
        *("source_column", "target_column", "header"),
        source_column={"help": f"Column of the {first} [1]."},
        target_column={"help": f"Column of the {second} [2]."},
    )


def best(what: str, usual: int = 1) -> Decorator:
    """Option for the number of rows of a sentence or word."""
    return click.option("--best", type=click.IntRange(1, 100), default=usual, help=what)


def restart(what: str) -> Decorator:
    """Flag to discard the work of a stopped run."""
    return click.option("--restart", is_flag=True, help=f"Discard the {what} of a stopped run.")


def tell(
    means: Mapping[str, float], path: str | None, record: Mapping[str, Any] | None = None
) -> None:
    """Print counts and means, and write ``record``, by default the same values, to ``path`` as
    JSON.
    """
    for name, value in means.items():
        options.say(f"{name}: {value:,.3f}".removesuffix(".000"))
    if path is not None:
        options.write_json(path, dict(means if record is None else record), indent=1)
