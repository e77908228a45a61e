"""Options generated from the fields of settings' dataclasses (see miner/config_fields.py).

A command of the class :class:`Command` receives each dataclass as one value.
"""

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import click

from miner import extensions
from miner.cli.option_types import KINDS, name_of
from miner.cli.run_options import beside, finish, take
from miner.config_fields import (
    FieldOption,
    SettingsError,
    limits,
    option_name,
    settings,
    without_effect,
)
from miner.errors import UnreadableError

# Decorator that adds options to a function; also the default of the parameter that receives them.
Decorator: TypeAlias = Any
# Options under each heading of a help text, in this order; others are under the first heading. An
# option of settings that is not listed follows the option before it.
HEADINGS = {
    "Options": "",
    "Output": "output then-sentences lines unaligned report json ids bucc carry rejected "
    "scores-jsonl score-only all-scores overwrite restart",
    "How much to keep": "threshold target-precision top-n target-words per-source keep-percentile "
    "estimate without labels",
    "Languages": "source-lang target-lang lid language side",
    "Input": "source target bitext format on-error header scol tcol column id-column "
    "url-column domain-column label-col score-col good bad good-col bad-col more-col pairs text",
    "Search": "index neighbors query-side by-host",
    "Scale": "work backend memory device threads",
    "Foreign encoders": "second second-pairs source-prompt target-prompt runtime",
    "Any command": "config save-config quiet verbose",
}
# Key in a command line's facts of the word after "-o FILE".
AFTER_OUTPUT = "miner.after_output"
PLAIN: dict[str, click.ParamType] = {
    "int": click.INT,
    "float": click.FLOAT,
    "bool": click.BOOL,
    "str": click.STRING,
}


class Settings:
    """Options of a dataclass, which a command receives as the parameter ``name``.

    ``make`` converts the values set by the user, by field, to that parameter; by default to the
    dataclass, with defaults for all other fields. Settings with the same name form one parameter,
    made by the first of them. Without a name, each value is a separate parameter.
    """

    def __init__(self, kind: type, name: str, make: Callable[[dict[str, Any]], Any] | None = None):
        self.name, self.make = name, make or (lambda given: configured(kind(), given))
        self.described = settings(kind)
        self.fields = {field.name: field for field in dataclasses.fields(kind)}

    def __call__(
        self, *names: str, without: Sequence[str] = (), **changed: Mapping[str, Any]
    ) -> Decorator:
        """Return a decorator that adds the options of the named fields, by default of all, in
        order.

        ``without``: fields to omit. ``changed``: changes to a field's :class:`FieldOption` in this
        command.
        """
        every = [name for name, spec in self.described.items() if spec.help and name not in without]
        chosen = names or every

        def decorate(function: Any) -> Any:
            for name in reversed(chosen):
                spec = dataclasses.replace(self.described[name], **changed.get(name, {}))
                function = click.option(cls=SettingOption, of=self, field=name, spec=spec)(function)
            return function

        return decorate


class SettingOption(click.Option):
    """Option for a field of settings; its value is None unless the user sets it."""

    def __init__(self, _: Any, of: Settings, field: str, spec: FieldOption):
        self.of, self.field, self.group = of, field, spec.group
        described = of.fields[field]
        default, kind = described.default, _type(spec, str(described.type))
        names = spec.option.split() or [option_name(field)]
        shown = "" if spec.quiet or default in (None, False, ()) else f"{default}"
        if spec.off:
            shown = names[-1] if default else spec.off
            names[-1] += f"/{spec.off}"
        self.shown = "" if spec.group else shown.lstrip("-")
        super().__init__(
            [*names, f"{of.name}_{field}" if of.name else field],
            default=None if of.name else default,
            help=f"{spec.help} [{shown or default}]" if spec.group else spec.help,
            metavar=spec.metavar,
            multiple=spec.multiple,
            **({"is_flag": True} if kind is click.BOOL and not spec.off else {"type": kind}),
        )

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = {
            name: text for name, text in super().get_help_extra(ctx).items() if name != "default"
        }
        return {**extra, "default": self.shown} if self.shown else extra


def _type(spec: FieldOption, kind: str) -> click.ParamType:
    """Return the type of an option's text, for a field of the type ``kind``."""
    if spec.choices and not spec.several:
        return (
            name_of(list(spec.choices)) if spec.kind == "name" else click.Choice(list(spec.choices))
        )
    if spec.kind:
        return KINDS[spec.kind]
    base = re.search("int|float|bool|str", kind)
    assert base is not None, kind
    if base.group() == "int" and spec.within and not spec.group:
        low, high = limits(spec.within)
        return click.IntRange(int(low), None if math.isinf(high) else int(high))
    return PLAIN[base.group()]


class Own(NamedTuple):
    """Option or argument of one command, declared as the default of a parameter."""

    names: str
    more: dict[str, Any]
    make: Callable[..., Any] = click.option

    def of(self, parameter: inspect.Parameter) -> Decorator:
        """Return click's decorator for a parameter.

        The name and the type of the parameter decide the option's name, and whether it is a flag or
        may be repeated.
        """
        if self.make is click.argument:
            return self.make(parameter.name, **self.more)
        kind = inspect.formatannotation(parameter.annotation).strip("'")
        several = kind.startswith("tuple") and "nargs" not in self.more
        names = (self.names or option_name(parameter.name)).split()
        # None rather than False, which click reads as an option that may lack its value.
        more = {"is_flag": kind == "bool" or None, "multiple": several} | self.more
        return self.make(*names, parameter.name, **more)


def opt(help: str, names: str = "", **more: Any) -> Any:
    """Declare an option of one command; its name defaults to the parameter's."""
    return Own(names, {"help": help, **more})


def arg(**more: Any) -> Any:
    """Declare an argument of a command."""
    return Own("", more, click.argument)


def declared(function: Callable[..., Any]) -> list[click.Parameter]:
    """Return the options that the defaults of a function's parameters declare, in their order."""

    def holder() -> None: ...

    for param in reversed([*inspect.signature(function).parameters.values()]):
        if param.default is not param.empty:
            decorate = param.default.of(param) if isinstance(param.default, Own) else param.default
            decorate(holder)
    return list(reversed(getattr(holder, "__click_params__", [])))


def after_output() -> str | None:
    """Return the word after ``-o FILE``, which may be its second file, or None."""
    return click.get_current_context().meta[AFTER_OUTPUT]


def _help(docstring: str | None) -> tuple[str, str]:
    """Split a docstring into the help of a command and the examples that end it."""
    text, _, examples = inspect.cleandoc(docstring or "").partition("\n\nExamples:\n")
    return text, f"\b\nExamples:\n{examples}"


class Command(click.Command):
    """Command that receives the values of generated options as settings.

    Its help lists the options under :data:`HEADINGS`, then a configuration's by group, and ends
    with the examples of its docstring. Contradictory settings are usage errors, wherever they are
    detected. Options of :mod:`miner.cli.run_options` are added.
    """

    def __init__(self, callback: Any, help: str | None = None, params: Any = (), **more: Any):
        text, examples = _help(help)
        params = [*(params or ()), *declared(callback)]
        params += beside(params)
        super().__init__(callback=callback, help=text, epilog=examples, params=params, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        parsed = take(self, ctx, list(args))
        ctx.meta[AFTER_OUTPUT] = next(
            (
                after
                for word, _, after in zip(args, args[1:], args[2:], strict=False)
                if word in ("-o", "--output")
            ),
            None,
        )
        left = super().parse_args(ctx, args)
        finish(parsed, ctx)
        return left

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        places = {
            f"--{name}": (position, heading)
            for heading, names in HEADINGS.items()
            for position, name in enumerate(names.split())
        }
        groups: dict[str, list[tuple[int, tuple[str, str]]]] = {heading: [] for heading in HEADINGS}
        position, heading, before = 0, "Options", None
        for option in (param for param in self.get_params(ctx) if isinstance(param, click.Option)):
            of = getattr(option, "of", None)
            if of is None or of is not before:
                position, heading, before = 0, "Options", of
            position, heading = places.get(max(option.opts, key=len), (position, heading))
            if (record := option.get_help_record(ctx)) is not None:
                group = getattr(option, "group", "") or heading
                groups.setdefault(group, []).append((position, record))
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    ordered = sorted(records, key=lambda item: item[0])
                    formatter.write_dl([record for _, record in ordered])

    def invoke(self, ctx: click.Context) -> Any:
        by_parameter: dict[str, tuple[Settings, dict[str, Any]]] = {}
        for option in self.params:
            if isinstance(option, SettingOption) and option.of.name:
                value = ctx.params.pop(str(option.name))
                _, field_values = by_parameter.setdefault(option.of.name, (option.of, {}))
                field_values.update({} if value in (None, ()) else {option.field: value})
        try:
            with click.core.augment_usage_errors(ctx):
                ctx.params |= {name: of.make(values) for name, (of, values) in by_parameter.items()}
            return super().invoke(ctx)
        except SettingsError as error:
            raise click.UsageError(str(error), ctx) from None
        except UnreadableError as error:
            if any("--on-error" in parameter.opts for parameter in self.params):
                error.args = (f"{error}, or pass --on-error {error.ways}",)
            raise


class Group(click.Group):
    """Group of commands, whose help ends with the examples of its docstring.

    ``prefix`` starts the names of entry points of further commands in the group
    (:mod:`miner.extensions`); without it, there are none.
    """

    command_class = Command

    def __init__(self, help: str | None = None, prefix: str | None = None, **more: Any):
        text, examples = _help(help)
        self.prefix = prefix
        super().__init__(help=text, epilog=examples, **more)

    def further(self) -> list[str]:
        """Return the names of commands that other packages add."""
        if self.prefix is None:
            return []
        every = extensions.names(extensions.COMMANDS)
        added = (name.removeprefix(self.prefix) for name in every if name.startswith(self.prefix))
        return [name for name in added if "." not in name]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return super().list_commands(ctx) + self.further()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and self.prefix is not None:
            command = extensions.load(extensions.COMMANDS, self.prefix + cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in self.headings(ctx).items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(n, c.get_short_help_str(200)) for n, c in commands if c])

    def headings(self, ctx: click.Context) -> Mapping[str, Sequence[str]]:
        """Return the names of the commands under the headings of the help text."""
        return {"Commands": self.list_commands(ctx)}


def configured(config: Any, values: dict[str, Any]) -> Any:
    """Return ``config`` with the values in ``values``. Raises UsageError that names the option."""
    names = {name: spec.option or option_name(name) for name, spec in settings(config).items()}
    try:
        changed = dataclasses.replace(config, **values)
    except SettingsError:
        raise
    except ValueError as error:
        name, space, rest = str(error).partition(" ")
        raise click.UsageError(f"{names.get(name, name)}{space}{rest}") from None
    if idle := without_effect(changed, values):
        raise click.UsageError(f"{names[idle[0]]} is for {idle[1]}")
    return changed
