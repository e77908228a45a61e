"""Candidates of a part of the sources, in rounds: the search itself, then each draw of decoys.

Round 0 has the targets of the search. In each further round a draw of decoys is added, with rows
after the targets'. Source rows count from the first row of the part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from miner.knn.neighbors import Neighbors
from miner.mining.search_stages import LISTED, decoy_text
from miner.mining.sides import Part, Scorer, Side
from miner.precision.decoys import merged_lists
from miner.scoring.context_features import BestLogits, two_nearest
from miner.scoring.margin import (
    PLACE,
    CandidateBlocks,
    Candidates,
    Listed,
    list_places,
)
from miner.scoring.verification import (
    Context,
    LogitsOf,
    PairLogits,
    context_function,
    logits_function,
)
from miner.scoring.verifier import Verifier
from miner.tasks.exchange import received
from miner.tasks.task import Job, Result


@dataclass(frozen=True)
class NeighborLists:
    """Neighbour lists of a search, for the stages that score its candidates.

    ``forward`` and ``backward``: lists of each part of the sources and of the targets; only the
    first ``k`` slots count; ``lists``: of all targets. ``copies``: numbers of sentences that are no
    candidates for each other; None if there are none. ``decoys``: task that chose decoys, in
    several draws; None without an estimate of precision; ``decoy_forward``: lists of each part of
    the sources among them; ``decoy_lists``: lists of the decoys.
    """

    sides: tuple[Side, Side]
    k: int
    forward: tuple[Result, ...]
    backward: tuple[Result, ...]
    lists: Result
    copies: Result | None = None
    decoys: Result | None = None
    draws: tuple[int, ...] = ()
    decoy_forward: tuple[Result, ...] = ()
    decoy_lists: Result | None = None

    def of_targets(self, number: int) -> tuple[Result, str]:
        """Return the lists of a round's targets, or of its decoys, and their prefix."""
        if self.decoy_lists is None or not number:
            return self.lists, ""
        return self.decoy_lists, f"{number - 1}-"


@dataclass(frozen=True)
class Rounds:
    """Rounds of a search, for the tasks that score them.

    ``margin``: name of the margin function; ``scorer``: model of the probabilities, None for
    margins; ``best``: best logits of all targets, once they are known.
    """

    near: NeighborLists
    margin: str
    scorer: Scorer | None = None
    best: Result | None = None

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers of the rounds."""
        return iter(range(1 + len(self.near.draws)))

    def verifier(self, threads: int) -> Verifier:
        """Open the model of the probabilities."""
        assert self.scorer is not None
        return self.scorer.open(threads)

    def candidates(self, part: Part, number: int) -> CandidateBlocks:
        """Return the candidates of a part's sources in a round."""
        return candidate_blocks(self.near, part, number, self.margin)

    def logits(self, task: Result, number: int) -> tuple[PairLogits, tuple[BestLogits, BestLogits]]:
        """Map the logits of a part's candidates, by their task, and the best of both sides."""
        assert self.best is not None
        arrays = (task.array(f"{number}-{name}") for name in ("offsets", "target", "logit"))
        left, right = (
            BestLogits.of(result.array(f"{number}-best")) for result in (task, self.best)
        )
        return PairLogits(*arrays), (left, right)

    def context(self, number: int, blocks: CandidateBlocks, task: Result) -> Context:
        """Return the function of the context features of candidates, by their logits' task."""
        return context_of(self.near, number, blocks, *self.logits(task, number))


def candidate_blocks(near: NeighborLists, part: Part, number: int, margin: str) -> CandidateBlocks:
    """Return the candidates of a part's sources in a round, from the lists of both directions."""
    forward = neighbors(near.forward[part.number], k=near.k)
    places = [
        lists[lists["place"] < near.k] for lists in received(near.backward, LISTED, part.number)
    ]
    task, prefix = near.of_targets(number)
    if number:
        more, targets = neighbors(near.decoy_forward[part.number], prefix), near.sides[1].size
        copy = Neighbors(np.array(more.similarity), np.array(more.row))
        forward = merged_lists(forward, copy, targets)
        places.append(list_places(neighbors(task, prefix), part.span, targets))
    listed = np.concatenate([np.empty(0, PLACE), *places])
    backward = Listed.of_places(listed, part.span, task.array(f"{prefix}mean"))
    copies = None
    if near.copies is not None:
        source_copies = np.asarray(near.copies.array("source")[slice(*part.span)])
        copies = source_copies, near.copies.array("target")
    return CandidateBlocks(forward, backward, margin, copies)


def logits_of(
    near: NeighborLists, part: Part, number: int, verifier: Verifier, known: PairLogits | None
) -> LogitsOf:
    """Return the function that computes the pair features' logits of a round's candidates.

    In a round of decoys the logits of the targets are ``known``.
    """
    if known is None or near.decoys is None:
        return logits_function(verifier, part.tokens(), near.sides[1].whole.tokens())
    with_decoys = logits_function(verifier, part.tokens(), decoy_text(near.decoys, number - 1))
    before, targets = known, near.sides[1].size

    def found(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        logit, new = np.empty(len(source_row)), target_row >= targets
        logit[~new] = before.of(source_row[~new], target_row[~new])
        logit[new] = with_decoys(source_row[new], target_row[new] - targets)
        return logit

    return found


def context_of(
    near: NeighborLists,
    number: int,
    blocks: CandidateBlocks,
    logits: PairLogits,
    best: tuple[BestLogits, BestLogits],
) -> Context:
    """Return the function of the context features of a part's candidates in a round."""
    task, prefix = near.of_targets(number)
    k = max(blocks.forward.row.shape[1], task.array(f"{prefix}row").shape[1])
    nearest = two_nearest(blocks.forward), task.array(f"{prefix}nearest")
    return context_function(nearest, k, logits, best)


def in_span(rows: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    """Return a mask of the rows of a part, ``(m,) bool``."""
    return (rows >= span[0]) & (rows < span[1])


def save_candidates(job: Job, name: str, candidates: Candidates, first: int = 0) -> None:
    """Write the columns of candidates as one array of records; sources count from ``first``."""
    kinds = [(field.name, getattr(candidates, field.name).dtype) for field in fields(candidates)]
    rows = np.empty(len(candidates), dtype=kinds)
    for field in fields(candidates):
        rows[field.name] = getattr(candidates, field.name)
    rows["source_row"] += first
    job.save(**{name: rows})


def load_candidates(rows: np.ndarray) -> Candidates:
    """Return the candidates that :func:`save_candidates` wrote."""
    return Candidates(*(np.ascontiguousarray(rows[field.name]) for field in fields(Candidates)))


def neighbors(task: Result, name: str = "", k: int | None = None) -> Neighbors:
    """Map neighbour lists into memory: the first ``k`` slots, by default all."""
    return Neighbors(task.array(f"{name}similarity")[:, :k], task.array(f"{name}row")[:, :k])
