"""A whole filter run: raw rows in, every one of them out again, kept or rejected with a reason.

Three passes over the text, none of which holds it: cheap scores of every row; expensive scores of
the rows that are left; the rows themselves, to their outputs (:mod:`miner.cleaning.write`). In
between, :mod:`miner.cleaning.decide` compares and chooses pairs by their scores alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from miner.cleaning.choice import EVERYTHING, Choice
from miner.cleaning.decide import PART, Cleaned, decide
from miner.cleaning.plan import Plan
from miner.cleaning.run_checkpoint import Checkpoint, Table
from miner.cleaning.text_languages import with_languages
from miner.cleaning.worker import ROWS, Job, broken, repair_texts, repairer, score, scorers
from miner.filters.filter_types import LOCAL, MODEL
from miner.parallel import Processes
from miner.progress import Reporter, silent
from miner.text.layout import UNREADABLE, Block, Layout
from miner.text.rows import Rows


def clean(
    rows: Rows,
    plan: Plan,
    files: Checkpoint,
    *,
    choice: Choice = EVERYTHING,
    all_scores: bool = False,
    keep: bool = False,
    threads: int = 1,
    report: Reporter = silent,
    note: Callable[[str], None] = lambda text: None,
) -> Cleaned:
    """Score all rows and decide on each.

    Scores go to the checkpoint ``files``, from which a run that was killed goes on. The result
    reads them there, so the caller holds the checkpoint for as long as it uses the result. With
    ``keep``, scores of something else that are there are an error; otherwise they are removed, and
    ``note`` is told. Expensive filters score only the rows that cheap ones leave, unless
    ``all_scores``. The result is the same for any number of ``threads``, each a process of its own;
    a script that calls this needs no ``if __name__ == "__main__"``. Raises the errors of `Rows`, of
    the filters and of `Checkpoint`, and ResourceError.
    """
    seconds = dict.fromkeys((step.label for step in plan.steps), 0.0)
    plan = with_languages(plan, [rows])
    jobs = [
        Job(plan, rows.layout, tuple(plan.stage(LOCAL)), first=True),
        Job(sampled(plan, rows), rows.layout, tuple(plan.stage(MODEL))),
    ]
    files.begin(_key(rows, plan), note, keep)
    cheap = files.table("local", jobs[0].dtype)
    if cheap.complete:
        rows.count = cheap.done
    with scorers(jobs if jobs[1].steps else jobs[:1], threads, rows.at_most(ROWS)) as workers:
        filled = partial(fill, rows=rows, jobs=jobs, workers=workers, seconds=seconds)
        _tell(cheap, "read and checked", note)
        filled(cheap, 0, None, report=report)
        local, model = cheap.read(), None
        rows.count = len(local)
        if jobs[1].steps:
            wanted = np.ones(len(local), dtype=bool) if all_scores else passed(plan, local)
            table, others = _expensive(files, jobs[1], wanted)
            todo = wanted.copy()
            for other in others:
                todo &= np.isnan(other["score"][:, 0])
            _tell(table, "scored", note)
            if table.complete or todo.any():
                filled(table, 1, (wanted, todo, others), report=report)
            else:  # which needs no process
                with table.writer() as append:
                    for start in range(table.done, len(wanted), PART):
                        append(_known(table.dtype, wanted, others, slice(start, start + PART)))
            model = table.read()
    found = Cleaned(rows, plan, local, model, seconds)
    decide(found, choice)
    return found


def _tell(table: Table, done: str, note: Callable[[str], None]) -> None:
    """Note the rows that a stopped run has left."""
    if table.done and not table.complete:
        note(f"{table.path.parent}: going on, {table.done:,} rows are {done} already")


def passed(plan: Plan, local: np.ndarray) -> np.ndarray:
    """Rows that the cheap filters leave, ``(n,) bool``."""
    steps = plan.stage(LOCAL)
    out = np.empty(len(local), dtype=bool)
    for start in range(0, len(local), PART):
        part = local[start : start + PART]
        bad = broken(steps, part["score"]).any(axis=1) | (part["state"][:, 0] & UNREADABLE > 0)
        out[start : start + PART] = ~bad
    return out


def _expensive(files: Checkpoint, job: Job, wanted: np.ndarray) -> tuple[Table, list[np.ndarray]]:
    """The table for the scores of the rows ``wanted (n,) bool``, and others that hold some of them.

    The wanted rows depend on the bounds of the cheap filters, so each choice has its own table.
    """
    digest = hashlib.blake2b(np.packbits(wanted).tobytes(), digest_size=8).hexdigest()
    others = [table.read() for table in files.tables("model", job.dtype) if table.complete]
    return files.table(f"model.{digest}", job.dtype), others


def _key(rows: Rows, plan: Plan) -> dict[str, Any]:
    """The facts that scores depend on: the content of the text, its columns, the plan."""
    layout = dataclasses.asdict(rows.layout)
    del layout["names"]  # standard input is copied to another place in each run
    return {
        "input": list(rows.inputs.digests),
        "layout": json.dumps(layout),
        "plan": plan.fingerprint(),
        "libraries": plan.libraries(),
    }


def fill(
    table: Table,
    number: int,
    choice: tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None,
    *,
    rows: Rows,
    jobs: Sequence[Job],
    workers: Processes,
    seconds: dict[str, float],
    report: Reporter = silent,
) -> None:
    """Score the rows that the table lacks, by the job of this ``number``.

    choice: None for all rows; else the rows wanted ``(n,) bool``, those of them to score
    ``(n,) bool``, and tables with the scores of the others. Rows that are not wanted get NaN.
    """
    if table.complete:
        return
    job = jobs[number]
    stage = "reading and checking" if job.first else "scoring"
    # For each block that is worked on: the known scores, and a mask of the rows to score.
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
                # The remaining lines are not consecutive; all of them were read without an error.
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
    """Scores that other tables have of the rows ``wanted (n,)`` in ``part``; NaN for the rest.

    A table has all scores of a row, or none.
    """
    out = np.full(len(wanted[part]), np.nan, dtype=dtype)
    for other in others:
        there = wanted[part] & ~np.isnan(other["score"][part, 0])
        out[there] = other[part][there]
    return out


def sampled(plan: Plan, rows: Rows) -> Plan:
    """The plan with a sample of the text's pairs, evenly spread, if a filter compares with it."""
    size = sample_size(plan)
    if size is None:
        return plan
    return with_sample(plan, sample_texts(plan, rows.layout, rows.spread(size)))


def sample_size(plan: Plan) -> int | None:
    """Number of pairs in the sample that filters compare with: 0 for all, None without one."""
    wanted = [
        step.settings["pairs"]
        for step in plan.steps
        if step.filter.sampled and not step.settings["reference"]
    ]
    return None if not wanted else 0 if 0 in wanted else max(wanted)


def sample_texts(
    plan: Plan, layout: Layout, blocks: Iterable[Block]
) -> tuple[list[str], list[str]]:
    """Sources and targets of the pairs of a sample, without those that lack one."""
    source, target = [], []
    repair = repairer(plan.repair)
    for block in blocks:
        texts, _ = repair_texts(layout.texts(block), repair)
        if texts.source[0].strip() and texts.target[0].strip():
            source += texts.source
            target += texts.target
    return source, target


def with_sample(plan: Plan, texts: tuple[list[str], list[str]]) -> Plan:
    """The plan with these sources and targets as the sample of its text."""
    return dataclasses.replace(plan, context=dataclasses.replace(plan.context, sample=texts))
