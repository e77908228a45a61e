"""Stages that read the rows of a piece: sample, check, rate, write."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from miner.arrays import temporary_array
from miner.cleaning.bitexts import Piece
from miner.cleaning.comparing import PieceScores, places_of
from miner.cleaning.config import Step
from miner.cleaning.decide import PART, decide_places
from miner.cleaning.funnel import summary
from miner.cleaning.scorers import (
    ROWS,
    SAMPLE,
    Scoring,
    broken,
    build,
    repaired,
    score_blocks,
)
from miner.cleaning.settings import EVERYTHING, Selection
from miner.cleaning.write import write_rows, write_scores
from miner.tasks.record import record
from miner.tasks.task import Job, Result, fingerprint, hints, load
from miner.text.layout import REPLACED, UNREADABLE, Block
from miner.text.rows import Rows, spread_rows

SCORES = "scores.npy"
# Rows that a process scores in the 1.3 s that another takes to start.
ALONE = 8192


@hints()
def prepare(job: Job, scoring: Scoring, largest: int) -> None:
    """Build the filters of a pass, so that a missing library or model is reported early.

    ``largest`` is the number of rows of the largest piece.
    """
    build(scoring, _threads(job, largest))


@hints(seconds=5e-6)
def sample(
    job: Job,
    piece: Piece,
    size: int,
    total: int,
    first: int,
    columns: tuple[int | str, ...],
    repair: bool,
) -> None:
    """Collect the pairs of a piece that are in the sample of a text, except those without a side.

    The sample has ``size`` of ``total`` rows, evenly spread, 0 for all. ``first`` is the first row
    of the piece in the text.
    """
    chosen = spread_rows(total, size) - first
    chosen = chosen[(chosen >= 0) & (chosen < piece.rows)]
    source, target = [], []
    with piece.opened(columns) as rows:
        for block in rows.chosen(chosen) if len(chosen) else ():
            texts = repaired(rows.layout.texts(block), repair)
            if texts.source[0].strip() and texts.target[0].strip():
                source += texts.source
                target += texts.target
    (job.out / SAMPLE).write_text(json.dumps((source, target)), encoding="utf-8")


@hints(seconds=4e-4)
def check(job: Job, piece: Piece, scoring: Scoring) -> dict[str, Any]:
    """Score the rows of a piece with the cheap filters, and compute their sketches."""
    return _score(job, piece, scoring, None, "checking")


@hints(seconds=1e-3)
def rate(
    job: Job,
    piece: Piece,
    scoring: Scoring,
    checked: Result | None = None,
    bounds: Sequence[Step] | None = None,
) -> dict[str, Any]:
    """Score the rows of a piece with expensive filters, all or only those within ``bounds``.

    The bounds belong to the cheap filters, which have ``checked`` the piece. Scores that an earlier
    run computed with other bounds are reused.
    """
    wanted = None
    if bounds is not None:
        assert checked is not None
        wanted = passed(bounds, checked.array("scores"))
    return _score(job, piece, scoring, wanted, "scoring")


@hints(seconds=5e-5)
def write(
    job: Job,
    scores: PieceScores,
    packings: Mapping[str, str],
    selection: Selection = EVERYTHING,
    sent: Result | None = None,
    ranking: Result | None = None,
    index: int = 0,
) -> dict[str, Any]:
    """Write the kept and rejected rows of a piece and all scores, and count them.

    ``packings`` are the compression suffixes of the outputs. With a selection, ``sent`` has the
    remaining pairs, and ``ranking`` at ``index`` their ranks among all pairs.
    """
    cleaned = scores.decided()
    if sent is not None and ranking is not None:
        places = places_of(sent, ranking, index)
        decide_places(cleaned, selection, sent.array("rows"), places, ranking.value["kept"])
    if packings:
        with scores.piece.opened(scores.config.columns) as rows:
            outputs = {role: job.out / f"{role}{end}" for role, end in packings.items()}
            write_rows(cleaned, rows, outputs, job.report)
    return asdict(summary(cleaned))


@hints(seconds=5e-5)
def write_scored(
    job: Job, piece: Piece, scoring: Scoring, rated: Result, packings: Mapping[str, str]
) -> dict[str, Any]:
    """Write each row of a piece with its scores at the end, or only the scores."""
    table = rated.array("scores")
    [(role, end)] = packings.items()
    with piece.opened(scoring.columns) as rows:
        path = job.out / f"{role}{end}"
        write_scores(table, scoring.steps, rows, path, role == "only", job.report)
    state = table["state"]
    return {
        "rows": piece.rows,
        "unreadable": int(np.count_nonzero(state & UNREADABLE)),
        "replaced": int(np.count_nonzero(state & REPLACED)),
    }


def passed(steps: Sequence[Step], local: np.ndarray) -> np.ndarray:
    """Return the rows that pass cheap filters, ``(n,) bool``."""
    out = np.empty(len(local), dtype=bool)
    for start in range(0, len(local), PART):
        part = local[start : start + PART]
        bad = broken(steps, part["score"]).any(axis=1) | (part["state"][:, 0] & UNREADABLE > 0)
        out[start : start + PART] = ~bad
    return out


def _score(
    job: Job, piece: Piece, scoring: Scoring, wanted: np.ndarray | None, name: str
) -> dict[str, Any]:
    """Score the rows ``wanted (n,) bool`` of a piece, None for all; scores of others are NaN."""
    identity = fingerprint(_score, {"piece": piece, "scoring": scoring})
    table = temporary_array(piece.rows, scoring.dtype, job.out)
    table["score"] = np.nan
    todo = np.ones(piece.rows, dtype=bool) if wanted is None else wanted
    if (
        job.before is not None
        and record(job.before.parent, job.before.name)["result"]["of"] == identity
    ):
        known = load(job.before / SCORES)
        there = todo & ~np.isnan(known["score"]).all(axis=1)
        table[there] = known[there]
        todo = todo & ~there
    places, done = np.flatnonzero(todo), 0
    seconds = np.zeros(len(scoring.steps))
    if len(places):
        threads = _threads(job, len(places))
        with piece.opened(scoring.columns) as rows:
            for block, time in score_blocks(scoring, rows.layout, _blocks(rows, todo), threads):
                table[places[done : done + len(block)]] = block
                done, seconds = done + len(block), seconds + time
                job.report(name, done, len(places))
    names = [file.name for file in piece.bitext.files]
    for column, step in enumerate(scoring.steps):
        if not any(map(step.scores_file, names)):
            table["score"][:, column] = np.nan
    np.save(job.out / SCORES, table)
    labels = [step.label for step in scoring.steps]
    return {"of": identity, "seconds": dict(zip(labels, seconds.tolist(), strict=True))}


def _threads(job: Job, rows: int) -> int:
    """Return the number of processes for so many rows: 1 if more would take longer."""
    return job.threads if rows * (1 - 1 / job.threads) > ALONE else 1


def _blocks(rows: Rows, todo: np.ndarray) -> Iterator[Block]:
    """Yield the rows to score ``(n,) bool``, in the blocks of the text."""
    first = 0
    for block in rows.blocks(ROWS):
        chosen = np.flatnonzero(todo[first : first + len(block)])
        first += len(block)
        if len(chosen) < len(block):
            # The remaining rows are not consecutive; all of them were read before without an error.
            block = Block(block.first, [block.raw[i] for i in chosen.tolist()])
        yield block
