"""Text of ``miner train --list``: choices, recipes, and a table of each recipe's settings."""

import textwrap
from collections.abc import Iterator, Mapping

from miner_train.config import RECIPE_NOTES, RECIPES, TrainConfig
from miner_train.config_fields import option_name, settings


def listing() -> str:
    """Explain every choice and recipe, generated from the fields of TrainConfig."""
    described = settings(TrainConfig)
    lines: list[str] = []
    for name, own in described.items():
        if own.choices:
            lines += _section(f"{option_name(name)}: {own.help}", own.choices)
    lines += _section("--recipe: settings to start from.", RECIPE_NOTES)
    lines.append("Settings of the recipes:")
    lines.append("  ".join([f"  {'':18}", *(f"{name:>12}" for name in RECIPES)]))
    for name in described:
        values = [_shown(getattr(recipe, name)) for recipe in RECIPES.values()]
        lines.append(
            "  ".join([f"  {option_name(name):18}", *(f"{value:>12}" for value in values)])
        )
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
