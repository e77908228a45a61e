"""Tasks of a scoring: cut the files, score a piece, join pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.cleaning import score_rows
from miner.shards import bitext_files, joined_outputs
from miner.shards.bitext_files import CUT, Piece
from miner.shards.joined_outputs import JOIN
from miner.shards.scoring_plan import RATE, ScoringPlan


@dataclass(frozen=True)
class ScoringContext:
    """A plan at work in the directory ``work``, by tasks of so many ``threads``."""

    work: Path
    plan: ScoringPlan
    threads: int


def cut(context: ScoringContext, out: Path, file: int, **known: Any) -> dict[str, Any]:
    """Count the rows of a bitext, and copy those of a large one to pieces."""
    return bitext_files.cut(context.plan.files, out, file)


def rate(context: ScoringContext, out: Path, piece: dict[str, int]) -> dict[str, Any]:
    """Score a piece. Memory does not grow with it."""
    plan, own = context.plan, Piece(**piece)
    filters = plan.filters
    rows = plan.files.open(context.work, own, filters.columns)
    whole = None if own.of == 1 else plan.files.whole(own.file, filters.columns, own.rows)
    ((role, name),) = plan.outputs(own.file).items()
    unread, replaced = score_rows.write(
        rows,
        filters,
        joined_outputs.place(out, own, role, name),
        only=plan.scores.only,
        threads=context.threads,
        whole=whole,
    )
    return {"rows": own.rows, "unreadable": unread, "replaced": replaced}


def join(context: ScoringContext, out: Path, file: int, parts: list[str]) -> None:
    """Join the scores of the pieces of a bitext."""
    joined_outputs.join(context.work, out, parts, context.plan.outputs(file))


FUNCTIONS: dict[str, Callable[..., dict[str, Any] | None]] = {CUT: cut, RATE: rate, JOIN: join}
