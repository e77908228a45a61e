"""Options and words that ``miner score`` and ``miner filter`` share."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from miner.cli import options
from miner.corpus import ON_ERROR
from miner.filters.base import GLOBAL, Context, Filter
from miner.filters.table import FILTERS

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")

languages = options.several(
    click.option("--source-lang", metavar="CODE", help="Language of the source, such as de."),
    click.option("--target-lang", metavar="CODE", help="Language of the target, such as en."),
)

reading = options.several(
    click.option("--scol", default="1", show_default=True, metavar="N|NAME", help="Source column."),
    click.option("--tcol", default="2", show_default=True, metavar="N|NAME", help="Target column."),
    click.option("--header", is_flag=True, help="The first line of a tsv names its columns."),
    click.option(
        "--format",
        type=click.Choice(["plain", "tsv", "jsonl"]),
        help="Text format; default by suffix (.tsv .jsonl), else tsv for one file, plain for two.",
    ),
    click.option(
        "--on-error",
        type=click.Choice(ON_ERROR),
        default="fail",
        show_default=True,
        help="Rows that are not UTF-8: stop, put U+FFFD, or take for unreadable (also those "
        "without the columns).",
    ),
)


def columns(scol: str, tcol: str, format: str | None, bitext: str | None) -> dict[str, Any]:
    """The columns as `Rows` takes them: of JSON, names by default."""
    named = format == "jsonl" or (format is None and ".jsonl" in Path(bitext or "").suffixes)
    if named and (scol, tcol) == ("1", "2"):
        return {"scol": "source", "tcol": "target"}
    return {"scol": scol, "tcol": tcol}


def inputs(bitext: str | None, source: str | None, target: str | None) -> list[str]:
    """The one file or the two that were given. Raises UsageError for anything else."""
    if bitext is not None and source is None and target is None:
        return [bitext]
    if bitext is None and source is not None and target is not None:
        if source == target == "-":
            raise click.UsageError("only one of --source and --target can be standard input")
        return [source, target]
    raise click.UsageError("give either BITEXT, or both --source and --target")


def context(source_lang: str | None, target_lang: str | None, model: str) -> Context:
    """What a cleaning knows, from the command line. Raises UsageError for an odd language."""
    for code in (source_lang, target_lang):
        if code is not None and not _LANGUAGE.fullmatch(code):
            raise click.UsageError(f"{code!r} is no language code, such as de, en or zh-Hant")
    return Context(source_lang, target_lang, model=model)


def spooled(path: str, place: Path) -> str:
    """A file to read more than once: standard input and pipes are copied to one."""
    if path != "-" and (Path(path).is_file() or not Path(path).exists()):
        return path
    copy = place / ("input" + "".join(Path(path).suffixes[-2:] if path != "-" else []))
    with open(copy, "wb") as file:
        if path == "-":
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with open(path, "rb") as pipe:
                shutil.copyfileobj(pipe, file)
    return str(copy)


def listing() -> str:
    """All filters, with what they measure, their settings and default bounds."""
    lines = []
    for entry in FILTERS.values():
        lines.append(f"{entry.name}{' (default)' if entry.default else ''}")
        lines.append(f"    {entry.summary}; {entry.better} is better")
        bounds = [
            f"{name} {value:g}"
            for name, value in (("minimum", entry.minimum), ("maximum", entry.maximum))
            if value is not None
        ]
        lines.append(f"    bounds: {', '.join(bounds) or 'none unless given'}")
        for name, setting in entry.settings.items():
            lines.append(f"    {name} = {_default(setting.default)}: {setting.help}{_of(setting)}")
        notes = ["needs the languages"] * entry.languages + [entry.paper] * bool(entry.paper)
        if notes:
            lines.append(f"    {'; '.join(notes)}")
        lines.append("")
    return "\n".join(lines)


def _default(value: Any) -> str:
    if value is None:
        return "(must be given)"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')


def _of(setting: Any) -> str:
    return f" ({', '.join(setting.choices)})" if setting.choices else ""


def scoring() -> dict[str, Filter]:
    """The filters that give a pair a score by itself."""
    return {name: entry for name, entry in FILTERS.items() if entry.stage != GLOBAL}
