"""Options of encoders of other libraries, which commands receive as one ``Loading``."""

import functools
from dataclasses import fields
from typing import Any

import click

from miner.cli.options import several
from miner.encoder.loading import BACKENDS, Loading

_OPTIONS = several(
    click.option(
        "--source-prompt",
        metavar="TEXT",
        help="Put before each sentence of the source, for a model of hf: [that of the model's "
        "configuration].",
    ),
    click.option(
        "--target-prompt", metavar="TEXT", help="Likewise before each sentence of the target."
    ),
    click.option(
        "--runtime",
        "backend",
        type=click.Choice(BACKENDS),
        default=BACKENDS[0],
        show_default=True,
        help="Library that runs a model of hf:.",
    ),
)


def loading(function: Any) -> Any:
    """Add the options; the command receives ``loading``."""
    names = tuple(field.name for field in fields(Loading))

    @functools.wraps(function)
    def told(*arguments: Any, **named: Any) -> Any:
        chosen = Loading(**{name: named.pop(name) for name in names})
        return function(*arguments, loading=chosen, **named)

    return _OPTIONS(told)
