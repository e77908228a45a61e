"""``miner score``: one or several scores for every pair of a bitext."""

from dataclasses import replace
from functools import partial

import click

from miner.cli import filter_options, guard, options, run_options, sharding
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, after_output, opt
from miner.encoder.loading import Loading
from miner.scoring.decontaminate_settings import Without
from miner.tasks.workers import Workers
from miner.text.formats import TABLES, BitextFormat
from miner.text_table import count_of


@click.command(cls=Command)
@options.bitext
def score(
    bitext: tuple[str, ...],
    source: str | None,
    target: str | None,
    names: tuple[str, ...] = opt(
        "quality, cosine, margin, or another filter of 'miner filter --list' that needs no "
        "setting; repeat it for several columns [quality].",
        "--score",
        metavar="NAME",
    ),
    config: str | None = opt(
        "Score with the filters of a TOML file of 'miner filter', which may have settings.",
        metavar="FILE",
    ),
    paragraphs: bool = opt(
        "Align the sentences inside a row of several, and score it by its worst and mean one "
        "(extra: split)."
    ),
    without: Without = options.without(),
    carry: tuple[str, ...] = options.carry,
    model: str = options.model,
    loading: Loading = options.loading(),
    second: str | None = options.second,
    second_pairs: int | None = options.second_pairs,
    languages: tuple[str | None, str | None] = filter_options.languages,
    layout: BitextFormat = filter_options.reading,
    work: str | None = sharding.work(),
    workers: Workers = sharding.with_threads,
    score_only: bool = opt("Write scores without the rows."),
    output: str = options.output(
        "Rows and scores, in the format of the suffix; .gz .bz2 .xz .zst compress. DIR/ gets a "
        "file for each BITEXT of a pattern.",
    ),
) -> None:
    """Score the pairs of BITEXT: one line out for each line in, in order, the scores last.

    --without adds a column for each FILE: the line number there of a sentence of the pair, or 0.

    BITEXT is a tsv, jsonl, parquet or tmx file, or - for standard input; or give two aligned
    files, SOURCE and TARGET. Each may be a pattern such as 'web/*.tsv.zst'. The default score is
    the probability that both sides mean the same; a pair's score does not depend on the other pairs
    of the file, unless --second compares those in doubt. 'miner mine' prints another probability:
    that a pair found among so many is right.
    Repeat a stopped run to continue where it was.

    Examples:
      miner score web.de-en.tsv.gz --score-only > scores.txt
      miner score web.de-en.tsv.gz --scol 3 --tcol 4 -o scored.tsv.gz
      miner score web.de web.en --score cosine --score margin -o scored.tsv
      miner score pages.tsv --paragraphs -o scored.tsv
      miner score web.tsv --second hf:encoders/LaBSE -o scored.tsv
      miner score 'web/*.tsv.zst' --backend processes -o scored/
      miner score 'web/*.de' 'web/*.en' --workers 2 -o scored/
      zcat web.tsv.gz | miner score - --score-only | paste scores.old -
    """
    from miner.cleaning.api import score_run
    from miner.cleaning.bitexts import refuse_equal_names
    from miner.cleaning.config_file import scores_config
    from miner.cleaning.outputs import describe, placed
    from miner.tasks.run import RunOptions

    layout = replace(layout, carry=carry)
    if after_output() in bitext and (len(bitext) > 1 or source is not None):
        raise click.UsageError("-o takes one file; --score-only writes scores without the text")
    inputs = filter_options.inputs(bitext, source, target)
    if names and config is not None:
        raise click.UsageError("give either --score or --config")
    files = sharding.bitexts(inputs)
    paths_by_role = {"only" if score_only else "scored": output}
    folders = filter_options.in_folders(inputs, files, paths_by_role)
    context = filter_options.context(languages, model)
    scores = config or names or ("quality",)
    filters = scores_config(scores, context, without, run_options.from_file(), say)
    filters = filters.with_paragraphs() if paragraphs else filters
    paths = [path for sides in files for path in sides]
    guard.check([*paths, config, *map(str, filters.files())], {"-o": output, "--work": work})
    if folders:
        refuse_equal_names(files)
    else:
        guard.check_suffixes({"-o": output}, () if score_only else TABLES)
        guard.check_writable([output])
    second_encoder = filter_options.second(second, loading, workers)
    with Progress("rows" if workers.backend == "serial" else "tasks") as report:
        scored = score_run(
            files,
            filters,
            partial(placed, wanted=paths_by_role, folders=folders),
            second=second_encoder,
            second_pairs=second_pairs,
            layout=layout,
            options=RunOptions(work, guard.beside(output), workers, report, say),
        )
    describe(scored.outputs, carry, {**filter_options.provenance(paths), "rows": scored.rows})
    if scored.unreadable:
        say(f"unreadable rows, scored as empty ones: {scored.unreadable}")
    if scored.replaced:
        say(f"rows with bytes replaced: {scored.replaced}")
    if folders:
        say(f"{count_of(scored.rows, 'row')} of {count_of(len(files), 'file')} scored: {output}")
