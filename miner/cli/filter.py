"""``miner filter``: a noisy bitext in, a clean one and the rejected rows with reasons out."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from miner.cleaning.choice import Choice
from miner.cli import filtering, filtering_shards, guard, options, sharding
from miner.cli.option_types import COUNT, NUMBER
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings
from miner.cli.sharding import Sharding
from miner.config_fields import option
from miner.errors import CorpusError
from miner.text.formats import BitextFormat

if TYPE_CHECKING:
    from miner.cleaning.run_checkpoint import Checkpoint


@dataclass(frozen=True)
class Outputs:
    """Files that a run writes; directories, by shards."""

    kept: str | None = option(
        None,
        "Kept rows [standard output], two files for two inputs; .gz .bz2 .xz .zst compress.",
        option="-o --output",
        metavar="FILE [FILE]",
    )
    rejected: str | None = option(
        None, "Rejected rows, each with the filter that removed it and its score.", metavar="FILE"
    )
    page: str | None = option(
        None,
        "HTML page about the run, or its counts as FILE.json.",
        option="--report",
        metavar="FILE",
    )
    scores: str | None = option(
        None,
        "All scores of every row, in order, one JSON object a line.",
        option="--scores-jsonl",
        metavar="FILE",
    )

    @property
    def as_json(self) -> bool:
        """True if the page is a file of counts."""
        return self.page is not None and self.page.endswith(".json")


outputs = Settings(Outputs, "outputs")
choosing = Settings(Choice, "choice")()


@click.command(
    cls=Command,
    epilog="""\b
Examples:
  miner filter web.tsv.gz --source-lang de --target-lang en -o clean.tsv.gz --rejected bad.tsv.gz
  miner filter web.tsv.gz --report filter.html -o clean.tsv.gz
  miner filter --source web.de --target web.en --config filters.toml -o clean.de clean.en
  miner filter web.tsv --target-words 5M -o clean.tsv
  miner filter web.tsv --dry-run 10000
  miner filter web.tsv --threshold 0.5 --checkpoint web.scores -o clean.tsv
  miner filter 'web/*.tsv.zst' --work work --backend processes -o clean/ --rejected bad/
  miner filter --list""",
)
@click.argument("files", nargs=-1, metavar="[BITEXT]")
@options.sides
@outputs("kept", "rejected", "page")
@click.option("--config", metavar="FILE", help="Filters, settings and bounds, in TOML.")
@click.option("--list", "listing", is_flag=True, help="Describe all filters and their settings.")
@click.option(
    "--threshold",
    type=NUMBER,
    help="Bound of the score that ranks the pairs; without --config, the least quality [0.1].",
)
@choosing
@click.option(
    "--dry-run",
    type=COUNT,
    metavar="N",
    help="Try all filters on an evenly spread sample of N rows; write no rows.",
)
@outputs("scores")
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
    outputs: Outputs,
    config: str | None,
    listing: bool,
    threshold: float | None,
    choice: Choice,
    dry_run: int | None,
    all_scores: bool,
    repair: bool,
    checkpoint: str | None,
    model: str,
    languages: tuple[str | None, str | None],
    layout: BitextFormat,
    work: str | None,
    shards: Sharding | None,
    threads: int | None,
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
    from miner.cleaning.clean import clean
    from miner.cleaning.dry_run import sample
    from miner.cleaning.plan import default_plan, read_plan
    from miner.cleaning.write import write
    from miner.machine import thread_count
    from miner.reports import cleaning_report
    from miner.text.lines import display_name
    from miner.text.rows import Rows

    inputs, kept = _files(files, source, target, outputs.kept)
    if shards is not None:
        if len(kept) > 1:
            raise click.UsageError("shards write bitexts: -o is one directory")
        filtering_shards.run(inputs, click.get_current_context().params)
        return
    sharding.refuse_work(work)
    named = {
        **dict(zip(("-o", "the second file of -o"), kept, strict=False)),
        "--rejected": outputs.rejected,
        "--scores-jsonl": outputs.scores,
        "--report": outputs.page,
    }
    if outputs.page is not None and not outputs.as_json:
        cleaning_report.check(outputs.page)
    context = filtering.context(languages, model)
    plan = default_plan(context) if config is None else read_plan(config, context)
    guard.check([*inputs, config, *map(str, plan.files())], {**named, "--checkpoint": checkpoint})
    guard.check_suffixes({name: path for name, path in named.items() if name != "--report"})
    guard.check_writable([path for path in named.values() if path is not None])
    plan = dataclasses.replace(plan, repair=plan.repair or repair)
    filtering.refuse_choice(plan, choice, threshold)
    if threshold is not None:
        plan = plan.with_bound(threshold)
    filtering.warn(plan)
    with (
        filtering.spooled(inputs) as (paths, place),
        _checkpoint(checkpoint, None if dry_run is not None else kept[0], place) as scores,
    ):

        def rows_of(paths: list[str]) -> Rows:
            other = paths[1] if target else None
            return Rows(paths[0], other, layout, more=plan.columns, rewritable=True)

        rows = rows_of(paths)
        pages = ("--report", "--scores-jsonl")
        texts = {name: path for name, path in named.items() if name not in pages}
        guard.check_written(texts, rows.layout.formats[0])
        if dry_run is not None:
            total, rows = rows.counted(), rows_of(sample(rows, dry_run, place))
            share = rows.counted() / max(total, 1)
            choice = choice.of_a(share)
            say(
                f"trying {rows.counted():,} of {total:,} rows; counts to keep are scaled to the "
                "sample, which has fewer duplicates than the whole text"
            )
        filtering.tell_missing(plan, config, filtering.identified(plan, [rows]))
        with Progress() as report:
            found = clean(
                rows,
                plan,
                scores,
                choice=choice,
                all_scores=all_scores or dry_run is not None or outputs.scores is not None,
                keep=checkpoint is not None,
                threads=thread_count(threads),
                report=report,
                note=say,
            )
            if dry_run is None:
                write(found, kept, outputs.rejected, outputs.scores, report)
        filtering_shards.tell(funnel.summary(found), outputs.page if outputs.as_json else None)
        if outputs.page is not None and not outputs.as_json:
            names = list(map(display_name, inputs))
            with Progress() as report:
                cleaning_report.write(
                    outputs.page, found, names=names, sample=dry_run is not None, report=report
                )


def _files(
    files: tuple[str, ...], source: str | None, target: str | None, output: str | None
) -> tuple[list[str], list[str]]:
    """Inputs and outputs: an argument is the bitext, or the second file of -o."""
    if source is None and target is None:
        if len(files) != 1:
            raise click.UsageError(
                "give one BITEXT, in quotes if it is a pattern, or --source and --target"
            )
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
