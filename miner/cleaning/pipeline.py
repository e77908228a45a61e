"""Pipelines of filtering and scoring: stages of tasks over pieces of a text.

Filtering reads a text in pieces. Cheap filters score every row, expensive ones the remaining rows;
some compare all pairs by their keys; then the rows are written to their outputs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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
from miner.cleaning.clean_sample import SampleBounds
from miner.cleaning.comparing import PieceScores, comparison_of
from miner.cleaning.config import FilterConfig, with_quality_bounds
from miner.cleaning.decide import Cleaned, FunnelRow, choose
from miner.cleaning.funnel import FilterSummary, merged
from miner.cleaning.outputs import Outputs, by_outputs, deliver, joined, packings
from miner.cleaning.scorers import Scoring, kept_scorers
from miner.cleaning.second_scores import Rated, both_opinions
from miner.cleaning.settings import EVERYTHING, Selection
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL
from miner.index.text_files import known_as, stamps
from miner.option_values import Languages
from miner.scoring.second_reading import SecondReader
from miner.tasks.run import Call, Run, RunOptions, open_run
from miner.tasks.task import Result
from miner.text.formats import USUAL_FORMAT, BitextFormat
from miner.text.in_memory import GivenTexts
from miner.text.language_codes import SEVERAL

# Pairs whose keys one task compares.
PARTITION = 1 << 20


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
    checked = run.stage("check", stages.check, _calls(pieces), scoring=cheap)
    rated: list[Result] = []
    if expensive.steps:
        bounds = None if all_scores else config.stage(LOCAL)
        calls = _calls(pieces, **({} if all_scores else {"checked": checked}))
        rated = run.stage("rate", stages.rate, calls, scoring=expensive, bounds=bounds)
    if second is not None:
        [(_, _, rated)] = both_opinions(run, [Rated(pieces, expensive, rated)], second)
    filtered = Filtered(run, config, selection, pieces, checked, rated, cuts[0].value["header"])
    scores = filtered.compared(config)
    chosen = {}
    if selection.any:
        level = len(config.stage(GLOBAL))
        sent = run.stage("send", comparing.send, _calls(pieces, f"{level}-", scores=scores))
        ranking = run.task("rank", comparing.rank_pairs, str(level), sent=sent, selection=selection)
        chosen = {"sent": sent, "ranking": [ranking] * len(pieces), "index": range(len(pieces))}

    wanted = outputs or [{}] * len(bitexts)
    of_outputs = by_outputs(of_bitexts, wanted)
    ends = [
        packings(output, piece, len(parts) == 1)
        for output, parts in zip(wanted, of_outputs, strict=True)
        for piece in parts
    ]
    calls = _calls(pieces, scores=scores, packings=ends, **chosen)
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
        rated = run.stage("rate", stages.rate, _calls(pieces), scoring=scoring)
        texts.append(Rated(pieces, scoring, rated))
    if second is not None:
        texts = both_opinions(run, texts, second)
    written: list[Result] = []
    of_outputs = by_outputs(of_bitexts, outputs)
    each = outputs if of_outputs is of_bitexts else [*outputs] * len(bitexts)
    for (pieces, scoring, rated), wanted in zip(texts, each, strict=True):
        alone = len(pieces) == 1 and each is outputs
        ends = [packings(wanted, piece, alone) for piece in pieces]
        calls = _calls(pieces, rated=rated, packings=ends)
        written += run.stage("write", stages.write_scored, calls, scoring=scoring)
    results = joined(run, of_outputs, written, outputs)
    run.wait(last=True)
    deliver(results, outputs, bitexts[: len(outputs)], config.context.languages)
    counts = {name: sum(result.value[name] for result in written) for name in written[0].value}
    return ScoredText(**counts, outputs=outputs)


@dataclass
class Filtered:
    """Filtered text: the results of the tasks for each of its ``pieces``.

    ``header``: the first row is line 2. ``outputs``: the files written; ``warnings``: lines about
    the languages of the text; ``fitted``: bounds from a clean sample.
    """

    run: Run
    config: FilterConfig
    selection: Selection
    pieces: list[Piece]
    checked: list[Result]
    rated: list[Result]
    header: bool
    written: list[Result] = field(default_factory=list)
    outputs: Sequence[Outputs] = ()
    warnings: tuple[str, ...] = ()
    fitted: SampleBounds | None = None

    @property
    def summary(self) -> FilterSummary:
        parts = []
        for result in self.written:
            counts = result.value
            steps = tuple(FunnelRow(**stage) for stage in counts["stages"])
            parts.append(FilterSummary(**(counts | {"stages": steps})))
        labels = [step.label for step in self.config.steps]
        return merged(parts, [*labels, *(label for label, _ in self.selection.limits)])

    def compared(self, config: FilterConfig, prefix: str = "") -> list[PieceScores]:
        """Register the stages that compare all pairs; return the future scores of each piece.

        ``config`` may have other bounds of the same filters; a ``prefix`` then distinguishes the
        tasks.
        """
        run, pieces = self.run, self.pieces
        alone = [step for step in config.steps if step.filter.stage != GLOBAL]
        scores = [
            PieceScores(
                piece,
                dataclasses.replace(config, steps=tuple(alone)),
                self.checked[number],
                self.rated[number] if self.rated else None,
            )
            for number, piece in enumerate(pieces)
        ]
        total = sum(piece.rows for piece in pieces)
        for level, bounded in enumerate(config.stage(GLOBAL)):
            step, name = bounded.unbounded, f"{prefix}{level}"
            by = comparison_of(step, config).by
            count = max(1, -(-total // PARTITION)) if by == "best" else 1
            sent = run.stage(
                "send", comparing.send, _calls(pieces, f"{name}-", scores=scores), step=step,
                partitions=count,
            )  # fmt: skip
            size = {"units": float(total), "rows": float(total) / count}
            if by == "place":
                results = [run.task("rank", comparing.rank_pairs, name, sent=sent, **size)]
            elif by == "all":
                arguments: dict[str, Any] = {
                    "pieces": pieces,
                    "step": step,
                    "config": scores[0].config,
                }
                results = [
                    run.task("together", comparing.together, name, sent=sent, **arguments, **size)
                ]
            else:
                parts = {
                    f"{name}-{number:04}": Call({"partition": number}, total / count, total / count)
                    for number in range(count)
                }
                results = run.stage("best", comparing.best, parts, sent=sent)
            calls = _calls(pieces, f"{name}-", scores=scores, sent=sent, index=range(len(pieces)))
            values = run.stage(
                "compare", comparing.compare, calls, step=step, found=results, pieces=pieces,
                checked=self.checked, header=self.header,
            )  # fmt: skip
            scores = [
                dataclasses.replace(
                    piece_scores,
                    config=dataclasses.replace(config, steps=(*piece_scores.config.steps, bounded)),
                    compared=(*piece_scores.compared, value),
                )
                for piece_scores, value in zip(scores, values, strict=True)
            ]
        return scores

    def whole(self) -> Cleaned:
        """Return the decisions on all rows of the text, for a report."""
        cleaned = self._gathered(self.config, "")
        if self.selection.any:
            choose(cleaned, self.selection)
        return cleaned

    def unbounded(self) -> Cleaned:
        """Decide again without a bound on the ranking score, and without a selection.

        A threshold keeps the pairs of this result that reach it: of duplicates the best is kept, so
        a duplicate removed for a pair below the threshold is below it too. This does not hold for
        `relative` filters. Pairs that a cheap bound kept from the expensive filters pass them.
        """
        return self._gathered(self.config.with_bound(None), "free-")

    def _gathered(self, config: FilterConfig, prefix: str) -> Cleaned:
        scores = self.compared(config, prefix)
        gathered = self.run.task("gather", comparing.gather, f"{prefix}all", scores=scores)
        self.run.wait(last=True)
        return comparing.whole(gathered, config)


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


def _calls(
    pieces: Sequence[Piece], prefix: str = "", /, **of_each: Sequence[Any]
) -> dict[str, Call]:
    """Return a task for each piece; ``of_each``: arguments with one value per piece.

    The piece itself is an argument, unless its scores hold it.
    """
    calls = {}
    for number, piece in enumerate(pieces):
        arguments = {name: values[number] for name, values in of_each.items()}
        if "scores" not in arguments:
            arguments["piece"] = piece
        calls[f"{prefix}{piece.name}"] = Call(arguments, float(piece.rows), float(piece.rows))
    return calls


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
    calls = _calls(pieces, first=[piece.first - first for piece in pieces])
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
