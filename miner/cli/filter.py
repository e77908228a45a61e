"""``miner filter``: a noisy bitext in, a clean one out, with reasons."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from miner.cleaning import funnel
from miner.cleaning.clean import clean
from miner.cleaning.decide import Choice
from miner.cleaning.dry_run import sample
from miner.cleaning.plan import default_plan, read_plan
from miner.cleaning.write import write
from miner.cli import filtering, options
from miner.cli.progress_bars import Progress
from miner.errors import CorpusError
from miner.filters.filter_types import GLOBAL
from miner.machine import thread_count
from miner.reports import cleaning_report
from miner.text.bitext_format import BitextFormat
from miner.text.lines import display_name
from miner.text.output import codec, open_output, resource_error
from miner.text.rows import Rows


class Count(click.ParamType):
    """A whole number such as 5000, 200k or 5M."""

    name = "count"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        text = str(value).strip()
        factor = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}.get(text[-1:].lower(), 1)
        try:
            number = float(text[:-1] if factor > 1 else text) * factor
        except ValueError:
            number = -1.0
        if not 0 <= number < 1e18 or number != int(number):
            self.fail(f"{value!r} is not a count; write for example 5000, 200k or 5M", param, ctx)
        return int(number)


@click.command(
    epilog="""\b
Examples:
  miner filter web.tsv.gz --source-lang de --target-lang en -o clean.tsv.gz --rejected bad.tsv.gz
  miner filter web.tsv.gz --report filter.html -o clean.tsv.gz
  miner filter --source web.de --target web.en --config filters.toml -o clean.de clean.en
  miner filter web.tsv --target-words 5M -o clean.tsv
  miner filter web.tsv --dry-run 10000
  miner filter web.tsv --threshold 0.5 --state web.state -o clean.tsv
  miner filter --list"""
)
@click.argument("files", nargs=-1, metavar="[BITEXT]")
@click.option("--source", metavar="FILE", help="Source file, with --target instead of BITEXT.")
@click.option("--target", metavar="FILE", help="Target file, aligned line by line.")
@click.option(
    "-o",
    "--output",
    metavar="FILE [FILE]",
    help="Where kept rows go [standard output], two files for two; .gz .bz2 .xz .zst compress.",
)
@click.option(
    "--rejected",
    metavar="FILE",
    help="Where the other rows go, with the filter and the value that removed them.",
)
@click.option("--report", "page", metavar="FILE", help="Write an HTML page, or FILE.json.")
@click.option("--config", metavar="FILE", help="Which filters, settings and bounds, in TOML.")
@click.option("--list", "listing", is_flag=True, help="Explain all filters and their settings.")
@click.option(
    "--threshold",
    type=options.Number(),
    help="Bound of the score that ranks; with no configuration, the least quality [0.1].",
)
@click.option("--top-n", type=Count(), metavar="N", help="Keep so many of the best pairs.")
@click.option(
    "--target-words",
    type=Count(),
    metavar="N",
    help="Keep the best pairs up to so many words on the target's side, such as 5M.",
)
@click.option(
    "--target-precision",
    type=options.Share(),
    metavar="P",
    help="Keep as many pairs as this share of which are good, by the mean of their quality. "
    "Assumes noise like that the model learned from; on other text mostly too careful.",
)
@click.option(
    "--dry-run",
    type=Count(),
    metavar="N",
    help="Try all filters on a sample of N rows, evenly spread, and write none.",
)
@click.option(
    "--scores-jsonl", metavar="FILE", help="All scores of every row, as JSON objects, in order."
)
@click.option("--all-scores", is_flag=True, help="Dear filters look at rejected rows, too.")
@click.option(
    "--repair", is_flag=True, help="Mend broken encoding (such as Ã¤ for ä) in what is written."
)
@click.option(
    "--state",
    metavar="DIR",
    help="Keep the scores in DIR, for other bounds of the same filters; else they are in "
    "OUTPUT.state until done.",
)
@options.model
@filtering.languages
@filtering.reading
@options.threads
def filter(
    files: tuple[str, ...],
    source: str | None,
    target: str | None,
    output: str | None,
    rejected: str | None,
    page: str | None,
    config: str | None,
    listing: bool,
    threshold: float | None,
    top_n: int | None,
    target_words: int | None,
    target_precision: float | None,
    dry_run: int | None,
    scores_jsonl: str | None,
    all_scores: bool,
    repair: bool,
    state: str | None,
    model: str,
    source_lang: str | None,
    target_lang: str | None,
    scol: str | None,
    tcol: str | None,
    header: bool,
    format: str | None,
    on_error: str,
    threads: int | None,
) -> None:
    """Clean a bitext: BITEXT, a tsv or jsonl file (- for standard input), or two aligned files.

    Without --config the default filters run: rules, duplicates, and the quality of each pair by
    the model; some need --source-lang and --target-lang. Every row is kept or rejected, whole and
    in order; a table of what each filter removed goes to standard error. A run that was stopped
    goes on from its state when it is repeated.
    """
    if listing:
        click.echo(filtering.listing())
        return
    inputs, outputs = _files(files, source, target, output)
    results = [path for path in (*outputs, rejected, scores_jsonl, page) if path is not None]
    options.spare([*inputs, *([] if config is None else [config])], *results)
    _refuse_outputs(results)
    as_json = page is not None and page.endswith(".json")
    if page is not None and not as_json:
        cleaning_report.check(page)
    context = filtering.context(source_lang, target_lang, model)
    plan = default_plan(context) if config is None else read_plan(config, context)
    plan = dataclasses.replace(plan, repair=plan.repair or repair)
    choice = Choice(top_n, target_words, target_precision)
    if plan.ranking is None and (threshold is not None or choice.any):
        raise click.UsageError(
            "nothing ranks the pairs, so that none are the best; add the filter quality, or name "
            "another as 'rank' in the configuration"
        )
    for code in filtering.unknown_languages(plan):
        _say(f"{code} is a language that not all filters know; those pass it")
    if plan.ranking is None and any(step.filter.stage == GLOBAL for step in plan.steps):
        _say("nothing ranks the pairs: of copies the first stays")
    if threshold is not None:
        plan = plan.with_bound(threshold)
    if target_precision is not None and plan.ranking and plan.ranking.name != "quality":
        raise click.UsageError("--target-precision needs pairs to be ranked by their quality")
    if not all(plan.context.languages) and config is None:
        given = zip(("--source-lang", "--target-lang"), plan.context.languages, strict=True)
        missing = " and ".join(name for name, code in given if not code)
        _say(f"without {missing}, filters that need to know the languages are left out")
    with filtering.spooled(inputs) as (paths, place):
        reading = BitextFormat(scol, tcol, header, format, on_error)
        rows = Rows(
            paths[0], paths[1] if target else None, reading, more=plan.columns, rewritable=True
        )
        if dry_run is not None:
            total, paths = rows.counted(), sample(rows, dry_run, place)
            rows = Rows(
                paths[0], paths[1] if target else None, reading, more=plan.columns, rewritable=True
            )
            share = rows.counted() / max(total, 1)
            choice = choice.of_a(share)
            _say(
                f"trying {rows.counted():,} of {total:,} rows; counts to keep are scaled alike, "
                "and of copies a sample has fewer than the whole"
            )
        lasting = dry_run is None and (state is not None or _is_file(outputs[0]))
        directory = Path(state or f"{outputs[0]}.state") if lasting else place / "state"
        with _passing(directory, state is None), Progress() as report:
            found = clean(
                rows,
                plan,
                directory,
                choice=choice,
                all_scores=all_scores or dry_run is not None or scores_jsonl is not None,
                keep=state is not None,
                threads=thread_count(threads),
                report=report,
                note=_say,
            )
            if dry_run is None:
                write(found, outputs, rejected, scores_jsonl, report)
        click.echo(funnel.table(found), err=True)
        if page is not None and as_json:
            with open_output(page) as file:
                file.write(json.dumps(funnel.as_dict(found), indent=2) + "\n")
        elif page is not None:
            names = list(map(display_name, inputs))
            with Progress() as report:
                cleaning_report.write(
                    page, found, names=names, sample=dry_run is not None, report=report
                )
        if lasting and state is None:
            shutil.rmtree(directory, ignore_errors=True)


def _files(
    files: tuple[str, ...], source: str | None, target: str | None, output: str | None
) -> tuple[list[str], list[str]]:
    """Inputs and outputs: what stands free is the bitext, or the output's second file."""
    if source is None and target is None:
        if len(files) != 1:
            raise click.UsageError("give one BITEXT, or --source and --target")
        return [files[0]], [output or "-"]
    inputs = filtering.inputs(None, source, target)
    if len(files) > 1 or (files and output is None):
        raise click.UsageError("with --source and --target, give the outputs as -o SOURCE TARGET")
    return inputs, [output or "-", *files]


def _refuse_outputs(paths: list[str]) -> None:
    """Refuse, before any work, one file for two outputs, and files in no directory."""
    real = [path if path == "-" else os.path.realpath(path) for path in paths]
    for path, place in zip(paths, real, strict=True):
        if real.count(place) > 1 and (path == "-" or _is_file(path)):
            raise click.UsageError(f"{path} is given for two outputs; name another file")
        if path != "-" and not os.path.isdir(os.path.dirname(place)):
            raise resource_error(FileNotFoundError(errno.ENOENT, ""), path)
        if path != "-" and os.path.isdir(place):
            raise resource_error(IsADirectoryError(errno.EISDIR, ""), path)
        codec(path)  # a library that it needs


def _is_file(output: str) -> bool:
    """Whether an output is, or will be, a file: a pipe or a device has no room beside it."""
    return output != "-" and (os.path.isfile(output) or not os.path.exists(output))


@contextmanager
def _passing(directory: Path, ours: bool) -> Iterator[None]:
    """Remove a state of our own that is of no use: a text at fault will be another one."""
    try:
        yield
    except CorpusError:
        if ours:
            shutil.rmtree(directory, ignore_errors=True)
        raise


def _say(text: str) -> None:
    click.echo(text, err=True)
