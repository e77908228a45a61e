"""Recipes (`recipes.toml`): initial settings of a training, their changes for encoders, their list.

The module imports neither numpy nor torch.
"""

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from miner.config_fields import FieldOption, option_name, read_toml, settings
from miner.encoder.architecture import ENCODERS
from miner_train.config import TrainConfig

_TABLES = read_toml(Path(__file__).with_suffix(".toml"))


def _settings(name: str) -> dict[str, Any]:
    """Return the settings of a recipe, which override the settings of its base recipe."""
    table = _TABLES[name]
    changes = {
        key: value for key, value in table.items() if key not in ("note", "base", "encoders")
    }
    return (_settings(table["base"]) if "base" in table else {}) | changes


# Recipes by name, a note on each, and settings that differ for an encoder, by recipe and encoder.
RECIPES = {name: TrainConfig(**_settings(name)) for name in _TABLES}
RECIPE_NOTES: dict[str, str] = {name: table["note"] for name, table in _TABLES.items()}
FOR_ENCODER: dict[str, dict[str, dict[str, Any]]] = {
    name: {
        encoder: changes
        for encoders, changes in table["encoders"].items()
        for encoder in encoders.split()
    }
    for name, table in _TABLES.items()
    if "encoders" in table
}


def recipe(name: str, encoder: str | None = None) -> TrainConfig:
    """Return a recipe, adapted to ``encoder`` if it differs from the recipe's encoder.

    Settings without effect for the encoder fall back to their defaults. Encoders joined by "+"
    share the settings of the recipe. Raises KeyError for an unknown name, and ValueError that
    begins with a field's name for an invalid encoder.
    """
    base = RECIPES[name]
    if encoder is None or encoder == base.encoder:
        return base
    changes: dict[str, Any] = {**FOR_ENCODER.get(name, {}).get(encoder, {}), "encoder": encoder}
    if set(encoder.split("+")) <= set(ENCODERS):
        plain = TrainConfig(encoder=encoder)
        for field in dataclasses.fields(TrainConfig):
            setting: FieldOption = field.metadata["setting"]
            # Only the encoder decides whether these settings have an effect.
            by_encoder = setting.group in ("Encoder", "Vocabulary", "Optimisation")
            if by_encoder and setting.need and not setting.idle and not setting.need.met(plain):
                changes[field.name] = field.default
    return dataclasses.replace(base, **changes)


def listing() -> str:
    """Explain every choice and recipe, generated from the fields of TrainConfig."""
    described = settings(TrainConfig)
    lines: list[str] = []
    for name, setting in described.items():
        if setting.choices:
            lines += _section(f"{option_name(name)}: {setting.help}", setting.choices)
    lines += _section("--recipe: settings to start from.", RECIPE_NOTES)
    lines.append("Settings of the recipes:")
    columns = [
        [title, *(_shown(getattr(config, name)) for name in described)]
        for title, config in RECIPES.items()
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
