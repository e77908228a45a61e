"""Options and helpers that ``miner score`` and ``miner filter`` share."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from miner.cli import options
from miner.errors import MinerError
from miner.text.formats import REWRITABLE, usual_suffixes

if TYPE_CHECKING:
    from miner.cleaning.plan import Plan
    from miner.filters.filter_types import Context, Filter
    from miner.text.rows import Rows

languages = options.several(
    click.option(
        "--source-lang",
        type=options.Language(),
        metavar="CODE",
        help="Language of the source, such as de. Filters of languages need it; models identify "
        "it from the first rows.",
    ),
    click.option(
        "--target-lang",
        type=options.Language(),
        metavar="CODE",
        help="Language of the target, such as en.",
    ),
)

reading = options.several(
    click.option("--scol", metavar="N|NAME", help="Source column [1, or source of JSONL]."),
    click.option("--tcol", metavar="N|NAME", help="Target column [2, or target of JSONL]."),
    options.header,
    click.option(
        "--format",
        type=click.Choice(REWRITABLE),
        help=f"Text format; default by suffix ({usual_suffixes(REWRITABLE)}), else tsv for one "
        "file, plain for two.",
    ),
    options.on_error("Rows", "treat as unreadable, like rows without the columns"),
)


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
    """The context that the command line gives.

    A model counts as given only if the user has named it, so that it overrides a configuration's.
    """
    from miner.filters.filter_types import Context

    source = click.get_current_context().get_parameter_source("model")
    named = source not in (None, ParameterSource.DEFAULT)
    return Context(source_lang, target_lang, model=model if named else None)


def identified(plan: Plan, parts: Iterable[Rows]) -> str:
    """Describe the languages of a bitext, and warn of those that are odd or weak."""
    from miner.cleaning.text_languages import identify_rows
    from miner.encoder.loading import split_name
    from miner.encoder.model import load
    from miner.scoring.language_notes import describe_both, doubts

    languages = identify_rows(parts, plan.context.languages)
    model = None
    quality = any(step.name == "quality" for step in plan.steps)
    if quality and split_name(plan.context.encoder) is None:
        model = load(plan.context.encoder)
    for doubt in doubts(languages, model):
        click.echo(f"warning: {doubt}", err=True)
    return describe_both(languages)


def refuse_choice(plan: Plan, chosen: bool, by_precision: bool) -> None:
    """Refuse to choose the best pairs of a plan that does not rank them, or not by quality."""
    if plan.ranking is None and chosen:
        raise click.UsageError(
            "nothing ranks the pairs, so there are no best ones; add the filter quality, or name "
            "another as 'rank' in the configuration"
        )
    if by_precision and plan.ranking and plan.ranking.name != "quality":
        raise click.UsageError("--target-precision needs pairs to be ranked by their quality")


def warn(plan: Plan) -> None:
    """Tell of filters that do less than a user may expect."""
    from miner.filters.filter_types import GLOBAL

    for code in unknown_languages(plan):
        click.echo(f"some filters do not know the language {code}; its texts pass them", err=True)
    if plan.ranking is None and plan.stage(GLOBAL):
        click.echo("nothing ranks the pairs: the first of several duplicates stays", err=True)


def tell_missing(plan: Plan, config: str | None, languages: str) -> None:
    """Say that default filters are left out, where a language is not given."""
    if config is None and not all(plan.context.languages):
        given = zip(("--source-lang", "--target-lang"), plan.context.languages, strict=True)
        missing = " and ".join(name for name, code in given if not code)
        click.echo(
            f"without {missing}, filters that need to know the languages are left out; {languages}",
            err=True,
        )


def unknown_languages(plan: Plan) -> list[str]:
    """The plan's languages that its language or script filter does not know."""
    from miner.filters import language, scripts

    telling = {"language": language.known, "script": scripts.known}
    known = [telling[step.name] for step in plan.steps if step.name in telling]
    codes = dict.fromkeys(code for code in plan.context.languages if code)
    return [code for code in codes if not all(knows(code) for knows in known)]


@contextmanager
def spooled(paths: list[str]) -> Iterator[tuple[list[str], Path]]:
    """Yield files that can be read more than once, and a temporary directory.

    Standard input and pipes are copied to that directory; errors name them as the user did.
    """
    from miner.text.durable import scratch_directory
    from miner.text.lines import display_name

    with scratch_directory() as place:
        names, out = {}, []
        for number, path in enumerate(paths):
            if path == "-" or not (os.path.isfile(path) or os.path.isdir(path)):
                copy = place / f"input{number}{''.join(Path(path).suffixes[-2:])}"
                if path == "-" or os.path.exists(path):
                    _copy(path, copy)
                    names[str(copy)] = display_name(path)
                    path = str(copy)
            out.append(path)
        try:
            yield out, place
        except MinerError as error:
            message = str(error)
            for copied, name in names.items():
                message = message.replace(copied, name)
            error.args = (message,)
            raise


def _copy(path: str, copy: Path) -> None:
    from miner.errors import resource_error

    source = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115
    try:
        with source if path != "-" else nullcontext(), open(copy, "wb") as file:
            shutil.copyfileobj(source, file)
    except OSError as error:
        raise resource_error(error, copy.parent) from error


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
    """Filters that score one pair at a time and need no setting."""
    from miner.filters.filter_types import GLOBAL
    from miner.filters.registry import FILTERS

    return {
        name: entry
        for name, entry in FILTERS.items()
        if entry.stage != GLOBAL
        and all(setting.default is not None for setting in entry.settings.values())
    }
