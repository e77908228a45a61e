"""A whole cleaning: raw rows in, every one of them out again, kept or rejected with a reason.

Three passes over the text, none of which holds it: cheap scores of every row; dear scores of the
rows that are left; the rows themselves, to where they belong (:mod:`miner.cleaning.write`). In
between, :mod:`miner.cleaning.decide` tells copies apart and chooses, by the scores alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from miner.cleaning.decide import EVERYTHING, PART, Choice, Cleaned, decide
from miner.cleaning.plan import Plan
from miner.cleaning.run_checkpoint import State, Table
from miner.cleaning.worker import ROWS, Job, broken, mended, repairer, score, scorers
from miner.filters.filter_types import LOCAL, MODEL
from miner.parallel import Processes
from miner.progress import Reporter, silent
from miner.text.output import StrPath, stamp
from miner.text.rows import UNREADABLE, Block, Rows


def clean(
    rows: Rows,
    plan: Plan,
    state: StrPath,
    *,
    choice: Choice = EVERYTHING,
    all_scores: bool = False,
    keep: bool = False,
    threads: int = 1,
    report: Reporter = silent,
    note: Callable[[str], None] = lambda text: None,
) -> Cleaned:
    """Score all rows and decide on each.

    Scores go to files in the directory ``state``, from which a run that was killed goes on; to
    ``keep`` them means that those of something else there are an error, and not removed. Dear
    filters look only at what cheap ones leave, unless ``all_scores``. The result is the same for
    any number of ``threads``, each a process of its own; a script that calls this needs no
    ``if __name__ == "__main__"``. Raises the errors of `Rows`, of the filters, and ResourceError.
    """
    seconds = dict.fromkeys((step.label for step in plan.steps), 0.0)
    jobs = [
        Job(plan, rows.layout, tuple(plan.stage(LOCAL)), first=True),
        Job(sampled(plan, rows), rows.layout, tuple(plan.stage(MODEL))),
    ]
    with State(state, _key(rows, plan), note, keep) as files:
        cheap = files.table("local", jobs[0].dtype, ROWS)
        if cheap.complete:
            rows.count = cheap.done
        with scorers(jobs if jobs[1].steps else jobs[:1], threads, rows.at_most(ROWS)) as workers:
            fill = partial(_fill, rows=rows, jobs=jobs, workers=workers, seconds=seconds)
            _tell(cheap, "read and checked", note)
            fill(cheap, 0, None, report=report)
            local, model = cheap.read(), None
            rows.count = len(local)
            if jobs[1].steps:
                wanted = np.ones(len(local), dtype=bool) if all_scores else _passed(plan, local)
                table, others = _dear(files, jobs[1], wanted)
                todo = wanted.copy()
                for other in others:
                    todo &= np.isnan(other["score"][:, 0])
                _tell(table, "scored", note)
                if table.complete or todo.any():
                    fill(table, 1, (wanted, todo, others), report=report)
                else:  # which needs no process
                    with table.writer() as append:
                        for start in range(table.done, len(wanted), PART):
                            append(_known(table.dtype, wanted, others, slice(start, start + PART)))
                model = table.read()
    found = Cleaned(rows, plan, local, model, seconds)
    decide(found, choice)
    return found


def _tell(table: Table, done: str, note: Callable[[str], None]) -> None:
    """Note what a run that was stopped has left."""
    if table.done and not table.complete:
        note(f"{table.path.parent}: going on, {table.done:,} rows are {done} already")


def _passed(plan: Plan, local: np.ndarray) -> np.ndarray:
    """Which rows cheap filters leave, ``(n,) bool``."""
    steps = plan.stage(LOCAL)
    out = np.empty(len(local), dtype=bool)
    for start in range(0, len(local), PART):
        part = local[start : start + PART]
        bad = broken(steps, part["score"]).any(axis=1) | (part["state"][:, 0] & UNREADABLE > 0)
        out[start : start + PART] = ~bad
    return out


def _dear(files: State, job: Job, wanted: np.ndarray) -> tuple[Table, list[np.ndarray]]:
    """The table for the scores of the rows ``wanted (n,) bool``, and others that know some of them.

    Which are wanted depends on the bounds of cheap filters, so that each choice has its table.
    """
    digest = hashlib.blake2b(np.packbits(wanted).tobytes(), digest_size=8).hexdigest()
    others = [table.read() for table in files.tables("model", job.dtype, ROWS) if table.complete]
    return files.table(f"model.{digest}", job.dtype, ROWS), others


def _key(rows: Rows, plan: Plan) -> dict[str, Any]:
    """What scores depend on: the text, by size and time, and the plan."""
    inputs = [[os.path.abspath(origin), stamp(origin)] for origin in rows.origins]
    layout = dataclasses.asdict(rows.layout)
    return {"input": inputs, "layout": json.dumps(layout), "plan": plan.fingerprint(), "rows": ROWS}


def _fill(
    table: Table,
    number: int,
    choice: tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None,
    *,
    rows: Rows,
    jobs: Sequence[Job],
    workers: Processes,
    seconds: dict[str, float],
    report: Reporter,
) -> None:
    """Score the rows that the table lacks, by the job of this ``number``.

    All of them, or by ``choice`` the rows that are wanted ``(n,) bool``, those of them that are to
    do, and tables that know the others; what is not wanted gets NaN.
    """
    if table.complete:
        return
    job = jobs[number]
    stage = "reading and checking" if job.first else "scoring"
    # Of the blocks that are worked on, what is known of each, and which rows are asked for.
    waiting: deque[tuple[np.ndarray, np.ndarray]] = deque()

    def blocks() -> Iterator[tuple[int, Block]]:
        first = table.done
        for block in rows.blocks(ROWS, skip=first):
            part = slice(first, first + len(block))
            if choice is None:
                known, mask = np.zeros(len(block), job.dtype), np.ones(len(block), dtype=bool)
            else:
                wanted, todo, others = choice
                known, mask = _known(job.dtype, wanted, others, part), todo[part]
                chosen = np.flatnonzero(mask).tolist()
                # The lines of what is left are not in a row; none of them can be at fault any more.
                block = Block(block.first, [block.raw[i] for i in chosen])
            first = part.stop
            waiting.append((known, mask))
            yield number, block

    with table.writer() as append:
        for scored in workers.in_order(score, blocks()):
            out, mask = waiting.popleft()
            out[mask] = scored.rows
            append(out)
            for step, time in zip(job.steps, scored.seconds.tolist(), strict=True):
                seconds[step.label] += time
            report(stage, table.done, rows.count)


def _known(
    dtype: np.dtype, wanted: np.ndarray, others: list[np.ndarray], part: slice
) -> np.ndarray:
    """Of the rows ``wanted (n,)`` in ``part`` the scores that other tables have; NaN of the rest.

    All scores of a row are there, or none.
    """
    out = np.full(len(wanted[part]), np.nan, dtype=dtype)
    for other in others:
        there = wanted[part] & ~np.isnan(other["score"][part, 0])
        out[there] = other[part][there]
    return out


def sampled(plan: Plan, rows: Rows) -> Plan:
    """The plan with pairs of the text, spread evenly over its rows, if it wants them."""
    wanted = [
        step.settings["pairs"]
        for step in plan.steps
        if step.filter.sampled and not step.settings["reference"]
    ]
    if not wanted:
        return plan
    source, target = [], []
    repair = repairer(plan.repair)
    for block in rows.spread(0 if 0 in wanted else max(wanted)):
        texts, _ = mended(rows.layout.texts(block), repair)
        if texts.source[0].strip() and texts.target[0].strip():
            source += texts.source
            target += texts.target
    context = dataclasses.replace(plan.context, sample=(source, target))
    return dataclasses.replace(plan, context=context)
