"""Fields of settings' dataclasses, with their help, choices and range.

The command line generates its options from them, and `check` refuses values that they do not allow.
Imports nothing heavy, so that help texts load fast. cattrs and msgspec do not fit: they read values
into dataclasses, and know neither command-line options nor the wording of errors.
"""

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError


class SettingsError(ValueError):
    """Settings that contradict each other, or that cannot serve the work at hand."""


@dataclass(frozen=True)
class Need:
    """Condition under which a setting has an effect, with a name: "a recurrent encoder"."""

    name: str
    met: Callable[[Any], bool]


@dataclass(frozen=True)
class FieldOption:
    """Description of one field of a configuration.

    ``choices`` are the allowed words with a note on each; with ``several`` the value may
    join different ones by "+". ``within`` is the allowed interval in mathematical notation,
    "[0, 1)". Where ``need`` is not met the field must keep its default, unless it is ``idle``: then
    a recipe may set it all the same, for users who change its encoder or objective.

    ``option`` has the names of the option where they are not the field's ("-k --neighbors"), and
    ``off`` the name that turns a bool off. ``kind`` is the type of the option's text where the
    field's type does not tell: one of ``miner.cli.option_types.KINDS``. ``quiet`` keeps the default
    out of the help. With ``multiple`` the option is repeatable, and the value a tuple. A field
    without help has no option, and ``reason`` says why. Help lists the options of a ``group``
    apart; their values depend on a recipe, and the default in their help is the first recipe's.
    """

    group: str
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    several: bool = False
    within: str = ""
    need: Need | None = None
    idle: bool = False
    metavar: str | None = None
    option: str = ""
    off: str = ""
    kind: str = ""
    quiet: bool = False
    multiple: bool = False
    reason: str = ""


def setting(group: str, default: Any, help: str, *, compare: bool = True, **more: Any) -> Any:
    """Field of a configuration, with its default and the rest of its :class:`FieldOption`."""
    option = FieldOption(group, help, **more)
    return field(default=default, compare=compare, metadata={"setting": option})


def option(default: Any, help: str, choices: Iterable[str] = (), **more: Any) -> Any:
    """Define a field whose option is listed among the other options of a command."""
    return setting("", default, help, choices=dict.fromkeys(choices, ""), **more)


def no_option(default: Any, reason: str) -> Any:
    """Define a field without a command-line option, with the reason."""
    return setting("", default, "", reason=reason)


def settings(config: Any) -> dict[str, FieldOption]:
    """Settings of a configuration (instance or class) by the names of its fields."""
    return {item.name: item.metadata["setting"] for item in dataclasses.fields(config)}


def option_name(name: str) -> str:
    """Return the command line's name of a field: ``final_rate`` is ``--final-rate``."""
    return "--" + name.replace("_", "-")


# Ranges of the kinds of values that the command line converts by itself.
_RANGES = {"count": "[0, inf)", "positive count": "[1, inf)", "share": "(0, 1)"}


def check(config: Any) -> None:
    """Check each value against its setting. Raises ValueError that begins with the field's name."""
    described = settings(config)
    values = {name: getattr(config, name) for name in described}
    for name, option in described.items():
        value = values[name]
        if value is None:
            continue
        if option.choices:
            words = value.split("+") if option.several else [value]
            if len(set(words)) < len(words) or not set(words) <= set(option.choices):
                joined = ", nor several different ones joined by '+'" if option.several else ""
                choices = ", ".join(option.choices)
                raise ValueError(f"{name} = {value!r} is not one of {choices}{joined}")
        within = option.within or _RANGES.get(option.kind)
        if within and not _lies_within(value, within):
            raise ValueError(f"{name} = {value!r} is out of range {within}")
        if option.kind in ("count", "positive count") and value != int(value):
            raise ValueError(f"{name} = {value!r} is no whole number")
    usual = {item.name: item.default for item in dataclasses.fields(config)}
    strict = [name for name, option in described.items() if option.need and not option.idle]
    changed = [name for name in strict if values[name] != usual[name]]
    if unused := without_effect(config, changed):
        raise ValueError(f"{unused[0]} is for {unused[1]}")


def without_effect(config: Any, given: Iterable[str]) -> tuple[str, str] | None:
    """Find the first of the ``given`` fields that has no effect: its name and what it needs."""
    described = settings(config)
    for name in given:
        need = described[name].need
        if need is not None and not need.met(config):
            return name, need.name
    return None


def limits(interval: str) -> tuple[float, float]:
    """Return both ends of an interval such as "[0, 1)"."""
    low, high = map(float, interval[1:-1].split(","))
    return low, high


def _lies_within(value: float, interval: str) -> bool:
    low, high = limits(interval)
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return above and below  # neither is true for NaN


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file. Raises ArtifactError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(f"{path}: not TOML ({error}); mend it") from None
