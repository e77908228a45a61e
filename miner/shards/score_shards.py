"""Scores of many files of pairs, each equal to ``miner score`` of that file alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from miner.progress import Reporter, silent
from miner.shards.bitext_files import BitextFiles
from miner.shards.joined_outputs import deliver
from miner.shards.scoring_plan import RATE, Scores, ScoringPlan
from miner.shards.task import record
from miner.shards.workers import Workers, held, tasks_of


def score_shards(
    files: BitextFiles,
    directory: str | Path,
    work: str | Path,
    scores: Scores,
    *,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
) -> dict[str, int]:
    """Score bitexts by tasks in ``work``; write one file for each into ``directory``.

    Returns the numbers of ``rows``, of ``unreadable`` ones and of those with ``replaced`` bytes.
    Raises the errors of :func:`miner.cleaning.score_rows.write`, and MismatchError or CorpusError
    where ``work`` holds another plan.
    """
    plan = ScoringPlan.of(files, scores)
    with held(work, plan) as place:
        with tasks_of(place, plan, workers, None, report, note) as do:
            do(plan.reading_tasks())
            rows = plan.rows(place)
            do(plan.tasks(rows))
        pieces = plan.files.pieces(rows)
        names = [plan.outputs(file) for file in range(len(rows))]
        deliver(place, pieces, RATE, names, {"scored": Path(directory)})
        results = [record(place, f"{RATE}/{piece.name}")["result"] for piece in pieces]
    return {
        name: sum(result[name] for result in results) for name in ("rows", "unreadable", "replaced")
    }
