"""Options that the commands of ``miner paraphrase`` share, and their report of counts and means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from miner.cli import options

json_file = click.option(
    "--json", "json_file", metavar="FILE", help="Write counts and means to FILE."
)


def columns(first: str, second: str) -> options.Decorator:
    """Options for the columns of both sides; ``first`` and ``second`` say of what they are."""
    return options.several(
        click.option("--scol", metavar="N|NAME", help=f"Column of the {first} [1]."),
        click.option("--tcol", metavar="N|NAME", help=f"Column of the {second} [2]."),
        options.header,
    )


def best(what: str, usual: int = 1) -> options.Decorator:
    """Option for the number of rows of a sentence or word."""
    return click.option(
        "--best", type=click.IntRange(1, 100), default=usual, show_default=True, help=what
    )


def restart(what: str) -> options.Decorator:
    """Flag to discard the work of a stopped run."""
    return click.option("--restart", is_flag=True, help=f"Discard the {what} of a stopped run.")


def tell(
    means: Mapping[str, float], path: str | None, record: Mapping[str, Any] | None = None
) -> None:
    """Print counts and means, and write ``record``, or else these, to ``path`` as JSON."""
    from miner.cli.evaluated import write_json

    for name, value in means.items():
        click.echo(f"{name}: {value:,.3f}".removesuffix(".000"), err=True)
    if path is not None:
        write_json(path, dict(means if record is None else record), indent=1)
