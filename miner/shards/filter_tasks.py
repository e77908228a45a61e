"""Tasks of a filtering, in the order of :class:`miner.shards.filtering_plan.FilteringPlan`.

More than 350 lines: the tasks share what they read and write, and the plan names them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import create_npy
from miner.cleaning import write as outputs
from miner.cleaning.choice import Limits
from miner.cleaning.clean import fill, passed, sample_size, sample_texts, with_sample
from miner.cleaning.decide import (
    Cleaned,
    compared_values,
    decide_alone,
    decide_compared,
    decide_places,
    to_compare,
)
from miner.cleaning.funnel import summary
from miner.cleaning.plan import Plan, Step
from miner.cleaning.run_checkpoint import Table
from miner.cleaning.text_languages import identified_as, identify_rows, needs_languages
from miner.cleaning.worker import ROWS, Job, scorers
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL, Comparison
from miner.shards import bitext_files, joined_outputs
from miner.shards.bitext_files import CUT, Piece
from miner.shards.context import load, save
from miner.shards.filtering_plan import (
    BEST,
    CHECK,
    COMPARE,
    KEYS,
    LANGUAGES,
    ORDER,
    RATE,
    SAMPLE,
    WRITE,
    FilteringPlan,
)
from miner.shards.joined_outputs import JOIN
from miner.shards.object_store import result_directory, result_record
from miner.shards.partitions import answers, best_rows, entries, merged, ranked
from miner.text.rows import Rows, spread_rows

TABLE, TEXTS = "scores.bin", "texts.json"


@dataclass(frozen=True)
class FilteringContext:
    """A plan at work in the directory ``work``, by tasks of so many ``threads``."""

    work: Path
    plan: FilteringPlan
    threads: int

    @cached_property
    def pieces(self) -> list[Piece]:
        """All pieces of all bitexts."""
        return self.plan.files.pieces(self.plan.rows(self.work))

    @cached_property
    def header(self) -> bool:
        """True if the first line of all files is a header."""
        return self.plan.files.whole(0, count=0).head is not None

    @property
    def steps(self) -> list[Step]:
        """The filters that compare all pairs."""
        return self.plan.filters.stage(GLOBAL)

    def rows(self, piece: Piece) -> Rows:
        return self.plan.files.open(self.work, piece, self.plan.filters.columns)

    def array(self, task: str, name: str) -> np.ndarray:
        """Map an array of a task's result into memory."""
        return load(result_directory(self.work, task) / f"{name}.npy")

    def job(self, stage: int, rows: Rows) -> Job:
        """Return what scores rows by the filters of a stage."""
        filters = self.plan.filters
        if stage == MODEL:
            filters = self._informed(filters)
        return Job(filters, rows.layout, tuple(filters.stage(stage)), first=stage == LOCAL)

    def _informed(self, filters: Plan) -> Plan:
        """Return the filters with what they know about the whole text."""
        if needs_languages(filters):
            left, right = result_record(self.work, f"{LANGUAGES}/all")["result"]["seen"]
            filters = identified_as(filters, (left, right))
        if sample_size(filters) is not None:
            source: list[str] = []
            target: list[str] = []
            for piece in self.pieces:
                place = result_directory(self.work, f"{SAMPLE}/{piece.name}") / TEXTS
                some = json.loads(place.read_text(encoding="utf-8"))
                source += some[0]
                target += some[1]
            filters = with_sample(filters, (source, target))
        return filters

    def table(self, kind: str, piece: Piece, job: Job) -> np.ndarray:
        """Return the scores of a piece, by memory map."""
        return Table(result_directory(self.work, f"{kind}/{piece.name}") / TABLE, job.dtype).read()

    def seconds(self, piece: Piece) -> dict[str, float]:
        """Return the processor time that each filter took on a piece."""
        found: dict[str, float] = {}
        for kind in (CHECK, RATE) if self.plan.filters.stage(MODEL) else (CHECK,):
            found |= result_record(self.work, f"{kind}/{piece.name}")["result"]["seconds"]
        return found

    def decided(self, piece: Piece, level: int) -> Cleaned:
        """Decide on the rows of a piece by all filters before the one at a level of comparison."""
        rows, filters = self.rows(piece), self.plan.filters
        local = self.table(CHECK, piece, self.job(LOCAL, rows))
        model = None
        if filters.stage(MODEL):
            plain = Job(filters, rows.layout, tuple(filters.stage(MODEL)))
            model = self.table(RATE, piece, plain)
        found = Cleaned(rows, filters, local, model, self.seconds(piece))
        decide_alone(found)
        for number, step in enumerate(self.steps[:level]):
            values = np.asarray(self.array(f"{COMPARE}/{number}-{piece.name}", "values"))
            decide_compared(found, step, values)
        return found

    def comparison(self, level: int) -> Comparison:
        step = self.steps[level]
        found: Comparison = step.filter.build(step.settings, self.plan.filters.context)
        return found

    def sketches(self, found: Cleaned, level: int, rows: np.ndarray) -> np.ndarray:
        """Return the sketches of some rows of a piece for a comparison."""
        field = self.comparison(level).field
        return np.zeros((len(rows), 0)) if field is None else found.local[field[0]][rows]

    def sketches_of(self, name: str) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that looks up sketches of rows of the whole text."""
        firsts = np.array([piece.first for piece in self.pieces])

        def look_up(rows: np.ndarray) -> np.ndarray:
            # Of pieces without rows, which begin where the next does, the last is meant.
            own = np.searchsorted(firsts, rows, side="right") - 1
            found: np.ndarray | None = None
            for number in np.unique(own).tolist():
                piece = self.pieces[number]
                local = self.table(CHECK, piece, self.job(LOCAL, self.rows(piece)))
                if found is None:
                    found = np.empty((len(rows), *local.dtype[name].shape), local.dtype[name].base)
                found[own == number] = local[name][rows[own == number] - piece.first]
            assert found is not None
            return found

        return look_up


def cut(context: FilteringContext, out: Path, file: int, **known: Any) -> dict[str, Any]:
    """Count the rows of a bitext, and copy those of a large one to pieces."""
    return bitext_files.cut(context.plan.files, out, file)


def languages(context: FilteringContext, out: Path, rows: list[int]) -> dict[str, Any]:
    """Identify the languages by the head of the text."""
    files = context.plan.files
    parts = (files.whole(file, (), count) for file, count in enumerate(rows))
    found = identify_rows(parts, context.plan.filters.context.languages)
    return {"seen": [side.seen for side in found]}


def sample(
    context: FilteringContext, out: Path, piece: dict[str, int], size: int, total: int
) -> None:
    """Collect the pairs of a piece that are in a sample of the whole text."""
    own = Piece(**piece)
    rows = context.rows(own)
    chosen = spread_rows(total, size) - own.first
    chosen = chosen[(chosen >= 0) & (chosen < own.rows)]
    texts = sample_texts(context.plan.filters, rows.layout, rows.chosen(chosen))
    (out / TEXTS).write_text(json.dumps(texts), encoding="utf-8")


def check(context: FilteringContext, out: Path, piece: dict[str, int]) -> dict[str, Any]:
    """Score the rows of a piece by the cheap filters, and make sketches of them."""
    rows = context.rows(Piece(**piece))
    return _score(context, out, rows, context.job(LOCAL, rows), None)


def rate(context: FilteringContext, out: Path, piece: dict[str, int]) -> dict[str, Any]:
    """Score the rows that the cheap filters leave by the expensive ones."""
    own = Piece(**piece)
    rows = context.rows(own)
    wanted = np.ones(own.rows, dtype=bool)
    if not context.plan.given.all_scores:
        wanted = passed(context.plan.filters, context.table(CHECK, own, context.job(LOCAL, rows)))
    return _score(context, out, rows, context.job(MODEL, rows), wanted)


def _score(
    context: FilteringContext, out: Path, rows: Rows, job: Job, wanted: np.ndarray | None
) -> dict[str, Any]:
    seconds = dict.fromkeys((step.label for step in job.steps), 0.0)
    table = Table(out / TABLE, job.dtype)
    choice = None if wanted is None else (wanted, wanted, list[np.ndarray]())
    with scorers([job], context.threads, rows.at_most(ROWS)) as workers:
        fill(table, 0, choice, rows=rows, jobs=[job], workers=workers, seconds=seconds)
    rows.inputs.check()
    return {"seconds": seconds}


def keys(
    context: FilteringContext, out: Path, piece: dict[str, int], level: int, partitions: int
) -> None:
    """Send the pairs left to be compared: the best of each key, or all of them in order.

    The level behind the last filter is the choice of the best pairs.
    """
    own = Piece(**piece)
    found = context.decided(own, level)
    if level == len(context.steps):
        rows = np.flatnonzero(found.kept)
        assert found.rank is not None
        rank = found.rank[rows]
    else:
        rows, rank = to_compare(found, context.steps[level])
    if not partitions:
        pairs, order = ranked(rank, own.first + rows, found.words[rows])
        save(out, pairs=pairs, order=order)
        return
    columns = context.comparison(level).keys(context.sketches(found, level, rows))
    assert columns is not None
    for number, column in enumerate(columns.T):
        best, starts = entries(column, rank, own.first + rows, partitions)
        save(out, **{f"{number}-entries": best, f"{number}-starts": starts})


def best(context: FilteringContext, out: Path, level: int, partition: int) -> None:
    """Find the best pairs of the keys of a partition, of all pieces."""
    tasks = [f"{KEYS}/{level}-{piece.name}" for piece in context.pieces]
    number = 0
    while (result_directory(context.work, tasks[0]) / f"{number}-entries.npy").exists():
        parts = []
        for task in tasks:
            starts = context.array(task, f"{number}-starts")
            some = context.array(task, f"{number}-entries")
            parts.append(np.array(some[starts[partition] : starts[partition + 1]]))
        rows, begins = best_rows(parts)
        save(out, **{f"{number}-rows": rows, f"{number}-starts": begins})
        number += 1


def order(context: FilteringContext, out: Path, level: int) -> dict[str, Any]:
    """Find the place of each pair among all, and what limits leave of them.

    Memory does not grow with the pairs, which come sorted by piece.
    """
    names = [piece.name for piece in context.pieces]
    runs = [context.array(f"{KEYS}/{level}-{name}", "pairs") for name in names]
    places = [
        create_npy(out / f"{name}.npy", np.int64, run.shape)
        for name, run in zip(names, runs, strict=True)
    ]
    limits = Limits(context.plan.given.choice)
    done = 0
    for pairs, place, spans in merged(runs):
        start = 0
        for own, span in zip(places, spans, strict=True):
            count = span.stop - span.start
            own[span] = done + place[start : start + count]
            start += count
        done += len(pairs)
        if level == len(context.steps):
            limits.add(pairs["rank"], pairs["words"])
    for own in places:
        own.flush()
    return {"total": done, "kept": limits.kept}


def compare(
    context: FilteringContext, out: Path, piece: dict[str, int], level: int, partitions: int
) -> None:
    """Score the pairs left of a piece by their comparison with all others."""
    own, step = Piece(**piece), context.steps[level]
    found = context.decided(own, level)
    rows, _ = to_compare(found, step)
    comparison = context.comparison(level)
    if partitions:
        scores = _of_best(context, own, level, partitions, found, rows)
    else:
        place = _places(context, own, level, len(rows))
        total = result_record(context.work, f"{ORDER}/{level}")["result"]["total"]
        scores = comparison.of_places(place, total)
    save(out, values=compared_values(step, own.rows, rows, scores, context.header))


def _of_best(
    context: FilteringContext,
    piece: Piece,
    level: int,
    partitions: int,
    found: Cleaned,
    rows: np.ndarray,
) -> np.ndarray:
    """Return the scores of the pairs of a piece by the best pairs of their keys."""
    comparison = context.comparison(level)
    sketches = context.sketches(found, level, rows)
    columns = comparison.keys(sketches)
    assert columns is not None and comparison.field is not None
    task = f"{KEYS}/{level}-{piece.name}"
    place = [one.name for one in context.pieces].index(piece.name)
    winners = np.empty(columns.shape, dtype=np.int64)
    for number, column in enumerate(columns.T):
        parts = []
        for partition in range(partitions):
            name = f"{BEST}/{level}-{partition:04}"
            starts = context.array(name, f"{number}-starts")
            parts.append(context.array(name, f"{number}-rows")[starts[place] : starts[place + 1]])
        own = context.array(task, f"{number}-entries")
        winners[:, number] = answers(column, own, np.concatenate(parts))
    look_up = context.sketches_of(comparison.field[0])
    return comparison.of_best(sketches, piece.first + rows, winners, look_up)


def _places(context: FilteringContext, piece: Piece, level: int, count: int) -> np.ndarray:
    """Return the places of the pairs of a piece among all, in the order of their rows."""
    place = np.empty(count, dtype=np.int64)
    place[context.array(f"{KEYS}/{level}-{piece.name}", "order")] = context.array(
        f"{ORDER}/{level}", piece.name
    )
    return place


def write(context: FilteringContext, out: Path, piece: dict[str, int]) -> dict[str, Any]:
    """Write the rows of a piece, kept and rejected ones, and count them."""
    own, level = Piece(**piece), len(context.steps)
    found = context.decided(own, level)
    choice = context.plan.given.choice
    if choice.any:
        rows = np.flatnonzero(found.kept)
        kept = result_record(context.work, f"{ORDER}/{level}")["result"]["kept"]
        decide_places(found, choice, rows, _places(context, own, level, len(rows)), kept)
    names = context.plan.outputs(own.file)
    places = {role: joined_outputs.place(out, own, role, name) for role, name in names.items()}
    outputs.write(
        found,
        [place for role, place in places.items() if role.startswith("kept")],
        places.get("rejected"),
        places.get("scores"),
    )
    return asdict(summary(found))


def join(context: FilteringContext, out: Path, file: int, parts: list[str]) -> None:
    """Join the outputs of the pieces of a bitext."""
    joined_outputs.join(context.work, out, parts, context.plan.outputs(file))


FUNCTIONS: dict[str, Callable[..., dict[str, Any] | None]] = {
    CUT: cut,
    LANGUAGES: languages,
    SAMPLE: sample,
    CHECK: check,
    RATE: rate,
    KEYS: keys,
    BEST: best,
    ORDER: order,
    COMPARE: compare,
    WRITE: write,
    JOIN: join,
}
