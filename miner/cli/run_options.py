"""Options of every command: ``--config``, ``--save-config``, ``-q`` and ``-v``.

A configuration is a TOML file whose keys are the long names of options. Its values are defaults,
which the command line overrides. Commands with filters have another ``--config``, whose file holds
filters besides options.
"""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

import click

from miner.config_fields import read_toml
from miner.errors import ArtifactError, writing
from miner.option_values import CONFIG_KEYS, PEER_CONFIGS

# Keys in a context's ``meta``: verbosity (-1 with -q, 1 with -v), and options set by the file.
VOLUME, FROM_FILE = "miner.volume", "miner.options"
# Options that a configuration cannot set.
NEVER = ("config", "save_config", "quiet", "verbose", "help")


def beside(params: Sequence[click.Parameter]) -> list[click.Option]:
    """Return the options of every command, to be added to the command's own."""

    def add(*names: str, **more: Any) -> click.Option:
        return click.Option([*names], expose_value=False, **more)

    def louder(ctx: click.Context, option: click.Parameter, on: bool) -> None:
        if on:
            ctx.meta[VOLUME] = 1 if option.name == "verbose" else -1

    config = "Options in TOML; the command line overrides them."
    saved = "Write the options given to a TOML file for --config, and go on."
    flags: dict[str, Any] = {"is_flag": True, "is_eager": True, "callback": louder}
    filters = any(option.name == "config" for option in params)
    return [
        *([] if filters else [add("--config", metavar="FILE", help=config)]),
        add("--save-config", metavar="FILE", help=saved),
        add("-q", "--quiet", help="Print only warnings and errors.", **flags),
        add(
            "-v",
            "--verbose",
            help=("Print the time of each stage, and progress more often."),
            **flags,
        ),
    ]


def volume() -> int:
    """Return the verbosity: -1 after ``-q``, 1 after ``-v``, else 0."""
    context = click.get_current_context(silent=True)
    return 0 if context is None else context.meta.get(VOLUME, 0)


def take(command: click.Command, ctx: click.Context, words: list[str]) -> dict[str, Any]:
    """Use the configuration named in ``words`` as the defaults of a run.

    Returns all options set, by their keys in a configuration. Raises ArtifactError.
    """
    parsed, _, _ = command.make_parser(ctx).parse_args(words)
    options = {
        max(option.opts, key=len).lstrip("-").replace("-", "_"): str(option.name)
        for option in command.params
        if isinstance(option, click.Option)
    }
    path, read = parsed.get("config"), {}
    # `read_config` reads the filters and the facts beside them.
    has_filters = any(option.name == "config" and option.expose_value for option in command.params)
    if path is not None and not (has_filters and path.lower().endswith(PEER_CONFIGS)):
        read = {key.replace("-", "_"): value for key, value in read_toml(path).items()}
        plan = CONFIG_KEYS if has_filters and "filter" in read else ()
        read = {key: _words(path, key, value) for key, value in read.items() if key not in plan}
        for key in read:
            if key not in options or options[key] in NEVER:
                raise ArtifactError(f"{path}: '{ctx.command_path}' has no option {key}")
        ctx.meta[FROM_FILE] = tuple(read)
        ctx.default_map = {options[key]: value for key, value in read.items()}
        if not plan:
            parsed["config"] = None
    return read | {key: parsed[name] for key, name in options.items() if name in parsed}


def from_file() -> Collection[str]:
    return click.get_current_context().meta.get(FROM_FILE, ())


def finish(parsed: dict[str, Any], ctx: click.Context) -> None:
    """Save the options if requested, and drop the name of a configuration without filters.

    Raises UsageError and ResourceError.
    """
    if "config" in ctx.params:
        ctx.params["config"] = parsed.get("config")
    path = parsed.get("save_config")
    if path is None:
        return
    if not path.endswith(".toml"):
        raise click.UsageError(f"--save-config {path}: the name must end with .toml", ctx)
    if parsed.get("config") is not None:
        raise click.UsageError(
            "--save-config leaves out filters; write the options into the file of --config", ctx
        )
    lines = [f"# {ctx.command_path}"]
    for key, value in parsed.items():
        if key not in NEVER:
            number = isinstance(value, str) and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", value)
            shown = value if number else json.dumps(value, ensure_ascii=False)
            lines.append(f"{key} = {shown}")
    with writing(path), open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _words(path: str, key: str, value: Any) -> Any:
    """Convert a value to the command line's form: numbers become text."""
    if isinstance(value, list):
        return [_words(path, key, item) for item in value]
    if isinstance(value, dict):
        raise ArtifactError(f"{path}: {key} must be text, a number, true, false or a list")
    return value if isinstance(value, bool) else str(value)
