"""Pipelines of filtering and scoring: stages of tasks over pieces of a text.

Filtering reads a text in pieces. Cheap filters score every row, expensive ones the remaining rows;
some compare all pairs by their keys; then the rows are written to their outputs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from miner.cleaning import comparing, stages
from miner.cleaning.bitexts import (
    ELSEWHERE,
    HERE,
    BitextFiles,
    Piece,
    bitexts_of,
    cut_all,
    languages_of,
)
from miner.cleaning.config import FilterConfig, with_quality_bounds
from miner.cleaning.filtered import Filtered, calls_of
from miner.cleaning.outputs import Outputs, by_outputs, deliver, joined, packings
from miner.cleaning.scorers import Scoring, kept_scorers
from miner.cleaning.second_scores import Rated, both_opinions
from miner.cleaning.settings import EVERYTHING, Selection
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL
from miner.index.text_files import known_as, stamps
from miner.option_values import Languages
from miner.scoring.second_reading import SecondReader
from miner.tasks.run import Run, RunOptions, open_run
from miner.tasks.task import Result
from miner.text.formats import USUAL_FORMAT, BitextFormat
from miner.text.in_memory import GivenTexts
from miner.text.language_codes import SEVERAL


def filter_text(
    run: Run,
    bitexts: Sequence[BitextFiles],
    config: FilterConfig,
    *,
    outputs: Sequence[Outputs] = (),
    selection: Selection = EVERYTHING,
    all_scores: bool = False,
    second: SecondReader | None = None,
) -> Filtered:
    """Decide on each row of a text by the filters of a configuration, and write it to an output.

    The text is the concatenation of ``bitexts``; each has its ``outputs``, or none. Expensive
    filters score only the rows that pass the cheap ones, unless ``all_scores``. ``second``:
    reader of a second opinion. The result is the same for any workers, and for
    pieces of any size.

    Raises the errors of `Rows` and of the filters, and ResourceError.
    """
    config = config.located()
    if config.stage(MODEL):
        codes: list[str | None] = [*config.context.languages]
        if not all(codes):
            sides = languages_of(bitexts, config.context.languages)
            source, target = (SEVERAL if side.mixed else side.seen for side in sides)
            config = _identified(config, (source, target))
            codes = [code for side in sides for code in side.several or (side.code,)]
        config = with_quality_bounds(config, codes, SEVERAL in config.context.identified)
    cuts, of_bitexts = cut_all(run, bitexts)
    pieces = [piece for bitext_pieces in of_bitexts for piece in bitext_pieces]

    cheap = Scoring.of(config, (LOCAL, GLOBAL))
    expensive = Scoring.of(config, (MODEL,), _sample(run, config, pieces))
    _prepare(run, expensive, pieces)
    checked = run.stage("check", stages.check, calls_of(pieces), scoring=cheap)
    rated: list[Result] = []
    if expensive.steps:
        bounds = None if all_scores else config.stage(LOCAL)
        calls = calls_of(pieces, **({} if all_scores else {"checked": checked}))
        rated = run.stage("rate", stages.rate, calls, scoring=expensive, bounds=bounds)
    if second is not None:
        [(_, _, rated)] = both_opinions(run, [Rated(pieces, expensive, rated)], second)
    filtered = Filtered(run, config, selection, pieces, checked, rated, cuts[0].value["header"])
    scores = filtered.compared(config)
    chosen = {}
    if selection.any:
        level = len(config.stage(GLOBAL))
        sent = run.stage("send", comparing.send, calls_of(pieces, f"{level}-", scores=scores))
        ranking = run.task("rank", comparing.rank_pairs, str(level), sent=sent, selection=selection)
        chosen = {"sent": sent, "ranking": [ranking] * len(pieces), "index": range(len(pieces))}

    wanted = outputs or [{}] * len(bitexts)
    of_outputs = by_outputs(of_bitexts, wanted)
    ends = [
        packings(output, piece, len(parts) == 1)
        for output, parts in zip(wanted, of_outputs, strict=True)
        for piece in parts
    ]
    calls = calls_of(pieces, scores=scores, packings=ends, **chosen)
    written = run.stage("write", stages.write, calls, selection=selection)
    results = joined(run, of_outputs, written, wanted)
    run.wait(last=True)
    deliver(results, wanted, bitexts[: len(wanted)], config.context.languages)
    filtered.written, filtered.outputs = written, outputs
    return filtered


@dataclass(frozen=True)
class ScoredText:
    """Counts of a scored text, and its output files.

    ``unreadable`` rows were scored as pairs of empty texts; in ``replaced`` ones bytes were
    replaced.
    """

    rows: int
    unreadable: int
    replaced: int
    outputs: Sequence[Outputs]
    warnings: tuple[str, ...] = ()


def score_text(
    run: Run,
    bitexts: Sequence[BitextFiles],
    config: FilterConfig,
    outputs: Sequence[Outputs],
    second: SecondReader | None = None,
) -> ScoredText:
    """Write the rows of each bitext with their scores (``scored``), or only the scores (``only``).

    Each bitext is a separate text, with one output in one of these roles. ``second``: reader of
    a second opinion. Raises the errors of `Rows` and of the filters, and
    ResourceError.
    """
    config = config.located()
    identify = bool(config.stage(MODEL)) and not all(config.context.languages)
    cuts, of_bitexts = cut_all(run, bitexts, identify=identify, given=config.context.languages)
    texts: list[Rated] = []
    for done, pieces in zip(cuts, of_bitexts, strict=True):
        text_config = _identified(config, done.value["languages"]) if identify else config
        scoring = Scoring.of(text_config, (LOCAL, MODEL), _sample(run, text_config, pieces))
        if not texts:
            _prepare(run, scoring, pieces)
        rated = run.stage("rate", stages.rate, calls_of(pieces), scoring=scoring)
        texts.append(Rated(pieces, scoring, rated))
    if second is not None:
        texts = both_opinions(run, texts, second)
    written: list[Result] = []
    of_outputs = by_outputs(of_bitexts, outputs)
    each = outputs if of_outputs is of_bitexts else [*outputs] * len(bitexts)
    for (pieces, scoring, rated), wanted in zip(texts, each, strict=True):
        alone = len(pieces) == 1 and each is outputs
        ends = [packings(wanted, piece, alone) for piece in pieces]
        calls = calls_of(pieces, rated=rated, packings=ends)
        written += run.stage("write", stages.write_scored, calls, scoring=scoring)
    results = joined(run, of_outputs, written, outputs)
    run.wait(last=True)
    deliver(results, outputs, bitexts[: len(outputs)], config.context.languages)
    counts = {name: sum(result.value[name] for result in written) for name in written[0].value}
    return ScoredText(**counts, outputs=outputs)


@contextmanager
def text_run(
    name: str,
    files: Sequence[Sequence[str | GivenTexts]],
    reading: BitextFormat = USUAL_FORMAT,
    options: RunOptions = RunOptions(),
) -> Iterator[tuple[Run, list[BitextFiles]]]:
    """Open a run over bitexts of one file or two each; yield it and the bitexts.

    Standard input, pipes and pairs in memory are copied to the work directory. Raises the errors of
    :func:`miner.tasks.run.open_run`, and CorpusError for a file that cannot be read.
    """
    workers = options.workers
    if workers.shard_lines is None:
        workers = dataclasses.replace(workers, shard_lines=HERE if workers.here else ELSEWHERE)
        options = dataclasses.replace(options, workers=workers)
    identity = {
        "files": [[*map(known_as, sides)] for sides in files],
        "settings of reading": dataclasses.asdict(reading),
        "--shard-lines": workers.shard_lines,
    }
    with kept_scorers(), open_run(options, name, identity, stamps(files)) as run:
        yield run, bitexts_of(files, reading, run.work / "streams", options.note)


def _prepare(run: Run, scoring: Scoring, pieces: Sequence[Piece]) -> None:
    """Let a worker build the filters of a pass before any scoring, to fail early.

    Filters that compare with a sample of the text are built later.
    """
    steps = tuple(step for step in scoring.steps if not step.filter.sampled)
    if steps != scoring.steps:
        scoring = dataclasses.replace(scoring, steps=steps, samples=())
    if steps:
        largest = max(piece.rows for piece in pieces)
        run.task("prepare", stages.prepare, scoring=scoring, largest=largest)


def _sample(run: Run, config: FilterConfig, pieces: Sequence[Piece]) -> list[Result]:
    """Sample a text, evenly spread, for filters that compare with it; none without such filters."""
    wanted = [
        step.settings["pairs"]
        for step in config.steps
        if step.filter.sampled and not step.settings["reference"]
    ]
    if not wanted:
        return []
    size = 0 if 0 in wanted else max(wanted)
    first = pieces[0].first
    calls = calls_of(pieces, first=[piece.first - first for piece in pieces])
    total = sum(piece.rows for piece in pieces)
    columns, repair = tuple(config.columns), config.repair
    return run.stage(
        "sample", stages.sample, calls, size=size, total=total, columns=columns, repair=repair
    )


def _identified(config: FilterConfig, seen: Languages) -> FilterConfig:
    """Set the identified languages of the text, ISO 639 codes, for models."""
    source, target = seen
    context = dataclasses.replace(config.context, identified=(source, target))
    return dataclasses.replace(config, context=context)
