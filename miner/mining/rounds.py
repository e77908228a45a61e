"""Rounds of scoring: what a task reads of the parts of a search, with and without decoys.

Round 0 is the search itself, and in each further one a draw of decoys joins the targets, whose rows
then follow the rows of the targets. Source rows of a part count from its first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from miner.knn.neighbors import Neighbors
from miner.mining.search_stages import DrawnDecoys
from miner.mining.sides import Part, Side, load_text
from miner.mining.transposed import TransposedLists
from miner.precision.decoys import merged_lists
from miner.ragged import offsets_of
from miner.scoring.context_features import BestLogits, two_nearest
from miner.scoring.margin import CandidateBlocks, Candidates, Listed
from miner.scoring.pair_features import PreparedText
from miner.scoring.verification import (
    BLOCK,
    Context,
    LogitsOf,
    PairLogits,
    context_function,
    release,
)
from miner.scoring.verifier import Verifier
from miner.tasks.task import Job, Result


@dataclass(frozen=True)
class Competition:
    """Decoys in a search: who they are, and the tasks that searched and ranked them.

    ``forward`` are the lists of each part of the sources, ``lists`` of the decoys.
    """

    decoys: DrawnDecoys
    forward: tuple[Result, ...]
    lists: Result


@dataclass(frozen=True)
class Found:
    """Neighbour lists of a search, for the stages that score its candidates.

    ``forward`` and ``backward`` are the lists of each part of the sources and of the targets, whose
    first ``k`` places count; ``lists`` are of all targets. ``decoys`` compete; None without an
    estimate of precision. ``copies`` numbers sentences that are no candidates for each other; None
    where any may be.
    """

    sides: tuple[Side, Side]
    k: int
    forward: tuple[Result, ...]
    backward: tuple[Result, ...]
    lists: Result
    decoys: Competition | None = None
    copies: Result | None = None

    @property
    def draws(self) -> tuple[int, ...]:
        return () if self.decoys is None else self.decoys.decoys.sizes

    @property
    def rounds(self) -> range:
        return range(1 + len(self.draws))


@dataclass(frozen=True)
class SourcePart:
    """A part of the sources at work."""

    found: Found
    part: Part
    margin: str
    verifier: Verifier | None

    @property
    def number(self) -> int:
        return self.part.number

    @property
    def span(self) -> tuple[int, int]:
        return self.part.span

    @cached_property
    def forward(self) -> Neighbors:
        """The lists of the part's sources."""
        return neighbors(self.found.forward[self.number], k=self.found.k)

    @cached_property
    def backward(self) -> TransposedLists:
        """The lists of all targets, as far as they have sources of the part."""
        parts = []
        for task, (first, _) in zip(self.found.backward, self.found.sides[1].spans, strict=True):
            starts = task.array("listed-starts")
            own = slice(starts[self.number], starts[self.number + 1])
            listed = task.array("listed")[own]
            parts.append((listed[listed["place"] < self.found.k], first))
        return TransposedLists.of_parts(parts)

    @cached_property
    def copies(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Numbers of copies of the part's sources, and of all targets."""
        numbers = self.found.copies
        if numbers is None:
            return None
        return np.asarray(numbers.array("source")[slice(*self.span)]), numbers.array("target")

    @cached_property
    def text(self) -> PreparedText:
        """Token ids of the part's sources."""
        assert self.part.text is not None
        return load_text(self.part.text)

    def rounds(self) -> list[Round]:
        return [Round(self, number) for number in self.found.rounds]


@dataclass(frozen=True)
class Round:
    """A part of the sources in one round: its lists, and the targets with their decoys."""

    part: SourcePart
    number: int

    @property
    def targets(self) -> int:
        """Number of targets, without decoys."""
        return self.part.found.sides[1].size

    @property
    def verifier(self) -> Verifier:
        assert self.part.verifier is not None
        return self.part.verifier

    @cached_property
    def forward(self) -> Neighbors:
        """The lists of the part's sources."""
        own, decoys = self.part.forward, self.part.found.decoys
        if not self.number or decoys is None:
            return own
        more = neighbors(decoys.forward[self.part.number], f"{self.number - 1}-")
        copy = Neighbors(np.array(more.similarity), np.array(more.row))
        return merged_lists(own, copy, self.targets)

    @property
    def backward(self) -> tuple[Result, str]:
        """The task with the lists of the targets, or of the decoys, and the prefix of its files."""
        if self.number and self.part.found.decoys is not None:
            return self.part.found.decoys.lists, f"{self.number - 1}-"
        return self.part.found.lists, ""

    @cached_property
    def blocks(self) -> CandidateBlocks:
        (task, name), span, found = self.backward, self.part.span, self.part.backward
        if self.number:
            lists = neighbors(task, name)
            more = TransposedLists.of(lists.similarity, lists.row, span, self.targets)
            found = TransposedLists.joined([found, more])
        listed = Listed(*found.by_source(span[1] - span[0]), task.array(f"{name}mean"))
        return CandidateBlocks(self.forward, listed, self.part.margin, self.part.copies)

    def without(self, partner: np.ndarray) -> CandidateBlocks:
        """Return the candidates of the sources that have a ``partner (n,)``, without it; -1: none.

        The other sources have no candidates.
        """
        own, listed = self.forward, self.blocks.backward
        gone = (own.row == partner[:, None]) | (partner < 0)[:, None]
        order = np.argsort(gone, axis=1, kind="stable")
        columns = np.where(gone, 0, own.similarity), np.where(gone, -1, own.row)
        forward = Neighbors(*(np.take_along_axis(column, order, axis=1) for column in columns))
        source = np.repeat(np.arange(len(partner)), np.diff(listed.starts))
        left = (partner[source] >= 0) & (listed.target != partner[source])
        backward = Listed(
            offsets_of(np.bincount(source[left], minlength=len(partner))),
            listed.target[left],
            listed.place[left],
            listed.similarity[left],
            listed.mean,
        )
        return CandidateBlocks(forward, backward, self.part.margin, self.part.copies)

    @cached_property
    def target_text(self) -> PreparedText:
        return self.part.found.sides[1].prepared()

    @cached_property
    def decoy_text(self) -> PreparedText:
        decoys = self.part.found.decoys
        assert decoys is not None
        return decoys.decoys.text(self.number - 1)

    def logits_of(self, source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        """Compute the logits of the pair features of candidates with targets."""
        text = self.part.text
        logit = self.verifier.pair_logits(text, self.target_text, source_row, target_row)
        release(text, self.target_text)
        return logit

    def with_decoys(self, known: PairLogits) -> LogitsOf:
        """Return a function like :meth:`logits_of` that computes only the logits of decoys."""

        def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
            logit = np.empty(len(source_row))
            new = target_row >= self.targets
            logit[~new] = known.of(source_row[~new], target_row[~new])
            logit[new] = self.verifier.pair_logits(
                self.part.text, self.decoy_text, source_row[new], target_row[new] - self.targets
            )
            return logit

        return logits_of

    def context_of(self, verified: Verified, hidden: CandidateBlocks | None = None) -> Context:
        """Return the function of context features, by the logits of all candidates.

        ``hidden`` are candidates of :meth:`without`, to be compared among themselves.
        """
        name, logits = f"{self.number}-", verified.parts[self.part.number]
        own = PairLogits(*(logits.array(name + part) for part in ("offsets", "target", "logit")))
        best = BestLogits(0), BestLogits(0)
        best[1].best = verified.best.array(name + "best")
        if hidden is None:
            best[0].best = logits.array(name + "best")
        else:
            best = BestLogits(len(self.forward)), best[1]
            for span in hidden.spans(BLOCK):
                block = hidden.block(*span)
                best[0].add(block.source_row, own.of(block.source_row, block.target_row))
        task, prefix = self.backward
        k = max(self.forward.row.shape[1], task.array(f"{prefix}row").shape[1])
        forward = self.forward if hidden is None else hidden.forward
        nearest = two_nearest(forward), task.array(f"{prefix}nearest")
        return context_function(nearest, k, own, best)


@dataclass(frozen=True)
class Verified:
    """Results of :func:`verify` for each part of the sources, and of :func:`best_logits`."""

    parts: tuple[Result, ...]
    best: Result


def in_span(rows: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    """Return a mask of the rows of a part, ``(m,) bool``."""
    return (rows >= span[0]) & (rows < span[1])


def save_candidates(job: Job, name: str, found: Candidates) -> None:
    """Write the columns of candidates as one array of records."""
    kinds = [(field.name, getattr(found, field.name).dtype) for field in fields(found)]
    rows = np.empty(len(found), dtype=kinds)
    for field in fields(found):
        rows[field.name] = getattr(found, field.name)
    job.save(**{name: rows})


def load_candidates(rows: np.ndarray) -> Candidates:
    """Return the candidates that :func:`save_candidates` wrote."""
    return Candidates(*(np.ascontiguousarray(rows[field.name]) for field in fields(Candidates)))


def neighbors(task: Result, name: str = "", k: int | None = None) -> Neighbors:
    """Map neighbour lists into memory: the first ``k`` slots, by default all."""
    return Neighbors(task.array(f"{name}similarity")[:, :k], task.array(f"{name}row")[:, :k])
