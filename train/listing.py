"""Text of ``miner train --list``: choices, recipes, and a table of each recipe's settings."""

import textwrap
from collections.abc import Iterator, Mapping

from miner.config_fields import option_name, settings
from miner_train.config import TrainConfig
from miner_train.recipes import FOR_ENCODER, RECIPE_NOTES, RECIPES


def listing() -> str:
    """Explain every choice and recipe, generated from the fields of TrainConfig."""
    described = settings(TrainConfig)
    lines: list[str] = []
    for name, own in described.items():
        if own.choices:
            lines += _section(f"{option_name(name)}: {own.help}", own.choices)
    lines += _section("--recipe: settings to start from.", RECIPE_NOTES)
    lines.append("Settings of the recipes:")
    columns = [
        [title, *(_shown(getattr(one, name)) for name in described)]
        for title, one in RECIPES.items()
    ]
    widths = [max(map(len, column)) for column in columns]
    for name, *values in zip(["", *map(option_name, described)], *columns, strict=True):
        cells = (f"{value:>{width}}" for value, width in zip(values, widths, strict=True))
        lines.append("  ".join([f"  {name:19}", *cells]))
    lines += ["", "Settings of a recipe that --encoder changes:"]
    for name, encoders in FOR_ENCODER.items():
        for encoder, changes in encoders.items():
            changed = ", ".join(f"{option_name(key)} {_shown(changes[key])}" for key in changes)
            lines.append(f"  {name} --encoder {encoder}: {changed}")
    return "\n".join(lines)


def _section(title: str, notes: Mapping[str, str]) -> Iterator[str]:
    yield title
    for name, note in notes.items():
        yield from textwrap.wrap(
            note, 100, initial_indent=f"  {name:12} ", subsequent_indent=" " * 15
        )
    yield ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
