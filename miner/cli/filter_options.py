"""Options and helpers that ``miner score`` and ``miner filter`` share."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from miner.cli import options
from miner.encoder.loading import USUAL, Loading
from miner.text.compression import MAGIC
from miner.text.formats import BITEXTS, TABLES, TEXT_SUFFIXES

if TYPE_CHECKING:
    from miner.encoder.sentence_encoder import SentenceEncoder
    from miner.filters.filter_types import Context
    from miner.tasks.workers import Workers

languages = options.languages(
    source={"help": "Language of the source, such as de [identified from the first rows]."},
    target={"help": "Language of the target, such as en [identified]."},
)
reading = options.bitext_format(
    format={
        "choices": dict.fromkeys(BITEXTS, ""),
    },
    on_error={
        "help": "Rows that are not UTF-8: stop, put U+FFFD, or treat as unreadable, like rows "
        "without the columns."
    },
)


def inputs(files: Sequence[str], source: str | None, target: str | None) -> list[str]:
    """Return the one or two input files. Raises UsageError for another number."""
    if source is not None and target is not None:
        files = (*files, source, target)
    elif source is not None or target is not None:
        files = ()
    if len(files) not in (1, 2):
        raise click.UsageError(
            "give one BITEXT, in quotes if it is a pattern, or two aligned files, SOURCE and TARGET"
        )
    if list(files) == ["-", "-"]:
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    return list(files)


def context(languages: tuple[str | None, str | None], model: str) -> Context:
    """Return the context from the command line.

    A model is set only if the user named it, so that it overrides a configuration's.
    """
    from miner.filters.filter_types import Context

    source = click.get_current_context().get_parameter_source("model")
    named = source not in (None, ParameterSource.DEFAULT)
    return Context(*languages, model=model if named else None)


def second(name: str | None, loading: Loading, workers: Workers) -> SentenceEncoder | None:
    """Open the encoder of a second opinion, if there is one. Raises UsageError for its options."""
    from miner.encoder.open_encoder import open_encoder

    if name is None:
        if loading != USUAL:
            raise click.UsageError("prompts and --runtime are for a second opinion: give --second")
        return None
    return open_encoder(name, workers.threads, "auto", "source", loading)


def in_folders(
    sources: Sequence[str], files: Sequence[Sequence[str]], outputs: Mapping[str, str]
) -> bool:
    """Return True if outputs are folders of files with the names of the bitexts ``files``.

    Directories for a pattern, several files or a trailing '/', unless suffixes say files. Raises
    UsageError if an output could be both.
    """
    paths = [*outputs.values()]
    patterns = any(glob.has_magic(path) and not os.path.lexists(path) for path in sources)
    if not (patterns or len(files) > 1 or paths[0].endswith("/")):
        return False
    suffixes = "-", *TEXT_SUFFIXES, *TABLES, *MAGIC
    named = {path.lower().endswith(suffixes) for path in paths}
    if len(named) > 1:
        raise click.UsageError("name outputs that are all files, or all folders, such as out/")
    return named == {False}


def provenance(paths: Sequence[str]) -> dict[str, Any]:
    """Return the facts of a manifest about a run: its command and input files."""
    return {"command": options.command_line(), "inputs": [*paths]}


def listing() -> str:
    """Describe all filters: scores, settings and default bounds."""
    from miner.filters.registry import FILTERS

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
            choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
            lines.append(f"    {name} = {_default(setting.default)}: {setting.help}{choices}")
        notes = ["needs the languages"] * entry.languages + [entry.paper] * bool(entry.paper)
        if notes:
            lines.append(f"    {'; '.join(notes)}")
        lines.append("")
    return "\n".join(lines)


def _default(value: Any) -> str:
    if value is None:
        return "(must be given)"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
