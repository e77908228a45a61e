"""`score` and `filter` in Python, with `score_run` and `filter_run`, which the commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.cleaning import pipeline
from miner.cleaning.bitexts import BitextFiles, sample
from miner.cleaning.clean_sample import SampleBounds, fit_bounds, to_fit
from miner.cleaning.config import (
    FilterConfig,
    default_config,
    for_one_language,
    with_quality_bounds,
)
from miner.cleaning.config_file import Filters, any_config, scores_config
from miner.cleaning.languages import identified, unknown_languages
from miner.cleaning.outputs import Outputs
from miner.cleaning.pipeline import text_run
from miner.cleaning.rows import BitextRows, FilteredRows
from miner.cleaning.settings import FilterSettings
from miner.cleaning.write import NAMED
from miner.config_fields import SettingsError
from miner.filters.filter_types import GLOBAL, MODEL, Context
from miner.option_values import Languages
from miner.progress import Reporter, silent
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.scoring.second_reading import Second, opened_second
from miner.tasks.run import RunOptions
from miner.tasks.workers import Workers
from miner.text.durable import scratch_directory
from miner.text.formats import USUAL_FORMAT, BitextFormat, file_format
from miner.text.in_memory import Given, GivenTexts, given_bitexts, given_texts
from miner.text.language_codes import language_pair
from miner.text.lines import display_name
from miner.text.remote import is_remote
from miner.text.sheet import read_labels
from miner.text.text_format import Note


def score(
    source: Given,
    target: Given | None = None,
    *,
    scores: Filters = ("quality",),
    languages: Languages | None = None,
    model: str | Path = "default",
    second: Second = None,
    second_pairs: int | None = None,
    without: Without = NOTHING,
    layout: BitextFormat = USUAL_FORMAT,
    work: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Note = silent,
) -> BitextRows:
    """Score the pairs of a bitext: all rows in order, with the ``scores`` as further cells.

    >>> score([("Der Hund schläft.", "The dog is sleeping.")])[0]["quality"]

    A bitext is a file or a pattern of files, an iterable of pairs, or of rows (dictionaries), or,
    with ``target``, two aligned files or iterables of texts. ``scores`` are names or tables of
    filters, or a TOML file as of :func:`filter`, ``languages`` BCP-47 codes, identified by default;
    ``layout`` is the format of files. Each file of ``without`` is a score, the line of its sentence
    that the pair has, or 0. ``second`` is another encoder, slow and good, that reads the pairs
    whose quality is in doubt: a model, or any object with ``encode(sentences) -> (n, d)``. It reads
    the ``second_pairs`` most doubtful pairs of each bitext at most.
    ``work``, ``workers``, ``report`` and ``note`` are as in :func:`miner.mining.mine.mine`.

    Raises SettingsError for a score that does not exist, ArtifactError, CorpusError, ResourceError.
    """
    config = scores_config(scores, _context(languages, model), without, note=note)
    with scratch_directory() as directory:
        scored = score_run(
            given_bitexts(source, target),
            config,
            lambda bitexts: _outputs(directory, bitexts, "scored"),
            second=second,
            second_pairs=second_pairs,
            layout=layout,
            options=RunOptions(work, None, workers, report, note),
        )
        return BitextRows(_rows(scored.outputs, "scored"), warnings=scored.warnings)


def filter(
    source: Given,
    target: Given | None = None,
    *,
    filters: Filters | None = None,
    languages: Languages | None = None,
    model: str | Path = "default",
    second: Second = None,
    second_pairs: int | None = None,
    layout: BitextFormat = USUAL_FORMAT,
    work: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Note = silent,
    **settings: Any,
) -> FilteredRows:
    """Filter a bitext: return the kept rows, in order, and the rejected ones with the reason.

    >>> filter(pairs, filters=["length", {"name": "quality", "minimum": 0.3}]).write("clean.tmx")

    Bitext and other arguments are as in :func:`score`. ``filters`` are a TOML file, or names and
    tables as in one; None stands for the default filters. ``settings`` are the fields of
    :class:`~miner.cleaning.settings.FilterSettings`, named as the options of the command:
    threshold, selection, without, labels, like, lid, repair, dry_run, paragraphs, all_scores, mono.
    With ``mono``, ``source`` is a file or texts in the source language, and rows have no
    ``target``.

    Raises SettingsError for settings that contradict each other, ArtifactError for filters that do
    not exist, CorpusError, ResourceError.
    """
    wanted = FilterSettings(**settings)
    if wanted.mono:
        if target is not None or layout.target_column is not None:
            raise SettingsError("mono text has one side; leave out the target's")
        languages = (languages[0], languages[0]) if languages else None
    if wanted.mono and not isinstance(source, str | Path):
        given: list[list[str | GivenTexts]] = [[given_texts(source, "texts")]]
    else:
        given = given_bitexts(source, target)
    config = filters_config(filters, _context(languages, model), wanted, note=note)
    roles = "kept", "rejected", *(["scores"] if wanted.all_scores else [])
    with (
        scratch_directory() as directory,
        filter_run(
            given,
            config,
            wanted,
            lambda bitexts: _outputs(directory, bitexts, *roles),
            second=second,
            second_pairs=second_pairs,
            layout=layout,
            options=RunOptions(work, None, workers, report, note),
        ) as filtered,
    ):
        kept, rejected, *scores = (_rows(filtered.outputs, role) for role in roles)
        for row in (*kept, *rejected) if wanted.mono else ():
            row.pop("target", None)
        return FilteredRows(
            kept,
            BitextRows(rejected),
            filtered.summary,
            *(BitextRows(rows) for rows in scores),
            warnings=filtered.warnings,
            fitted=filtered.fitted,
        )


def filters_config(
    filters: Filters | None,
    context: Context,
    settings: FilterSettings,
    options: Collection[str] = (),
    note: Note = silent,
) -> FilterConfig:
    """Return the filters of a run, by default the default ones, changed by the settings.

    ``options`` are as in :func:`~miner.cleaning.config_file.read_config`. Raises SettingsError for
    a selection of the best pairs without a ranking score, and ArtifactError.
    """
    if filters is None:
        config = default_config(context, settings.mono)
    else:
        config = any_config(filters, context, options, note)
        config = for_one_language(config) if settings.mono else config
    if settings.labels is not None:
        read_labels(settings.labels)
        config = config.with_labels(settings.labels)
    if settings.paragraphs:
        config = config.with_paragraphs()
    selection, ranking = settings.selection, config.ranking
    if ranking is None and (selection.any or settings.threshold is not None):
        raise SettingsError(
            "nothing ranks the pairs, so there are no best ones; add the filter quality, or name "
            "another as 'rank' in the configuration"
        )
    if selection.precision is not None and ranking is not None and ranking.name != "quality":
        raise SettingsError("--target-precision needs pairs to be ranked by their quality")
    if settings.threshold is not None:
        config = config.with_bound(settings.threshold)
    if context.model and not config.stage(MODEL) and settings.without.near_vectors is None:
        note("no filter here reads with a model: --model has no effect")
    return replace(config, repair=config.repair or settings.repair)


@contextmanager
def filter_run(
    files: Sequence[Sequence[str | GivenTexts]],
    config: FilterConfig,
    settings: FilterSettings,
    outputs: Callable[[Sequence[BitextFiles]], Sequence[Outputs]],
    *,
    second: Second = None,
    second_pairs: int | None = None,
    layout: BitextFormat,
    options: RunOptions,
) -> Iterator[pipeline.Filtered]:
    """Filter bitexts of one file or two each with `filters_config`; the run ends with the block.

    ``outputs`` names the files per bitext, or for all together (:func:`pipeline.filter_text`). A
    dry run leaves no results behind.
    """
    work, workers, note = options.work, options.workers, options.note
    selection, size = settings.selection, settings.dry_run
    if settings.mono:
        layout = replace(layout, one_text=True)
        _refuse_other_format(files[0][0], settings.like, layout)
    if selection.temperature is not None and len(files) < 2:
        raise SettingsError("--temperature mixes several BITEXTs; give a pattern of files")
    if size is not None and workers.here:  # results of a sample are not kept
        beside = None if work is None or is_remote(work) else work
        options = replace(options, work=None, beside=beside)
    elif size is not None and work is not None:
        options = replace(options, work=f"{work}.sample")
    opened = text_run("filtering", files, layout, options)
    lending = opened_second(second, workers.threads, note, second_pairs)
    with lending as reader, opened as (run, bitexts):
        if size is not None:
            bitexts, size, total = sample(bitexts, size, run.work / "sample")
            selection = selection.of_a(size / max(total, 1))
            note(
                f"trying {size:,} of {total:,} rows; counts to keep are scaled to the "
                "sample, which has fewer duplicates than the whole text"
            )
        config, warnings = identified(config, bitexts, note)
        fitted = None
        if settings.lid is not None:
            config = config.with_identifier(settings.lid)
        if settings.like is not None:
            config, fitted = bounds_like(config, settings, second, layout, options)
            note(str(fitted))
        config, selection = config.decontaminated(settings.without).selecting(selection)
        for code in unknown_languages(config):
            note(f"some filters do not know the language {code}; its texts pass them")
        if config.ranking is None and config.stage(GLOBAL):
            note("nothing ranks the pairs: the first of several duplicates stays")
        filtered = pipeline.filter_text(
            run,
            bitexts,
            config,
            outputs=outputs(bitexts),
            selection=selection,
            all_scores=settings.all_scores or size is not None,
            second=reader,
        )
        filtered.warnings, filtered.fitted = warnings, fitted
        yield filtered


def _refuse_other_format(text: str | GivenTexts, like: str | None, layout: BitextFormat) -> None:
    """Raise SettingsError if the clean sample of a monolingual file would be read otherwise."""
    if like is None or not isinstance(text, str):
        return
    kinds = [file_format(path, layout.format) for path in (text, like)]
    in_columns = layout.columns("")[0] is not None  # plain text is then read as TSV
    if len({"tsv" if kind == "plain" and in_columns else kind for kind in kinds}) > 1:
        raise SettingsError(
            f"like: {like} is read as {kinds[1]}, and {display_name(text)} as {kinds[0]}; give "
            "the sample in the format of the text"
        )


def bounds_like(
    config: FilterConfig,
    settings: FilterSettings,
    second: Second,
    layout: BitextFormat,
    options: RunOptions,
) -> tuple[FilterConfig, SampleBounds]:
    """Score the clean sample of the settings, and set the bounds that it gives."""
    config = with_quality_bounds(config, config.context.languages)
    steps = tuple(step.unbounded for step in to_fit(config))
    with scratch_directory() as directory:
        score_run(
            [[str(settings.like)]],
            replace(config, steps=steps),
            lambda bitexts: [{"only": f"{directory}/scores"}],
            second=second,
            layout=layout,
            options=RunOptions(
                workers=Workers(threads=options.workers.threads), report=options.report
            ),
        )
        file = directory / "scores"
        lines = np.loadtxt(file, delimiter="\t") if file.stat().st_size else np.zeros(0)
        scores = lines.reshape(-1, len(steps))
    return fit_bounds(config, scores, settings.like_share)


def score_run(
    files: Sequence[Sequence[str | GivenTexts]],
    config: FilterConfig,
    outputs: Callable[[Sequence[BitextFiles]], Sequence[Outputs]],
    *,
    second: Second = None,
    second_pairs: int | None = None,
    layout: BitextFormat,
    options: RunOptions,
) -> pipeline.ScoredText:
    """Score bitexts of one file or two each, with `scores_config`.

    Other arguments are as in :func:`filter_run`. There are no warnings about languages for several
    texts with separate outputs.
    """
    note = options.note
    opened = text_run("scoring", files, layout, options)
    lending = opened_second(second, options.workers.threads, note, second_pairs)
    with lending as reader, opened as (run, bitexts):
        named = outputs(bitexts)
        warnings = identified(config, bitexts, note)[1] if len(named) == 1 else ()
        scored = pipeline.score_text(run, bitexts, config, named, reader)
        return replace(scored, warnings=warnings)


def _outputs(directory: Path, bitexts: Sequence[BitextFiles], *roles: str) -> list[Outputs]:
    """Return the files of rows in a directory for each bitext."""
    ends = {role: ".jsonl" if role == "scores" else NAMED for role in roles}
    return [
        {role: f"{directory}/{role}-{number}{end}" for role, end in ends.items()}
        for number in range(len(bitexts))
    ]


def _rows(outputs: Sequence[Outputs], role: str) -> list[dict[str, Any]]:
    texts = (Path(paths[role]).read_text("utf-8") for paths in outputs)
    return [json.loads(line) for text in texts for line in text.split("\n") if line]


def _context(languages: Languages | None, model: str | Path) -> Context:
    return Context(*language_pair(languages), model=None if model == "default" else str(model))
