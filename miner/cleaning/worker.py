"""Scores of blocks of raw rows, by one process for each core.

A row's record has a fixed size, so that the scores of a corpus of any size are a file that grows,
that a later run goes on with, and that can be mapped into memory.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from miner.cleaning.plan import Plan, Step
from miner.filters import encoding
from miner.filters.filter_types import GLOBAL, Batch, Comparison, Scorer
from miner.parallel import Processes, processes
from miner.text.layout import Block, Layout, Texts

# State of a row whose text was repaired, beside those of `miner.text.layout`.
REPAIRED = 4
# Rows of a block, which one process scores at a time.
ROWS = 2048


@dataclass(frozen=True)
class Job:
    """Instructions to score blocks by some ``steps``; can be sent to another process.

    first: the first pass over a text, whose records hold more than scores, see `dtype`.
    """

    plan: Plan
    layout: Layout
    steps: tuple[Step, ...]
    first: bool = False

    @property
    def sketches(self) -> dict[tuple[str, str, int], Comparison]:
        """The filters whose sketches the first pass computes, by `Comparison.field`."""
        steps = self.plan.stage(GLOBAL) if self.first else []
        found = (step.filter.build(step.settings, self.plan.context) for step in steps)
        return {one.field: one for one in found if one.field is not None}

    @property
    def dtype(self) -> np.dtype:
        """Record of one row.

        ``score``: one for each step, in order. The first pass adds ``state`` of the row (see
        `miner.text.layout`, and REPAIRED), ``tokens`` of both sides, and the `sketches`.
        """
        fields: list[tuple[str, str, int]] = [("score", "<f4", len(self.steps))]
        if self.first:
            fields = [("state", "u1", 1), ("tokens", "<u4", 2), *fields, *self.sketches]
        return np.dtype([(name, kind, (size,)) for name, kind, size in fields])


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of a block: ``rows (n,)`` of `Job.dtype`, and the seconds that each step took.

    state: ``(n,) uint8``, the state of each row, see `miner.text.layout`.
    """

    rows: np.ndarray
    seconds: np.ndarray
    state: np.ndarray


class Scoring:
    """The scorers of one job, ready to score blocks."""

    def __init__(self, job: Job):
        self.job = job
        self.dtype = job.dtype
        self.scorers: list[Scorer] = [
            step.filter.build(step.settings, job.plan.context) for step in job.steps
        ]
        self.sketches = job.sketches
        self.repair = repairer(job.plan.repair)

    def __call__(self, block: Block) -> Scored:
        out = np.zeros(len(block), dtype=self.dtype)
        texts, repaired = repair_texts(self.job.layout.texts(block), self.repair)
        columns = [str(column) for column in self.job.plan.columns]
        more = list(zip(*texts.more, strict=True)) or [()] * len(columns)
        batch = Batch(texts.source, texts.target, dict(zip(columns, more, strict=True)))
        seconds = np.zeros(len(self.scorers))
        for column, scorer in enumerate(self.scorers):
            begun = time.process_time()
            out["score"][:, column] = scorer(batch)
            seconds[column] = time.process_time() - begun
        if self.job.first:
            out["state"][:, 0] = texts.state | np.where(repaired, REPAIRED, 0)
            out["tokens"] = batch.lengths.T
            for (name, _, _), comparison in self.sketches.items():
                out[name] = comparison.sketch(batch)
        return Scored(out, seconds, texts.state)


def repairer(wanted: bool) -> Callable[[str], str] | None:
    """The function that repairs a text, None if it is not ``wanted``."""
    return encoding.repairer() if wanted else None


def repair_texts(texts: Texts, repair: Callable[[str], str] | None) -> tuple[Texts, np.ndarray]:
    """Repair texts, unless ``repair`` is None; also return a mask of changed rows ``(n,) bool``."""
    changed = np.zeros(len(texts.source), dtype=bool)
    if repair is None:
        return texts, changed
    sides = [list(map(repair, side)) for side in (texts.source, texts.target)]
    for new, old in zip(sides, (texts.source, texts.target), strict=True):
        changed |= np.fromiter((a != b for a, b in zip(new, old, strict=True)), bool, len(new))
    return dataclasses.replace(texts, source=sides[0], target=sides[1]), changed


# The jobs of this process, and the scorers it has built for them.
_jobs: Sequence[Job] = ()
_ready: dict[int, Scoring] = {}


@contextmanager
def scorers(jobs: Sequence[Job], threads: int, few: bool) -> Iterator[Processes]:
    """Start processes that run `score` on blocks, for several jobs; if ``few`` rows, only this one.

    One set of processes does all jobs, since each takes seconds to start. The numbers of threads of
    this process are restored at the end.
    """
    import numba

    before = numba.get_num_threads()
    try:
        with threadpool_limits(1), processes(1 if few else threads, prepare, jobs, few) as workers:
            yield workers
    finally:
        numba.set_num_threads(before)
        _ready.clear()


def prepare(jobs: Sequence[Job], later: bool = False) -> None:
    """Make this process ready for `score`: one thread, and the filters of all ``jobs``.

    The filters are built now, so that a missing library or model is reported before hours of work;
    with ``later`` each job's filters are built when they are first needed.
    """
    import numba

    global _jobs
    numba.set_num_threads(1)
    threadpool_limits(1)
    _jobs = jobs
    _ready.clear()
    if not later:
        _ready.update({number: Scoring(job) for number, job in enumerate(jobs)})


def score(work: tuple[int, Block]) -> Scored:
    """Score a block by the job of this number."""
    number, block = work
    if number not in _ready:
        _ready[number] = Scoring(_jobs[number])
    return _ready[number](block)


def broken(steps: Sequence[Step], scores: np.ndarray) -> np.ndarray:
    """Mask of broken bounds ``(n, len(steps)) bool`` for scores of that shape.

    NaN, a score that was not computed, breaks none. Bounds are compared in float32, as scores are.
    """
    out = np.zeros(scores.shape, dtype=bool)
    for column, step in enumerate(steps):
        if step.minimum is not None:
            out[:, column] |= scores[:, column] < np.float32(step.minimum)
        if step.maximum is not None:
            out[:, column] |= scores[:, column] > np.float32(step.maximum)
    return out
