"""Stages of the second opinion: doubtful candidates, vectors of their sentences, margins.

Doubtful candidates of every round are read, decoys and knock-outs like any others, so that later
choices and estimates hold for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.mining.rounds import NeighborLists, load_candidates
from miner.mining.search_stages import SENTENCES
from miner.option_values import SIDES
from miner.precision.search_result import Asked
from miner.scoring.logistic import log_odds, sigmoid
from miner.scoring.margin import Candidates
from miner.scoring.second_opinion import (
    DOUBTFUL,
    MINING,
    centred,
    chance_spread,
    counted,
    doubt_limit,
    margins,
)
from miner.scoring.second_reading import (
    Doubted,
    KeptText,
    SecondReader,
    joined,
    read_all,
    seconds_of,
)
from miner.tasks.run import Run
from miner.tasks.task import Job, Result, hints

DECOYS = "decoys"
KNOCKED = "knocked"


@dataclass(frozen=True)
class Opinions:
    """Log-odds that the second opinion adds to a search's doubtful candidates.

    ``doubts``: task that chose them; ``vectors``: tasks that read their sentences, by text.
    """

    task: Result
    doubts: Result
    vectors: dict[str, list[Result]]

    def of(self, name: str, pairs: Candidates) -> np.ndarray:
        """Return the log-odds for pairs of a round, ``(m,) float64``; NaN if not read."""
        key = keys(pairs)
        known, added = self.task.array(f"{name}-key"), self.task.array(f"{name}-added")
        if not len(known):
            return np.full(len(key), np.nan)
        at = np.minimum(np.searchsorted(known, key), len(known) - 1)
        return np.where(known[at] == key, added[at], np.nan)

    def scores(self, name: str, pairs: Candidates) -> np.ndarray:
        """Return the probabilities of a round's pairs by both opinions, ``(m,) float64``."""
        return sigmoid(log_odds(pairs.score) + counted(self.of(name, pairs), pairs.score))

    def asked(self, total: int) -> Asked:
        """Summarise what was read of ``total`` sentences."""
        value = self.doubts.value
        read = sum(value["sentences"].values())
        return Asked(value["pairs"], read, total, seconds_of(self.vectors))


def keys(pairs: Candidates) -> np.ndarray:
    """Return a unique number for each pair of rows, ``(m,) int64``."""
    return (pairs.source_row << 32) + pairs.target_row


def ask(
    run: Run,
    near: NeighborLists,
    scored: list[Result],
    knocked: list[Result],
    reader: SecondReader,
) -> Opinions:
    """Register the second opinion on the likely enough candidates of ``scored``.

    ``knocked``: tasks of knock-outs, which are read as well. Waits for ``scored``.
    """
    sides = near.sides
    doubts = run.task(
        "doubt",
        doubt,
        units=sides[0].size,
        parts=scored,
        knocked=knocked,
        draws=near.draws,
        targets=sides[1].size,
        decoys=near.decoys,
        reader=reader,
    )
    run.wait()
    vectors = read_all(run, doubts, _texts(near, doubts, reader))
    task = run.task(
        "opinions",
        opinions,
        units=sum(doubts.value["sentences"].values()),
        doubts=doubts,
        vectors=vectors,
        draws=near.draws,
        targets=sides[1].size,
        decoys=near.decoys,
    )
    return Opinions(task, doubts, vectors)


def _texts(near: NeighborLists, doubts: Result, reader: SecondReader) -> dict[str, Doubted]:
    """Return the texts of both sides and of the decoys, by the arrays of ``doubts``."""
    texts = {
        name: Doubted(side.whole.place, side.whole.place.digest, model)
        for name, side, model in zip(SIDES, near.sides, reader.models, strict=True)
    }
    # Without decoys none of them is in doubt.
    task = near.decoys or doubts
    texts[DECOYS] = Doubted(KeptText(task, SENTENCES), task.fingerprint, reader.models[1])
    return texts


@hints(seconds=1e-6, memory=64)
def doubt(
    job: Job,
    parts: list[Result],
    knocked: list[Result],
    draws: tuple[int, ...],
    targets: int,
    decoys: Result | None,
    reader: SecondReader,
) -> dict[str, Any]:
    """Choose the candidates to read, at most ``reader.most``: the most doubtful of the search.

    Decoys and knock-outs are read if they are as doubtful.
    """
    likely = [
        Candidates.joined(load_candidates(task.array(f"{number}-likely")) for task in parts)
        for number in range(1 + len(draws))
    ]
    limit = doubt_limit(likely[0].score, reader.most)
    rows: dict[str, list[np.ndarray]] = {SIDES[0]: [], SIDES[1]: [], DECOYS: []}
    pools = np.split(decoys.array("draws"), np.cumsum(draws)[:-1]) if decoys is not None else []
    named, pairs = {str(number): candidates for number, candidates in enumerate(likely)}, {}
    if knocked:
        named[KNOCKED] = Candidates.joined(load_candidates(task.array(KNOCKED)) for task in knocked)
    for name, candidates in named.items():
        candidates = candidates.take(
            (candidates.score >= DOUBTFUL) & (np.abs(log_odds(candidates.score)) < limit)
        )
        pairs[name], key = len(candidates), np.unique(keys(candidates))
        source, target = key >> 32, key & 0xFFFFFFFF
        job.save(**{f"{name}-key": key})
        rows[SIDES[0]].append(source)
        rows[SIDES[1]].append(target[target < targets])
        if (target >= targets).any():
            rows[DECOYS].append(pools[int(name) - 1][target[target >= targets] - targets])
    chosen = {
        name: np.unique(np.concatenate([np.empty(0, np.int64), *each]))
        for name, each in rows.items()
    }
    job.save(**chosen)
    return {
        "pairs": pairs["0"],
        "sentences": {name: len(each) for name, each in chosen.items()},
    }


@hints(seconds=1e-4, memory=8000)
def opinions(
    job: Job,
    doubts: Result,
    vectors: dict[str, list[Result]],
    draws: tuple[int, ...],
    targets: int,
    decoys: Result | None,
) -> None:
    """Compute the log-odds that the second opinion adds to all doubtful candidates, by round.

    The decoys of a round are added to the targets, as in the search.
    """
    rows = {name: doubts.array(name) for name in vectors}
    sources, others, extra = joined(vectors).values()
    source, target, mixed = centred(sources), centred(others), centred(extra, others)
    pools = np.split(decoys.array("draws"), np.cumsum(draws)[:-1]) if decoys is not None else []
    spread = chance_spread(source, target)
    for name in [str(number) for number in range(1 + len(draws))] + [KNOCKED] * bool(draws):
        key = doubts.array(f"{name}-key")
        wanted, base, places = key & 0xFFFFFFFF, target, rows[SIDES[1]]
        if name not in ("0", KNOCKED):
            pool = pools[int(name) - 1]
            drawn = np.flatnonzero(np.isin(pool, rows[DECOYS]))
            base = np.concatenate([target, mixed[np.searchsorted(rows[DECOYS], pool[drawn])]])
            places = np.concatenate([places, targets + drawn])
        margin = margins(
            source,
            base,
            np.searchsorted(rows[SIDES[0]], key >> 32),
            np.searchsorted(places, wanted),
            threads=job.threads,
            memory=job.memory,
        )
        added = MINING.added(margin / spread)
        job.save(**{f"{name}-key": np.asarray(key), f"{name}-added": added})
