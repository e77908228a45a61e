"""Stages that score candidates and match them: verify, rivals, contest, score, match, features.

They go through several rounds: round 0 is the search itself, and in each further one a draw of
decoys joins the targets, whose rows then follow the rows of the targets. Source rows of a part
count from its first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from miner.knn.neighbors import Neighbors
from miner.mining.exchange import Places, rival_parts
from miner.mining.search_stages import DrawnDecoys
from miner.mining.sides import Part, Scorer, Side, load_text
from miner.precision.decoys import merged_lists
from miner.precision.knock_out import LIKELY
from miner.ragged import offsets_of
from miner.scoring.context_features import BestLogits, two_nearest
from miner.scoring.margin import CandidateBlocks, Candidates, Listed, Retrieval, best_pairs
from miner.scoring.pair_features import PreparedText
from miner.scoring.verification import (
    BLOCK,
    Context,
    LogitsOf,
    PairLogits,
    candidate_logits,
    context_function,
    release,
    scored_blocks,
)
from miner.scoring.verification import features as features_of
from miner.scoring.verifier import Verifier
from miner.tasks.task import Job, Result, hints

# Best pairs of a part that are collected before only the best of each target stay.
COLLECTED = 1 << 21


@dataclass(frozen=True)
class Competition:
    """Decoys in a search: who they are, and the tasks that searched and ranked them.

    ``against`` are the lists of each part of the sources, ``lists`` of the decoys.
    """

    decoys: DrawnDecoys
    against: tuple[Result, ...]
    lists: Result


@dataclass(frozen=True)
class Found:
    """Neighbour lists of a search, for the stages that score its candidates.

    ``forward`` and ``backward`` are the lists of each part of the sources and of the targets,
    ``lists`` of all targets. ``decoys`` compete; None without an estimate of precision.
    """

    sides: tuple[Side, Side]
    forward: tuple[Result, ...]
    backward: tuple[Result, ...]
    lists: Result
    decoys: Competition | None = None

    @property
    def draws(self) -> tuple[int, ...]:
        """Number of decoys of each draw."""
        return () if self.decoys is None else self.decoys.decoys.sizes

    @property
    def rounds(self) -> range:
        """Numbers of the rounds."""
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
        return _neighbors(self.found.forward[self.number])

    @cached_property
    def places(self) -> Places:
        """The places of the part's sources in the lists of all targets."""
        parts = []
        for task, (first, _) in zip(self.found.backward, self.found.sides[1].spans, strict=True):
            starts = task.array("listed-starts")
            own = slice(starts[self.number], starts[self.number + 1])
            parts.append((task.array("listed")[own], first))
        return Places.joined(parts)

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
        more = _neighbors(decoys.against[self.part.number], f"{self.number - 1}-")
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
        """The candidates of the part."""
        (task, name), span, places = self.backward, self.part.span, self.part.places
        if self.number:
            lists = _neighbors(task, name)
            places = places.then(Places.of_lists(lists.similarity, lists.row, span), self.targets)
        listed = Listed(*places.by_source(span[1] - span[0]), task.array(f"{name}mean"))
        return CandidateBlocks(self.forward, listed, self.part.margin)

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
        return CandidateBlocks(forward, backward, self.part.margin)

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

    def context_of(
        self, logits: Result, contest: Result, hidden: CandidateBlocks | None = None
    ) -> Context:
        """Return the function of context features, by what :func:`verify` and others left.

        ``hidden`` are candidates of :meth:`without`, to be compared among themselves.
        """
        name = f"{self.number}-"
        own = PairLogits(*(logits.array(name + part) for part in ("offsets", "target", "logit")))
        best = BestLogits(0), BestLogits(0)
        best[1].best = contest.array(name + "best")
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
    """Results of :func:`verify` for each part of the sources, and of :func:`contest`."""

    parts: tuple[Result, ...]
    contest: Result


@hints(seconds=5e-4, memory=1100)
def verify(job: Job, found: Found, part: Part, margin: str, scorer: Scorer) -> None:
    """Compute the logits of the pair features of a part's candidates, and the best of each source.

    Decoys compete in further rounds, in which the logits of targets are known. Logits are also
    written by the parts of the targets, for tasks of those.
    """
    known: PairLogits | None = None
    firsts = [start for start, _ in found.sides[1].spans]
    for one in SourcePart(found, part, margin, scorer.open(job.threads)).rounds():
        best = BestLogits(len(one.forward))
        logits = candidate_logits(
            one.blocks,
            one.logits_of if known is None else one.with_decoys(known),
            job.memory,
            _reported(job, one, best),
        )
        columns = {"offsets": logits.offsets, "target": logits.target, "logit": logits.logit}
        names = {f"{one.number}-{name}": array for name, array in columns.items()}
        parts, starts = rival_parts(logits.target, logits.logit, firsts)
        names |= {f"{one.number}-rivals": parts, f"{one.number}-rivals-starts": starts}
        job.save(**names, **{f"{one.number}-best": best.best})
        known = known or logits


def _reported(job: Job, one: Round, best: BestLogits) -> Callable[[Candidates, np.ndarray], None]:
    """Return a function that takes the logits of a block: the best stay, and it is counted."""

    def add(block: Candidates, logit: np.ndarray) -> None:
        best.add(block.source_row, logit)
        if len(block.source_row) and not one.number:
            job.report("verifying", int(block.source_row[-1]) + 1, len(one.forward))

    return add


@hints(seconds=1e-5)
def rivals(job: Job, found: Found, part: Part, verified: list[Result]) -> None:
    """Collect the best logits of a part of the targets, of all sources.

    The last part includes the decoys.
    """
    start, end = part.span
    last = part.number == len(found.sides[1].parts) - 1
    for number in found.rounds:
        best = BestLogits(end - start + (found.draws[number - 1] if number and last else 0))
        for task in verified:
            starts = task.array(f"{number}-rivals-starts")
            own = task.array(f"{number}-rivals")[starts[part.number] : starts[part.number + 1]]
            for first in range(0, len(own), BLOCK):
                some = own[first : first + BLOCK]
                best.add(some["target"].astype(np.int64), some["logit"])
        job.save(**{f"{number}-best": best.best})


@hints(seconds=2e-6)
def contest(job: Job, found: Found, parts: list[Result]) -> None:
    """Join the best logits of all targets."""
    for number in found.rounds:
        job.join(f"{number}-best", (task.array(f"{number}-best") for task in parts))


@hints(seconds=6e-5, memory=1300)
def score(
    job: Job,
    found: Found,
    part: Part,
    margin: str,
    scorer: Scorer | None = None,
    verified: Verified | None = None,
) -> None:
    """Score a part's candidates; keep the best of each source and, in the part, each target.

    Scores are probabilities, or margins without a ``scorer``.
    """
    verifier = None if scorer is None else scorer.open(job.threads)
    source = SourcePart(found, part, margin, verifier)
    for one in source.rounds():
        forward: list[Candidates] = []
        backward: list[Candidates] = []
        for block in _scored(one, verified):
            best = best_pairs(block)
            forward.append(best[0])
            backward.append(best[1])
            if sum(map(len, backward)) > COLLECTED:
                backward = [best_pairs(joined(backward))[1]]
        kept = joined(forward), best_pairs(joined(backward))[1]
        for name, pairs in zip(("forward", "backward"), kept, strict=True):
            rows = replace(pairs, source_row=pairs.source_row + source.span[0])
            save_candidates(job, f"{one.number}-{name}", rows)


def _scored(one: Round, verified: Verified | None) -> Iterator[Candidates]:
    """Yield the blocks of a part's candidates with their scores."""
    if verified is not None:
        context_of = one.context_of(verified.parts[one.part.number], verified.contest)
        yield from scored_blocks(one.blocks, one.verifier, context_of)
    else:
        for rows in one.blocks.spans(BLOCK):
            yield one.blocks.block(*rows)


@hints(seconds=4e-6, memory=190)
def match(
    job: Job, targets: int, draws: tuple[int, ...], parts: list[Result], retrieval: str
) -> dict[str, Any]:
    """Choose pairs among the best of all parts, by the retrieval: one-to-one by default.

    ``targets`` is the number of targets, ``draws`` of the decoys of each draw. Memory: 190 bytes
    a sentence of either side.
    """
    kept = []
    for number in range(1 + len(draws)):
        more = draws[number - 1] if number else 0
        chosen = Retrieval(targets + more, retrieval)
        for task in parts:
            forward, backward = (
                load_candidates(task.array(f"{number}-{name}")) for name in ("forward", "backward")
            )
            chosen.add_best(forward, backward)
        pairs = chosen.result()
        if number:
            pairs = pairs.take(pairs.target_row >= targets)
        save_candidates(job, f"{number}-pairs", pairs)
        kept.append(len(pairs))
    return {"pairs": kept}


@hints(seconds=5e-5)
def features(
    job: Job,
    found: Found,
    part: Part,
    margin: str,
    scorer: Scorer,
    verified: Verified,
    matched: Result,
) -> None:
    """Compute the features of the matched pairs of a part, in the order of the pairs."""
    source = SourcePart(found, part, margin, scorer.open(job.threads))
    for one in source.rounds():
        pairs = matched.array(f"{one.number}-pairs")
        own = load_candidates(pairs[in_span(pairs["source_row"], source.span)])
        own = replace(own, source_row=own.source_row - source.span[0])
        context_of = one.context_of(verified.parts[part.number], verified.contest)
        text, first = one.target_text, 0
        if one.number:
            text, first = one.decoy_text, one.targets
            own = replace(own, target_row=own.target_row - first)

        def shifted(
            block: Candidates, context_of: Context = context_of, first: int = first
        ) -> np.ndarray:
            return context_of(replace(block, target_row=block.target_row + first))

        computed = features_of(one.verifier, source.text, text, own, shifted)
        job.save(**{f"{one.number}-features": computed})
    if found.decoys is not None:
        _knock_out(job, Round(source, 0), verified, matched)


def _knock_out(job: Job, one: Round, verified: Verified, matched: Result) -> None:
    """Write the pairs that likely sources would be in without their partner, and their features.

    Each wins the best target that is in no better pair.
    """
    part, (first, end) = one.part, one.part.span
    pairs = matched.array("0-pairs")
    likely = pairs[(pairs["score"] >= LIKELY) & in_span(pairs["source_row"], part.span)]
    partner = np.full(end - first, -1)
    partner[likely["source_row"] - first] = likely["target_row"]
    held = np.zeros(one.targets)
    held[pairs["target_row"]] = pairs["score"]
    hidden = one.without(partner)
    context_of = one.context_of(verified.parts[part.number], verified.contest, hidden)
    won = joined(
        [
            best_pairs(block.take(block.score > held[block.target_row]))[0]
            for block in scored_blocks(hidden, one.verifier, context_of)
        ]
    )
    computed = features_of(one.verifier, part.text, one.target_text, won, context_of)
    save_candidates(job, "knocked", replace(won, source_row=won.source_row + first))
    job.save(**{"knocked-features": computed})


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


def _neighbors(task: Result, name: str = "") -> Neighbors:
    return Neighbors(task.array(f"{name}similarity"), task.array(f"{name}row"))


def joined(parts: list[Candidates]) -> Candidates:
    """Join candidates; none of none."""
    if not parts:
        return Candidates(
            np.empty(0), *(np.empty(0, np.int64),) * 2, np.empty(0, np.float32), np.empty(0),
            *(np.empty(0, np.int16),) * 2,
        )  # fmt: skip
    columns = ([getattr(part, field.name) for part in parts] for field in fields(Candidates))
    return Candidates(*map(np.concatenate, columns))
