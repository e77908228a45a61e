"""Fields of a configuration, with their help, choices and range.

The command line makes its options from them, and `check` refuses values that they do not allow.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Need:
    """Condition under which a setting has an effect, and its name: "a recurrent encoder"."""

    name: str
    met: Callable[[Any], bool]


@dataclass(frozen=True)
class Setting:
    """Description of one field of a configuration.

    ``choices`` are the allowed words with a note on each; with ``several`` the value may join
    different ones by "+". ``within`` is the allowed interval in mathematical notation, "[0, 1)".
    Where ``need`` is not met the field must keep its default, unless it is ``idle``: then a recipe
    may set it all the same, for users who change its encoder or objective. ``off`` is the second
    name of the option of a bool, the one that turns it off.
    """

    group: str
    help: str
    choices: Mapping[str, str] = field(default_factory=dict)
    several: bool = False
    within: str = ""
    need: Need | None = None
    idle: bool = False
    metavar: str | None = None
    off: str = ""


def setting(group: str, default: Any, help: str, **more: Any) -> Any:
    """Field of a configuration, with its default and the rest of its :class:`Setting`."""
    return field(default=default, metadata={"setting": Setting(group, help, **more)})


def settings(config: Any) -> dict[str, Setting]:
    """Settings of a configuration (instance or class) by the names of its fields."""
    return {one.name: one.metadata["setting"] for one in dataclasses.fields(config)}


def option_name(name: str) -> str:
    """Return the command line's name of a field: ``final_rate`` is ``--final-rate``."""
    return "--" + name.replace("_", "-")


def check(config: Any) -> None:
    """Check each value against its setting. Raises ValueError that begins with the field's name."""
    for name, own in settings(config).items():
        value = getattr(config, name)
        if own.choices:
            words = value.split("+") if own.several else [value]
            if len(set(words)) < len(words) or not set(words) <= set(own.choices):
                joined = ", nor several different ones joined by '+'" if own.several else ""
                choices = ", ".join(own.choices)
                raise ValueError(f"{name} = {value!r} is not one of {choices}{joined}")
        if own.within and not _lies_within(value, own.within):
            raise ValueError(f"{name} = {value!r} is out of range {own.within}")
    changed = [
        one.name for one in dataclasses.fields(config) if getattr(config, one.name) != one.default
    ]
    strict = [name for name in changed if not settings(config)[name].idle]
    if found := without_effect(config, strict):
        raise ValueError(f"{found[0]} is for {found[1]}")


def without_effect(config: Any, given: Iterable[str]) -> tuple[str, str] | None:
    """Find the first of the ``given`` fields that has no effect: its name and what it needs."""
    described = settings(config)
    for name in given:
        need = described[name].need
        if need is not None and not need.met(config):
            return name, need.name
    return None


def _lies_within(value: float, interval: str) -> bool:
    low, high = map(float, interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return above and below  # NaN is neither
