"""Blocks of raw rows to scores, in as many processes as there are cores.

What the processes return is fixed in size for each row, so that the scores of a corpus of any size
are a file that can be appended to, gone on with after a kill, and looked at without being read.
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
from miner.text.rows import Block, Layout, Texts

# A row whose text was mended.
REPAIRED = 4
# Rows that a process takes at a time.
ROWS = 2048


@dataclass(frozen=True)
class Job:
    """What a process needs to know to score blocks by some ``steps``; can be sent to it.

    ``first`` for the first look at a text, which tells what is known of a row beside its scores.
    """

    plan: Plan
    layout: Layout
    steps: tuple[Step, ...]
    first: bool = False

    @property
    def sketches(self) -> dict[tuple[str, str, int], Comparison]:
        """The whole-corpus filters whose sketches the first pass computes, by `Comparison.field`."""
        steps = self.plan.stage(GLOBAL) if self.first else []
        found = (step.filter.build(step.settings, self.plan.context) for step in steps)
        return {one.field: one for one in found if one.field is not None}

    @property
    def dtype(self) -> np.dtype:
        """Record of one row.

        ``score``: one for each step, in order. The first pass adds ``state`` of the row (see
        `miner.text.rows`, and REPAIRED), ``tokens`` of both sides, and the `sketches`.
        """
        fields: list[tuple[str, str, int]] = [("score", "<f4", len(self.steps))]
        if self.first:
            fields = [("state", "u1", 1), ("tokens", "<u4", 2), *fields, *self.sketches]
        return np.dtype([(name, kind, (size,)) for name, kind, size in fields])


@dataclass(frozen=True, eq=False)
class Scored:
    """Of a block: ``rows (n,)`` of `Job.dtype`, and the seconds that each step took.

    ``state (n,) uint8`` of each row: see `miner.text.rows`.
    """

    rows: np.ndarray
    seconds: np.ndarray
    state: np.ndarray


class Scoring:
    """The steps of one job, ready."""

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
        texts, repaired = mended(self.job.layout.texts(block), self.repair)
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
    """What repairs a text, if that is asked for."""
    return encoding.repairer() if wanted else None


def mended(texts: Texts, repair: Callable[[str], str] | None) -> tuple[Texts, np.ndarray]:
    """The texts, repaired if that is asked for, and which rows ``(n,) bool`` that has changed."""
    changed = np.zeros(len(texts.source), dtype=bool)
    if repair is None:
        return texts, changed
    sides = [list(map(repair, side)) for side in (texts.source, texts.target)]
    for new, old in zip(sides, (texts.source, texts.target), strict=True):
        changed |= np.fromiter((a != b for a, b in zip(new, old, strict=True)), bool, len(new))
    return dataclasses.replace(texts, source=sides[0], target=sides[1]), changed


# Of this process: what it may be asked to do, and what it is ready to do.
_jobs: Sequence[Job] = ()
_ready: dict[int, Scoring] = {}


@contextmanager
def scorers(jobs: Sequence[Job], threads: int, few: bool) -> Iterator[Processes]:
    """Processes to run `score` on blocks, by several jobs; where rows are ``few``, this one alone.

    A process takes seconds to start, so that one set of them does all jobs. This one is left as it
    was found.
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

    So what is missing is told before hours of work, not after; unless each is made ready ``later``.
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
    """The scores of a block by the job of this number."""
    number, block = work
    if number not in _ready:
        _ready[number] = Scoring(_jobs[number])
    return _ready[number](block)


def broken(steps: Sequence[Step], scores: np.ndarray) -> np.ndarray:
    """Which bounds are broken: ``(n, len(steps)) bool`` of scores of that shape.

    A score that was not computed, NaN, breaks none. Bounds are compared in the scores' precision.
    """
    out = np.zeros(scores.shape, dtype=bool)
    for column, step in enumerate(steps):
        if step.minimum is not None:
            out[:, column] |= scores[:, column] < np.float32(step.minimum)
        if step.maximum is not None:
            out[:, column] |= scores[:, column] > np.float32(step.maximum)
    return out
