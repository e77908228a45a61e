"""``miner score``: one score, or several, for every pair of a bitext."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from miner.cli import filtering, guard, options, sharding
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command
from miner.text.formats import BitextFormat

if TYPE_CHECKING:
    from miner.shards.scoring_plan import Scores


@click.command(
    cls=Command,
    epilog="""\b
Examples:
  miner score web.de-en.tsv.gz --score-only > scores.txt
  miner score web.de-en.tsv.gz --scol 3 --tcol 4 -o scored.tsv.gz
  miner score --source web.de --target web.en --score cosine --score margin -o scored.tsv
  miner score 'web/*.tsv.zst' --work work --backend processes -o scored/
  miner score --source 'web/*.de' --target 'web/*.en' --work work --workers 2 -o scored/
  zcat web.tsv.gz | miner score - --score-only | paste scores.old -""",
)
@options.bitext
@click.option(
    "--score",
    "names",
    multiple=True,
    metavar="NAME",
    help="quality, cosine, margin, or another filter of 'miner filter --list' that needs no "
    "setting; several are several columns [quality].",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Score by the filters of a TOML file of 'miner filter', which may need settings.",
)
@options.model
@filtering.languages
@filtering.reading
@sharding.work
@sharding.options
@click.option("--score-only", is_flag=True, help="Write scores without the rows.")
@options.threads
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Rows and scores [standard output]; .gz .bz2 .xz .zst compress. With --backend, a "
    "directory: a file of its name for each one of BITEXT.",
)
def score(
    bitext: str | None,
    source: str | None,
    target: str | None,
    names: tuple[str, ...],
    config: str | None,
    model: str,
    languages: tuple[str | None, str | None],
    layout: BitextFormat,
    work: str | None,
    shards: sharding.Sharding | None,
    score_only: bool,
    threads: int | None,
    output: str,
) -> None:
    """Score the pairs of BITEXT: one line out for each line in, in order, the scores last.

    BITEXT is a tsv or jsonl file, or - for standard input; or give two aligned files by --source
    and --target. The default score is the probability that both sides mean the same; a pair's score
    does not depend on the other pairs of the file. With --backend, BITEXT, --source and --target
    may be patterns such as 'web/*.tsv.zst', whose files are scored by tasks, large ones in pieces.
    """
    from miner.cleaning import score_rows
    from miner.cleaning.plan import read_plan, scores_of, scores_plan
    from miner.filters.registry import FILTERS
    from miner.machine import thread_count
    from miner.text.rows import Rows

    files = filtering.inputs(bitext, source, target)
    known = filtering.scoring()
    for name in names:
        if name in FILTERS and None in (kind.default for kind in FILTERS[name].settings.values()):
            raise click.UsageError(f"{name} needs settings; give it in a --config")
        if name not in known:
            raise click.UsageError(f"there is no score {name!r}; there are: {', '.join(known)}")
    if names and config is not None:
        raise click.UsageError("give either --score or --config")
    context = filtering.context(languages, model)
    if shards is not None:
        from miner.shards.scoring_plan import Scores

        scores = Scores(
            names or ("quality",), config, *context.languages, context.model, score_only
        )
        bitexts = sharding.bitexts(files)
        shards = replace(shards, threads=threads)
        _score_shards(bitexts, output, work, scores, shards, layout)
        return
    sharding.refuse_work(work)
    guard.check_suffixes({"-o": output})
    if config is None:
        plan = scores_plan(names or ("quality",), context)
    else:
        plan = scores_of(read_plan(config, context))
    guard.check([*files, config, *map(str, plan.files())], {"-o": output})
    with filtering.spooled(files) as (paths, _):
        rows = Rows(
            paths[0],
            paths[1] if target else None,
            layout,
            more=plan.columns,
            rewritable=True,
        )
        if not score_only:
            written = "tsv" if target else rows.layout.formats[0]
            guard.check_written({"-o": output}, written)
        filtering.identified(plan, [rows])
        with Progress() as report:
            unread, replaced = score_rows.write(
                rows,
                plan,
                output,
                only=score_only,
                threads=thread_count(threads),
                report=report,
            )
    _tell(unread, replaced)


def _score_shards(
    bitexts: list[list[str]],
    directory: str,
    work: str | None,
    scores: Scores,
    shards: sharding.Sharding,
    layout: BitextFormat,
) -> None:
    """Score bitexts by tasks."""
    from miner.shards.bitext_files import BitextFiles
    from miner.shards.score_shards import score_shards

    paths = [path for sides in bitexts for path in sides]
    work = sharding.require_work(work, paths)
    if directory == "-":
        raise click.UsageError("shards write a file for each one of BITEXT: name a directory, -o")
    places = {"-o": directory, "--work": work}
    guard.check([*paths, scores.config, *map(str, scores.plan().files())], places)
    files = BitextFiles.of(bitexts, layout, shards.shard_lines)
    with Progress("tasks") as report:
        found = score_shards(
            files,
            directory,
            work,
            scores,
            workers=shards,
            report=report,
            note=report.say,
        )
    _tell(found["unreadable"], found["replaced"])
    say(f"{found['rows']:,} rows of {len(bitexts):,} files scored: {directory}")


def _tell(unread: int, replaced: int) -> None:
    if unread:
        say(f"unreadable rows, scored as empty ones: {unread}")
    if replaced:
        say(f"rows with bytes replaced: {replaced}")
