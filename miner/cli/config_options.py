"""Options generated from the fields of a training configuration (see train/config_fields.py)."""

import dataclasses
from collections.abc import Container
from typing import Any

import click

from miner_train.config_fields import option_name, without_effect


class Grouped(click.Command):
    """Command whose help lists its own options first, then those of a configuration by group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                group = getattr(parameter, "group", "Options")
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


class ConfigOption(click.Option):
    """Option for a field of a configuration; its value is None where it is not given."""

    def __init__(self, field: dataclasses.Field) -> None:
        own = field.metadata["setting"]
        self.group = own.group
        name, kind = option_name(field.name), field.type
        if own.choices and not own.several:
            kind = click.Choice(list(own.choices))
        default = f"{name if field.default else own.off}" if own.off else f"{field.default}"
        super().__init__(
            [f"{name}/{own.off}" if own.off else name],
            type=kind,
            default=None,
            metavar=own.metavar,
            help=f"{own.help} [{default}]",
        )


def config_options(config: type, names: Container[str] | None = None) -> list[click.Parameter]:
    """Options for the fields of the dataclass ``config``, or for those of ``names``.

    Their help names the defaults.
    """
    fields = dataclasses.fields(config)
    return [ConfigOption(field) for field in fields if names is None or field.name in names]


def configured(config: Any, given: dict[str, Any]) -> Any:
    """Return ``config`` with the ``given`` values. Raises UsageError that names the option."""
    try:
        changed = dataclasses.replace(config, **given)
    except ValueError as error:
        name, _, rest = str(error).partition(" ")
        raise click.UsageError(f"{option_name(name)} {rest}") from None
    if idle := without_effect(changed, given):
        raise click.UsageError(f"{option_name(idle[0])} is for {idle[1]}")
    return changed
