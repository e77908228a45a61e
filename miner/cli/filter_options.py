"""Options and helpers that ``miner score`` and ``miner filter`` share."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from miner.cli import options
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.text.compression import MAGIC
from miner.text.formats import BITEXTS, TABLES, TEXT_SUFFIXES, BitextFormat

if TYPE_CHECKING:
    from miner.cleaning.bitexts import Bitext
    from miner.cleaning.config import FilterConfig
    from miner.cleaning.settings import Selection
    from miner.filters.filter_types import Context, Filter
    from miner.scoring.languages import Identified
    from miner.tasks.run import Run
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
    """The one file or the two that were given. Raises UsageError for anything else."""
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
    """The context that the command line gives.

    A model counts as given only if the user has named it, so that it overrides a configuration's.
    """
    from miner.filters.filter_types import Context

    source = click.get_current_context().get_parameter_source("model")
    named = source not in (None, ParameterSource.DEFAULT)
    return Context(*languages, model=model if named else None)


@contextmanager
def opened(
    name: str,
    files: Sequence[Sequence[str]],
    layout: BitextFormat,
    workers: Workers,
    work: str | None,
    beside: str | None,
) -> Iterator[tuple[Progress, Run, list[Bitext]]]:
    """Open a run over bitexts, as :func:`miner.cleaning.pipeline.text_run`, with its progress."""
    from miner.cleaning.pipeline import text_run

    means: dict[str, Any] = dict(work=work, beside=beside, workers=workers, note=say)
    with (
        Progress("rows" if workers.backend == "serial" else "tasks") as report,
        text_run(name, files, layout, report=report, **means) as (run, bitexts),
    ):
        yield report, run, bitexts


def identified(plan: FilterConfig, bitexts: Iterable[Bitext]) -> tuple[Identified, Identified]:
    """Identify the languages of a text, and warn of those that are odd or weak."""
    from miner.cleaning.bitexts import languages_of
    from miner.cleaning.pipeline import language_doubts

    languages = languages_of(bitexts, plan.context.languages)
    for doubt in language_doubts(plan, languages):
        say(f"warning: {doubt}")
    return languages


def refuse_selection(plan: FilterConfig, selection: Selection, threshold: float | None) -> None:
    """Refuse to choose the best pairs of a plan that does not rank them, or not by quality."""
    if plan.ranking is None and (selection.any or threshold is not None):
        raise click.UsageError(
            "nothing ranks the pairs, so there are no best ones; add the filter quality, or name "
            "another as 'rank' in the configuration"
        )
    if selection.precision is not None and plan.ranking and plan.ranking.name != "quality":
        raise click.UsageError("--target-precision needs pairs to be ranked by their quality")


def warn(plan: FilterConfig) -> None:
    """Tell of filters that do less than a user may expect."""
    from miner.filters.filter_types import GLOBAL

    for code in unknown_languages(plan):
        say(f"some filters do not know the language {code}; its texts pass them")
    if plan.ranking is None and plan.stage(GLOBAL):
        say("nothing ranks the pairs: the first of several duplicates stays")


def completed(plan: FilterConfig, bitexts: Sequence[Bitext]) -> FilterConfig:
    """Complete a plan of default filters for the languages of a text, and tell of unknown ones."""
    from miner.cleaning import pipeline
    from miner.scoring.language_notes import describe_both

    found = identified(plan, bitexts)
    if all(plan.context.languages):
        return plan
    more = pipeline.completed(plan, bitexts, found)
    if all(more.context.languages):
        say(describe_both(found[:1] if plan.mono else found))
    else:
        if not all(one.sure for one in found):
            why = "there is too little text to tell them"
        elif any(one.mixed for one in found):
            why = "the text is in several"
        else:
            why = "the text leaves them open"
        say(
            f"filters that need the languages are left out, as {why} ({describe_both(found)}); "
            "give --source-lang and --target-lang"
        )
    return more


def unknown_languages(plan: FilterConfig) -> list[str]:
    """The plan's languages that its language or script filter does not know."""
    from miner.filters import language, scripts

    telling = {"language": language.known, "script": scripts.known}
    known = [telling[step.name] for step in plan.steps if step.name in telling]
    codes = dict.fromkeys(code for code in plan.context.languages if code)
    return [code for code in codes if not all(knows(code) for knows in known)]


def in_folders(given: Sequence[str], files: Sequence[Sequence[str]], *outputs: str | None) -> bool:
    """Tell whether outputs are folders, of files with the names of the bitexts ``files``.

    So they are for a pattern and for a data set of several files, unless outputs are named like
    files, and where the first output ends in a slash. Raises UsageError for both at once.
    """
    patterns = any(glob.has_magic(path) and not os.path.lexists(path) for path in given)
    if not (patterns or len(files) > 1 or str(outputs[0]).endswith("/")):
        return False
    suffixes = "-", *TEXT_SUFFIXES, *TABLES, *MAGIC
    named = {path.lower().endswith(suffixes) for path in outputs if path}
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


def scoring() -> dict[str, Filter]:
    """Filters that score one pair at a time and need no setting."""
    from miner.filters.filter_types import GLOBAL
    from miner.filters.registry import FILTERS

    return {
        name: entry
        for name, entry in FILTERS.items()
        if entry.stage != GLOBAL
        and all(setting.default is not None for setting in entry.settings.values())
    }
