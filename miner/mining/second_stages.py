"""Stages of the second opinion: doubtful candidates, vectors of their sentences, margins.

Candidates in the band go through it in every round, decoys and knock-outs like any others. So what
is chosen and estimated afterwards holds for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from miner.encoder.entries import Entry
from miner.errors import ArtifactError, ResourceError
from miner.json_files import read_json
from miner.mining.rounds import Found, load_candidates
from miner.mining.search_stages import SENTENCES
from miner.mining.sides import Place
from miner.names import SIDES
from miner.precision.search_result import Asked
from miner.scoring.logistic import log_odds, sigmoid
from miner.scoring.margin import Candidates
from miner.scoring.second_opinion import (
    DOUBTFUL,
    centred,
    chance_spread,
    counted,
    evidence,
    margins,
)
from miner.tasks.record import record
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints

# Rows of a side whose sentences in doubt are read by one task, whatever the shards of the search.
SPAN = 1 << 14
# Sentences that are encoded between two reports.
TOGETHER = 64
DECOYS = "decoys"
KNOCKED = "knocked"


@dataclass(frozen=True)
class Reader:
    """Second encoder for the text of both sides, and the most candidates that it may read."""

    models: tuple[Entry, Entry]
    most: int | None = None

    @property
    def names(self) -> dict[str, Entry]:
        return {SIDES[0]: self.models[0], SIDES[1]: self.models[1], DECOYS: self.models[1]}


@dataclass(frozen=True)
class Share:
    """Rows of a side that one task reads, ``first`` of ``total`` sentences being read before."""

    span: tuple[int, int]
    first: int = field(metadata={"decides": False})
    total: int = field(metadata={"decides": False})


@dataclass(frozen=True)
class Opinions:
    """Log-odds that the second opinion adds to a search's doubtful candidates.

    ``doubts`` is the task that chose them, ``vectors`` those that read.
    """

    task: Result
    doubts: Result
    vectors: tuple[Result, ...]

    def of(self, name: str, pairs: Candidates) -> np.ndarray:
        """Return the log-odds that pairs of a round get, ``(m,) float64``; NaN: not read."""
        key = keys(pairs)
        known, added = self.task.array(f"{name}-key"), self.task.array(f"{name}-added")
        if not len(known):
            return np.full(len(key), np.nan)
        at = np.minimum(np.searchsorted(known, key), len(known) - 1)
        return np.where(known[at] == key, added[at], np.nan)

    def scores(self, name: str, pairs: Candidates) -> np.ndarray:
        """Return the probabilities of pairs of a round by both opinions, ``(m,) float64``."""
        return sigmoid(log_odds(pairs.score) + counted(self.of(name, pairs)))

    def asked(self, total: int) -> Asked:
        """Say what was read of so many sentences."""
        value = self.doubts.value
        spent = sum(task.record["core seconds"] for task in self.vectors if task.value["read"])
        read = sum(value["sentences"].values())
        return Asked(value["pairs"], read, total, spent)


def keys(pairs: Candidates) -> np.ndarray:
    """Return a number for each pair of rows, ``(m,) int64``."""
    return (pairs.source_row << 32) + pairs.target_row


def ask(
    run: Run, found: Found, scored: list[Result], knocked: list[Result], reader: Reader
) -> Opinions:
    """Register the second opinion on the candidates that ``scored`` found likely enough.

    ``knocked`` are tasks of knock-outs, which are read as well. Waits for ``scored``.
    """
    sides = found.sides
    doubts = run.task(
        "doubt",
        doubt,
        units=sides[0].size,
        parts=scored,
        knocked=knocked,
        draws=found.draws,
        targets=sides[1].size,
        decoys=None if found.decoys is None else found.decoys.decoys.task,
        most=reader.most,
    )
    run.wait()
    read_ = {name: _read(run, found, doubts, name, model) for name, model in reader.names.items()}
    made = run.task(
        "opinions",
        opinions,
        units=sum(doubts.value["sentences"].values()),
        doubts=doubts,
        vectors=read_,
        draws=found.draws,
        targets=sides[1].size,
        decoys=None if found.decoys is None else found.decoys.decoys.task,
    )
    return Opinions(made, doubts, tuple(task for own in read_.values() for task in own))


def _read(run: Run, found: Found, doubts: Result, name: str, model: Entry) -> list[Result]:
    """Register the encoding of the sentences of a side, or of the decoys, that are in doubt."""
    rows, done = doubts.array(name), doubts.value["sentences"]
    total, first = sum(done.values()), 0
    for other in done:
        if other == name:
            break
        first += done[other]
    calls = {}
    for number in np.unique(rows // SPAN).tolist():
        span = number * SPAN, (number + 1) * SPAN
        size = int(np.count_nonzero((rows >= span[0]) & (rows < span[1])))
        calls[f"{name}-{number:04}"] = Call({"share": Share(span, first, total)}, size)
        first += size
    text: Place | Result
    if name == DECOYS:
        assert found.decoys is not None or not calls
        text = doubts if found.decoys is None else found.decoys.decoys.task
        of = text.fingerprint
    else:
        side = found.sides[SIDES.index(name)]
        text, of = side.place, ":".join(side.digests)
    return run.stage("second", read, calls, doubts=doubts, side=name, text=text, of=of, model=model)


@hints(seconds=1e-6, memory=64)
def doubt(
    job: Job,
    parts: list[Result],
    knocked: list[Result],
    draws: tuple[int, ...],
    targets: int,
    decoys: Result | None,
    most: int | None,
) -> dict[str, Any]:
    """Choose the candidates that are read, at most ``most``: the likeliest of the search itself.

    Decoys and knock-outs are read where their score is as high.
    """
    likely = [
        Candidates.joined(load_candidates(task.array(f"{number}-likely")) for task in parts)
        for number in range(1 + len(draws))
    ]
    own = likely[0]
    least = DOUBTFUL
    if most is not None and most < len(own):
        least = max(least, float(np.nextafter(np.sort(own.score)[len(own) - most - 1], 1)))
    rows: dict[str, list[np.ndarray]] = {SIDES[0]: [], SIDES[1]: [], DECOYS: []}
    pools = np.split(decoys.array("draws"), np.cumsum(draws)[:-1]) if decoys is not None else []
    named = {str(number): one for number, one in enumerate(likely)}
    if knocked:
        named[KNOCKED] = Candidates.joined(load_candidates(task.array(KNOCKED)) for task in knocked)
    for name, one in named.items():
        one = one.take(one.score >= least)
        key = np.unique(keys(one))
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
        "pairs": int(np.count_nonzero(own.score >= least)),
        "least": least,
        "sentences": {name: len(each) for name, each in chosen.items()},
    }


@hints(seconds=0.04, memory=4000)
def read(
    job: Job,
    doubts: Result,
    side: str,
    share: Share,
    text: Place | Result,
    of: str,
    model: Entry,
) -> dict[str, Any]:
    """Encode the sentences in doubt of a span of rows; those that are known are not read again.

    ``of`` is a digest of the text.
    """
    rows = doubts.array(side)
    rows = rows[(rows >= share.span[0]) & (rows < share.span[1])]
    own = {"of": of, "model": model.fingerprint, "span": list(share.span)}
    encoder = model.open(job.threads)
    vectors = np.zeros((len(rows), encoder.dimension), dtype=np.float16)
    todo = np.ones(len(rows), dtype=bool)
    for known, before in _before(job, own):
        place = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        there = known[place] == rows
        vectors[there], todo[there] = before[place[there]], False
    places = np.flatnonzero(todo)
    sentences = _sentences(text, rows[places])
    # By length: a batch of sentences as long as each other is padded least.
    order = sorted(range(len(places)), key=lambda i: (len(sentences[i]), i))
    for start in range(0, len(order), TOGETHER):
        some = order[start : start + TOGETHER]
        try:
            vectors[places[some]] = encoder.encode([sentences[i] for i in some])
        except ArtifactError as error:  # the machine's lack: the results so far stay
            raise ResourceError(f"{error}; the second opinion was not asked for") from None
        done = share.first + int(len(rows) - len(places)) + start + len(some)
        job.report("second opinion", done, share.total)
    job.save(rows=np.asarray(rows), vectors=vectors)
    return {"made": own, "read": len(places)}


def _before(job: Job, own: dict[str, Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows and vectors of an earlier result of the same text and model."""
    if job.before is None:
        return
    found = record(job.before.parent, job.before.name)["result"]
    if found.get("made") == own:
        before = Result(str(job.before.parent), job.before.name, "")
        if len(rows := before.array("rows")):
            yield rows, before.array("vectors")


def _sentences(text: Place | Result, rows: np.ndarray) -> Sequence[str]:
    if isinstance(text, Place):
        return text.open().sentences(rows)
    sentences = read_json(text.path / SENTENCES)
    return [sentences[row] for row in rows.tolist()]


@hints(seconds=1e-4, memory=8000)
def opinions(
    job: Job,
    doubts: Result,
    vectors: dict[str, list[Result]],
    draws: tuple[int, ...],
    targets: int,
    decoys: Result | None,
) -> None:
    """Compute what the second opinion adds to all doubtful candidates, by round.

    Decoys of a round join the targets, as in the search.
    """
    rows = {name: doubts.array(name) for name in vectors}
    joined = {name: [task.array("vectors") for task in own] for name, own in vectors.items()}
    width = max([one.shape[1] for own in joined.values() for one in own], default=1)
    own, others, extra = (
        np.concatenate([np.empty((0, width), np.float16), *joined[name]]) for name in joined
    )
    source, target, mixed = centred(own), centred(others), centred(extra, others)
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
        found = margins(
            source,
            base,
            np.searchsorted(rows[SIDES[0]], key >> 32),
            np.searchsorted(places, wanted),
            threads=job.threads,
            memory=job.memory,
        )
        added = evidence(found, spread)
        job.save(**{f"{name}-key": np.asarray(key), f"{name}-added": added})
