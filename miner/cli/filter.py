"""``miner filter``: split a noisy bitext into clean rows and rejected rows with reasons."""

import os
from dataclasses import dataclass, replace
from functools import partial

import click

from miner.cleaning.settings import FilterSettings, Selection
from miner.cli import filter_options, guard, options, run_options, sharding
from miner.cli.options import say, write_json
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, after_output, opt
from miner.config_fields import option
from miner.encoder.loading import Loading
from miner.option_values import Languages
from miner.scoring.decontaminate_settings import Without
from miner.tasks.workers import Workers
from miner.text.formats import TABLES, BitextFormat, file_format


@dataclass(frozen=True)
class Outputs:
    """Output files of a run; directories for several bitexts."""

    kept: str | None = option(
        None,
        "Kept rows [standard output], in the format of the suffix; two files have one side "
        "each. .gz .bz2 .xz .zst compress.",
        option="-o --output",
        metavar="FILE [FILE]",
    )
    rejected: str | None = option(
        None, "Rejected rows, with the filter that removed each and its score.", metavar="FILE"
    )
    page: str | None = option(
        None,
        "HTML report of the run (extra: report), or its counts as FILE.json.",
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
        """True if the report is a file of counts."""
        return self.page is not None and self.page.endswith(".json")


@click.command(cls=Command)
@options.bitext
def filter(
    bitext: tuple[str, ...],
    source: str | None,
    target: str | None,
    outputs: Outputs = Settings(Outputs, "outputs")(),
    config: str | None = opt(
        "Filters, settings and bounds in TOML; or a configuration of OpusFilter (YAML) or "
        "OpusCleaner (JSON).",
        metavar="FILE",
    ),
    listing: bool = opt("Describe all filters and their settings.", "--list"),
    settings: FilterSettings = Settings(FilterSettings, "settings")(),
    selection: Selection = Settings(Selection, "selection")(),
    without: Without = options.without(),
    carry: tuple[str, ...] = options.carry,
    model: str = options.model,
    loading: Loading = options.loading(),
    second: str | None = options.second,
    second_pairs: int | None = options.second_pairs,
    languages: tuple[str | None, str | None] = filter_options.languages,
    layout: BitextFormat = filter_options.reading,
    work: str | None = sharding.work("so that other bounds use scores again, "),
    workers: Workers = sharding.with_threads,
) -> None:
    """Clean a bitext: BITEXT, a tsv, jsonl, parquet or tmx file (- for standard input), or two
    aligned files, SOURCE and TARGET.

    Without --config the default filters run: rules, languages, duplicates, and the quality of each
    pair by the model. Every row is kept or rejected, unchanged and in order. The funnel, a table
    of the pairs that each filter removed, goes to standard error. Repeat a stopped run to continue
    where it was.

    Each may be a pattern such as 'web/*.tsv.zst', whose files are filtered as one text. -o FILE
    gets the rows of all files, -o DIR/ a file of the same name for each; likewise --rejected and
    --scores-jsonl.

    Examples:
      miner filter web.tsv.gz --source-lang de --target-lang en -o clean.tsv.gz --rejected bad.tsv
      miner filter web.tsv.gz --report filter.html -o clean.tsv.gz
      miner filter web.de web.en --config filters.toml -o clean.de clean.en
      miner filter web.de web.en --config opusfilter.yaml -o clean.de clean.en
      miner filter web.tmx -o clean.de clean.en --rejected bad.parquet
      miner filter web.jsonl --carry id,url -o clean.de clean.en
      miner filter web.tsv --target-words 5M -o clean.tsv
      miner filter web.tsv --without newstest.de --without newstest.en --near 0.8 -o clean.tsv
      miner filter web.tsv --top-n 100k --balance length --per-source 3 -o clean.tsv
      miner filter 'web/*.tsv' --top-n 5M --temperature 3 -o clean/
      miner filter web.tsv --dry-run 10000
      miner filter --mono news.de --without newstest.de -o clean.de --rejected bad.tsv
      miner filter pages.tsv --paragraphs -o clean.tsv --rejected bad.tsv
      miner filter web.tsv --like clean.tsv -o kept.tsv
      miner filter web.tsv --labels sheet.tsv --threshold 0.5 -o clean.tsv
      miner filter web.tsv --threshold 0.5 --work web.work -o clean.tsv
      miner filter web.tsv --second hf:encoders/LaBSE --work web.work -o clean.tsv
      miner filter 'web/*.tsv.zst' --backend processes -o clean/ --rejected bad/
      miner filter --list
    """
    if listing:
        click.echo(filter_options.listing())
        return
    from miner.cleaning import funnel
    from miner.cleaning.api import filter_run, filters_config
    from miner.cleaning.bitexts import refuse_equal_names
    from miner.cleaning.outputs import describe, placed
    from miner.reports import cleaning_report
    from miner.tasks.run import RunOptions

    layout = replace(layout, carry=carry)
    inputs, kept = _files(bitext, source, target, outputs.kept)
    if settings.mono:
        languages = _of_one_text(inputs, kept, languages, layout)
    settings = replace(
        settings,
        selection=selection,
        without=without,
        all_scores=settings.all_scores or outputs.scores is not None,
    )
    names = sharding.bitexts(inputs)
    dry = settings.dry_run is not None
    roles = {"rejected": outputs.rejected, "scores": outputs.scores}
    paths_by_role = dict(zip(("kept", "kept-1"), kept, strict=False))
    paths_by_role |= {role: path for role, path in roles.items() if path is not None}
    folders = not dry and len(kept) == 1 and filter_options.in_folders(inputs, names, paths_by_role)
    named = {
        **dict(zip(("-o", "the second file of -o"), kept, strict=False)),
        "--rejected": outputs.rejected,
        "--scores-jsonl": outputs.scores,
        "--report": outputs.page,
    }
    if outputs.page is not None and not outputs.as_json:
        cleaning_report.check(outputs.page)
    context = filter_options.context(languages, model)
    filters = filters_config(config, context, settings, run_options.from_file(), say)
    paths = [*(path for sides in names for path in sides), *without.files]
    guard.check(
        [*paths, config, settings.lid, settings.like, *map(str, filters.files())],
        {**named, "--work": work},
    )
    if folders:
        refuse_equal_names(names)
        guard.check_writable([outputs.page])
    else:
        tables = TABLES if len(kept) == 1 else ()
        texts = {name: path for name, path in named.items() if name != "--report"}
        guard.check_suffixes(texts, tables)
        guard.check_writable(named.values())
    second_encoder = filter_options.second(second, loading, workers)
    with (
        Progress("rows" if workers.backend == "serial" else "tasks") as report,
        filter_run(
            names,
            filters,
            settings,
            partial(placed, wanted={} if dry else paths_by_role, folders=folders),
            second=second_encoder,
            second_pairs=second_pairs,
            layout=layout,
            options=RunOptions(work, guard.beside(kept[0]), workers, report, say),
        ) as filtered,
    ):
        counts = {"rows": filtered.summary.rows, "kept": filtered.summary.kept}
        describe(filtered.outputs, carry, {**filter_options.provenance(paths), **counts})
        say(funnel.table(filtered.summary))
        if outputs.page is not None and outputs.as_json:
            write_json(outputs.page, funnel.as_dict(filtered.summary), indent=2)
        elif outputs.page is not None:
            cleaning_report.write(outputs.page, filtered, sample=dry, report=report)


def _files(
    files: tuple[str, ...], source: str | None, target: str | None, output: str | None
) -> tuple[list[str], list[str]]:
    """Return inputs and outputs: the argument after ``-o FILE`` is a second output if inputs
    remain.
    """
    inputs = list(files)
    second: list[str] = []
    after = after_output()
    if len(inputs) == 2 and inputs[0] == after:
        raise click.UsageError(f"give -o after the inputs: {after} could be its second file")
    if after in inputs and (len(inputs) > 1 or source is not None):
        if os.path.exists(after) and not os.path.exists(str(output)):
            raise click.UsageError(f"{after} would be replaced, as the second file of -o")
        inputs.remove(after)
        second = [after]
    return filter_options.inputs(inputs, source, target), [output or "-", *second]


def _of_one_text(
    inputs: list[str], kept: list[str], languages: Languages, layout: BitextFormat
) -> Languages:
    """Return the language of a monolingual text as that of both sides.

    Raises UsageError for options of a second side, and for an output in another format.
    """
    if len(inputs) + len(kept) > 2 or languages[1] or layout.target_column is not None:
        raise click.UsageError("--mono reads one FILE and has one side; leave out the other's")
    read, written = file_format(inputs[0], layout.format), file_format(kept[0], None)
    if kept[0] != "-" and not kept[0].endswith("/") and written != read:
        raise click.UsageError("--mono writes rows as they are: name -o like the FILE it reads")
    return languages[0], languages[0]
