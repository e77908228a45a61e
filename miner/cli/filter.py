"""``miner filter``: a noisy bitext in, a clean one and the rejected rows with reasons out."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import filtering, filtering_shards, guard, options, sharding
from miner.cli.progress_bars import Progress
from miner.errors import CorpusError

if TYPE_CHECKING:
    from miner.cleaning.run_checkpoint import Checkpoint


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
  miner filter web.tsv --threshold 0.5 --checkpoint web.scores -o clean.tsv
  miner filter 'web/*.tsv.zst' --work work --backend processes -o clean/ --rejected bad/
  miner filter --list"""
)
@click.argument("files", nargs=-1, metavar="[BITEXT]")
@click.option("--source", metavar="FILE", help="Source file, with --target instead of BITEXT.")
@click.option("--target", metavar="FILE", help="Target file, aligned line by line.")
@click.option(
    "-o",
    "--output",
    metavar="FILE [FILE]",
    help="Kept rows [standard output], two files for two inputs; .gz .bz2 .xz .zst compress.",
)
@click.option(
    "--rejected",
    metavar="FILE",
    help="Rejected rows, each with the filter that removed it and its score.",
)
@click.option(
    "--report", "page", metavar="FILE", help="HTML page about the run, or its counts as FILE.json."
)
@click.option("--config", metavar="FILE", help="Filters, settings and bounds, in TOML.")
@click.option("--list", "listing", is_flag=True, help="Describe all filters and their settings.")
@click.option(
    "--threshold",
    type=options.Number(),
    help="Bound of the score that ranks the pairs; without --config, the least quality [0.1].",
)
@click.option("--top-n", type=Count(), metavar="N", help="Keep the N best pairs.")
@click.option(
    "--target-words",
    type=Count(),
    metavar="N",
    help="Keep the best pairs, up to N words on the target's side (5M for five million).",
)
@click.option(
    "--target-precision",
    type=options.Share(),
    metavar="P",
    help="Keep the most pairs whose mean quality, an estimate of the share of good ones, is P. "
    "Mostly too strict where the noise differs from that in the model's training.",
)
@click.option(
    "--dry-run",
    type=Count(),
    metavar="N",
    help="Try all filters on an evenly spread sample of N rows; write no rows.",
)
@click.option(
    "--scores-jsonl",
    metavar="FILE",
    help="All scores of every row, in order, one JSON object a line.",
)
@click.option(
    "--all-scores", is_flag=True, help="Score rejected rows by the expensive filters, too."
)
@click.option(
    "--repair",
    is_flag=True,
    help="Repair broken encoding (Ã¤ for ä) before filtering, and in the output.",
)
@click.option(
    "--checkpoint",
    metavar="DIR",
    help="Keep the scores in DIR, to reuse them with other bounds; else they are in "
    "OUTPUT.checkpoint until the run is done.",
)
@options.model
@filtering.languages
@filtering.reading
@sharding.work
@sharding.options
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
    checkpoint: str | None,
    model: str,
    source_lang: str | None,
    target_lang: str | None,
    scol: str | None,
    tcol: str | None,
    header: bool,
    format: str | None,
    on_error: str,
    threads: int | None,
    work: str | None,
    **more: Any,
) -> None:
    """Clean a bitext: BITEXT, a tsv or jsonl file (- for standard input), or two aligned files.

    Without --config the default filters run: rules, duplicates, and the quality of each pair by
    the model; some need --source-lang and --target-lang. Every row is kept or rejected, unchanged
    and in order. The funnel, a table of the pairs that each filter removed, goes to standard error.
    Repeat a stopped run to continue from its checkpoint.

    With --backend, BITEXT, --source and --target may be patterns such as 'web/*.tsv.zst'. Their
    files are filtered as if they were one, by tasks; -o, --rejected and --scores-jsonl are then
    directories, with a file of its name for each.
    """
    if listing:
        click.echo(filtering.listing())
        return
    from miner.cleaning import funnel
    from miner.cleaning.choice import Choice
    from miner.cleaning.clean import clean
    from miner.cleaning.dry_run import sample
    from miner.cleaning.plan import default_plan, read_plan
    from miner.cleaning.write import write
    from miner.machine import thread_count
    from miner.reports import cleaning_report
    from miner.text.formats import BitextFormat
    from miner.text.lines import display_name
    from miner.text.output import open_output
    from miner.text.rows import Rows

    shards = sharding.take_sharding(more, work)
    if shards is not None:
        filtering_shards.run(shards, work, click.get_current_context().params)
        return
    inputs, outputs = _files(files, source, target, output)
    named = {
        **dict(zip(("-o", "the second file of -o"), outputs, strict=False)),
        "--rejected": rejected,
        "--scores-jsonl": scores_jsonl,
        "--report": page,
    }
    as_json = page is not None and page.endswith(".json")
    if page is not None and not as_json:
        cleaning_report.check(page)
    context = filtering.context(source_lang, target_lang, model)
    plan = default_plan(context) if config is None else read_plan(config, context)
    guard.check([*inputs, config, *map(str, plan.files())], {**named, "--checkpoint": checkpoint})
    guard.check_suffixes({name: path for name, path in named.items() if name != "--report"})
    guard.check_writable([path for path in named.values() if path is not None])
    plan = dataclasses.replace(plan, repair=plan.repair or repair)
    choice = Choice(top_n, target_words, target_precision)
    filtering.refuse_choice(plan, choice.any or threshold is not None, target_precision is not None)
    if threshold is not None:
        plan = plan.with_bound(threshold)
    filtering.warn(plan)
    with (
        filtering.spooled(inputs) as (paths, place),
        _checkpoint(checkpoint, None if dry_run is not None else outputs[0], place) as scores,
    ):
        reading = BitextFormat(scol, tcol, header, format, on_error)
        rows = Rows(
            paths[0], paths[1] if target else None, reading, more=plan.columns, rewritable=True
        )
        pages = ("--report", "--scores-jsonl")
        texts = {name: path for name, path in named.items() if name not in pages}
        guard.check_written(texts, rows.layout.formats[0])
        if dry_run is not None:
            total, paths = rows.counted(), sample(rows, dry_run, place)
            rows = Rows(
                paths[0], paths[1] if target else None, reading, more=plan.columns, rewritable=True
            )
            share = rows.counted() / max(total, 1)
            choice = choice.of_a(share)
            _say(
                f"trying {rows.counted():,} of {total:,} rows; counts to keep are scaled to the "
                "sample, which has fewer duplicates than the whole text"
            )
        languages = filtering.identified(plan, [rows])
        filtering.tell_missing(plan, config, languages)
        with Progress() as report:
            found = clean(
                rows,
                plan,
                scores,
                choice=choice,
                all_scores=all_scores or dry_run is not None or scores_jsonl is not None,
                keep=checkpoint is not None,
                threads=thread_count(threads),
                report=report,
                note=_say,
            )
            if dry_run is None:
                write(found, outputs, rejected, scores_jsonl, report)
        click.echo(funnel.table(funnel.summary(found)), err=True)
        if page is not None and as_json:
            with open_output(page) as file:
                file.write(json.dumps(funnel.as_dict(funnel.summary(found)), indent=2) + "\n")
        elif page is not None:
            names = list(map(display_name, inputs))
            with Progress() as report:
                cleaning_report.write(
                    page, found, names=names, sample=dry_run is not None, report=report
                )


def _files(
    files: tuple[str, ...], source: str | None, target: str | None, output: str | None
) -> tuple[list[str], list[str]]:
    """Inputs and outputs: an argument is the bitext, or the second file of -o."""
    if source is None and target is None:
        if len(files) != 1:
            raise click.UsageError("give one BITEXT, or --source and --target")
        return [files[0]], [output or "-"]
    inputs = filtering.inputs(None, source, target)
    if len(files) > 1 or (files and output is None):
        raise click.UsageError("with --source and --target, give the outputs as -o SOURCE TARGET")
    return inputs, [output or "-", *files]


def _is_file(output: str) -> bool:
    """Tell whether an output is, or will be, a regular file, so that files can lie beside it."""
    return output != "-" and (os.path.isfile(output) or not os.path.exists(output))


@contextmanager
def _checkpoint(named: str | None, output: str | None, place: Path) -> Iterator[Checkpoint]:
    """Hold the checkpoint of a run until its outputs are written: nothing is read before.

    named: the directory that the user keeps; without it, one beside ``output``, or in the temporary
    directory ``place`` if there is no such file, is removed at the end. An error of the text
    removes it too, since a corrected text has other scores; after all others the run can go on.
    """
    from miner.cleaning.run_checkpoint import Checkpoint

    if named is not None:
        with Checkpoint(named) as scores:
            yield scores
        return
    beside = output is not None and _is_file(output)
    with Checkpoint(f"{output}.checkpoint" if beside else place / "checkpoint") as scores:
        try:
            yield scores
        except CorpusError:
            scores.remove()
            raise
        scores.remove()


def _say(text: str) -> None:
    click.echo(text, err=True)
