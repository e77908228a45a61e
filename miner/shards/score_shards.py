"""Scores of many files of pairs: one task a file, each equal to ``miner score`` of that file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from miner.progress import Reporter, silent
from miner.shards.scoring_plan import Scores, ScoringPlan
from miner.shards.task import record
from miner.shards.workers import Workers, held, tasks_of
from miner.text.output import atomic_file, resource_error


def score_shards(
    files: Sequence[str],
    directory: str | Path,
    work: str | Path,
    scores: Scores,
    *,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
) -> tuple[int, int]:
    """Score files of pairs by tasks in ``work``; write one file of its name for each.

    Returns the number of unreadable rows
    and of rows with replaced bytes. Raises the errors of :func:`miner.cleaning.score_rows.write`,
    and MismatchError or CorpusError where ``work`` holds another plan.
    """
    plan = ScoringPlan.of(files, scores)
    directory = Path(directory)
    with held(work, plan) as place:
        tasks = plan.reading_tasks()
        with tasks_of(place, plan, workers, None, report, note) as do:
            do(tasks)
        counts = [0, 0]
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for task in tasks:
                name = Path(task.arguments["file"]).name
                with atomic_file(directory / name) as temporary:
                    shutil.copyfile(place / task.name / name, temporary)
                found = record(place, task.name)["result"]
                counts[0] += found["unreadable"]
                counts[1] += found["replaced"]
        except OSError as error:
            raise resource_error(error, directory) from error
    return counts[0], counts[1]
