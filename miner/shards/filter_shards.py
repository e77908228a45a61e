"""Filtering of many files of pairs, as ``miner filter`` of all of them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from miner.cleaning.decide import Stage
from miner.cleaning.funnel import Summary, merged
from miner.progress import Reporter, silent
from miner.shards.bitext_files import BitextFiles
from miner.shards.filtering_plan import WRITE, FilteringPlan, Filters
from miner.shards.joined_outputs import deliver
from miner.shards.task import record
from miner.shards.workers import Workers, held, tasks_of


def filter_shards(
    files: BitextFiles,
    directories: Mapping[str, str],
    work: str | Path,
    filters: Filters,
    *,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
) -> Summary:
    """Filter bitexts by tasks in ``work``; write files of their names for each.

    ``directories`` are those of the rows ``kept``, ``rejected``, and of the ``scores``; the first
    must be there. Duplicates are found across all files; a line that a filter names is that of all
    files one after the other. Stopped or killed, the same call goes on.

    Raises the errors of :func:`miner.cleaning.clean.clean`, ArtifactError for a filter that must
    hold all pairs at once, and MismatchError or CorpusError where ``work`` holds another plan.
    """
    roles = [role for role in directories if role != "kept"]
    plan = FilteringPlan.of(files, filters, roles)
    with held(work, plan) as place:
        with tasks_of(place, plan, workers, None, report, note) as do:
            do(plan.reading_tasks())
            rows = plan.rows(place)
            do(plan.tasks(rows))
        pieces = plan.files.pieces(rows)
        names = [plan.outputs(file) for file in range(len(rows))]
        deliver(
            place, pieces, WRITE, names, {role: Path(path) for role, path in directories.items()}
        )
        parts = []
        for piece in pieces:
            found = record(place, f"{WRITE}/{piece.name}")["result"]
            stages = tuple(Stage(**stage) for stage in found["stages"])
            parts.append(Summary(**(found | {"stages": stages})))
        return merged(parts, plan.labels)
