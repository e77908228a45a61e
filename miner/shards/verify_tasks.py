"""Tasks that score candidates and match them: verify, rivals, contest, score, match, features.

They go through several rounds: round 0 is the search itself, and in each further one a draw of
decoys joins the targets, whose rows then follow those of the targets. Source rows of a shard count
from its first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import create_npy
from miner.knn.neighbors import Neighbors
from miner.mining.decoys import merged_lists
from miner.mining.verification import (
    BLOCK,
    PairLogits,
    candidate_logits,
    context_function,
    release,
    scored_blocks,
)
from miner.mining.verification import (
    Context as ContextOf,
)
from miner.mining.verification import (
    features as chosen_features,
)
from miner.scoring.context_features import BestLogits
from miner.scoring.listed import Listed
from miner.scoring.margin import CandidateBlocks, Candidates, Retrieval, best_pairs
from miner.scoring.pair_features import PreparedText
from miner.shards.context import Context, load_candidates, save, save_candidates
from miner.shards.exchange import Places, rival_parts

# Best pairs of a shard that are collected before only the best of each target stay.
COLLECTED = 1 << 21


@dataclass(frozen=True)
class Shard:
    """A shard of sources, and the number of shards of ``targets`` whose lists it is in."""

    context: Context
    number: int
    span: tuple[int, int]
    targets: int

    @cached_property
    def forward(self) -> Neighbors:
        """The lists of the shard's sources."""
        return self.context.neighbors([f"merge/source-{self.number:04}"])

    @cached_property
    def places(self) -> Places:
        """The places of the shard's sources in the lists of all targets."""
        parts = []
        for number in range(self.targets):
            task = f"merge/target-{number:04}"
            starts = self.context.array(task, "listed-starts")
            own = slice(starts[self.number], starts[self.number + 1])
            first = number * self.context.plan.shard_lines
            parts.append((self.context.array(task, "listed")[own], first))
        return Places.joined(parts)


@dataclass(frozen=True)
class Round:
    """A shard of sources in one round: its lists, its text, and the targets with their decoys."""

    whole: Shard
    number: int

    @property
    def context(self) -> Context:
        return self.whole.context

    @property
    def span(self) -> tuple[int, int]:
        return self.whole.span

    @property
    def targets(self) -> int:
        """Number of targets, without decoys."""
        return int(self.context.result("index/target")["rows"])

    @cached_property
    def forward(self) -> Neighbors:
        """The lists of the shard's sources."""
        own = self.whole.forward
        if not self.number:
            return own
        task, name = f"against/{self.whole.number:04}", f"{self.number - 1}-"
        arrays = [np.array(self.context.array(task, name + part)) for part in ("similarity", "row")]
        return merged_lists(own, Neighbors(*arrays), self.targets)

    def listed(self, places: Places | None = None) -> Listed:
        """Return the places of the sources in the lists of all targets and decoys; or none."""
        task, name = ("lists/target", "")
        if self.number:
            task, name = ("lists/decoys", f"{self.number - 1}-")
        mean, nearest = (self.context.array(task, f"{name}{one}") for one in ("mean", "nearest"))
        lists = [self.context.array(task, f"{name}{one}") for one in ("similarity", "row")]
        if places is None:
            places = Places.joined([])
        elif self.number:
            places = places.then(Places.of_lists(lists[0], lists[1], self.span), self.targets)
        own = places.by_source(self.span[1] - self.span[0])
        return Listed(*own, nearest, mean, lists[1].shape[1])

    @cached_property
    def blocks(self) -> CandidateBlocks:
        """The candidates of the shard."""
        listed = self.listed(self.whole.places)
        return CandidateBlocks(self.forward, listed, self.context.plan.settings.margin)

    @cached_property
    def source_text(self) -> PreparedText:
        return self.context.text(0, *self.span)

    @cached_property
    def target_text(self) -> PreparedText:
        return self.context.text(1)

    @cached_property
    def decoy_text(self) -> PreparedText:
        return self.context.decoys.text.take(self.context.decoys.draws[self.number - 1])

    def logits_of(self, source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        """Compute the logits of the pair features of candidates with targets."""
        verifier = self.context.verifier
        logit = verifier.pair_logits(self.source_text, self.target_text, source_row, target_row)
        release(self.source_text, self.target_text)
        return logit

    def with_decoys(self, known: PairLogits) -> Any:
        """Return a function as :meth:`logits_of`, which computes only those of decoys."""

        def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
            logit = np.empty(len(source_row))
            new = target_row >= self.targets
            logit[~new] = known.of(source_row[~new], target_row[~new])
            logit[new] = self.context.verifier.pair_logits(
                self.source_text, self.decoy_text, source_row[new], target_row[new] - self.targets
            )
            return logit

        return logits_of

    def context_of(self) -> ContextOf:
        """Return the function of context features, from the results of the tasks before."""
        task, name = f"verify/{self.whole.number:04}", f"{self.number}-"
        logits = PairLogits(
            *(self.context.array(task, name + part) for part in ("offsets", "target", "logit"))
        )
        best = BestLogits(0), BestLogits(0)
        best[0].best = self.context.array(task, name + "best")
        best[1].best = self.context.array("contest/all", name + "best")
        return context_function(self.forward, self.listed(), logits, best)


def rounds(context: Context, shard: int, span: list[int], targets: int = 0) -> list[Round]:
    """Return the rounds of a shard of sources, which is in the lists of shards of targets."""
    whole = Shard(context, shard, (span[0], span[1]), targets)
    return [Round(whole, number) for number in range(1 + len(context.decoys.draws))]


def verify(context: Context, out: Path, shard: int, span: list[int], targets: int) -> None:
    """Compute the logits of the pair features of a shard's candidates, and the best of each source.

    Decoys compete in further rounds, in which the logits of targets are known. Logits are also
    written by the shards of ``targets``, for tasks of those.
    """
    known: PairLogits | None = None
    for one in rounds(context, shard, span, targets):
        best = BestLogits(len(one.forward))
        logits = candidate_logits(
            one.blocks,
            one.logits_of if known is None else one.with_decoys(known),
            context.memory,
            lambda block, logit, best=best: best.add(block.source_row, logit),  # type: ignore[misc]
        )
        columns = {"offsets": logits.offsets, "target": logits.target, "logit": logits.logit}
        names = {f"{one.number}-{name}": array for name, array in columns.items()}
        parts, starts = rival_parts(logits.target, logits.logit, context.plan.shard_lines, targets)
        names |= {f"{one.number}-rivals": parts, f"{one.number}-rivals-starts": starts}
        save(out, **names, **{f"{one.number}-best": best.best})
        known = known or logits


def rivals(
    context: Context, out: Path, shard: int, span: list[int], last: bool, parts: list[str]
) -> None:
    """Collect the best logits of a shard of targets, of all sources.

    The ``last`` shard includes the decoys.
    """
    for number in range(1 + len(context.decoys.draws)):
        size = span[1] - span[0]
        if number and last:
            size += len(context.decoys.draws[number - 1])
        best = BestLogits(size)
        for task in parts:
            starts = context.array(task, f"{number}-rivals-starts")
            own = context.array(task, f"{number}-rivals")[starts[shard] : starts[shard + 1]]
            for first in range(0, len(own), BLOCK):
                some = own[first : first + BLOCK]
                best.add(some["target"].astype(np.int64), some["logit"])
        save(out, **{f"{number}-best": best.best})


def contest(context: Context, out: Path, parts: list[str]) -> None:
    """Join the best logits of all targets."""
    for number in range(1 + len(context.decoys.draws)):
        found = [context.array(task, f"{number}-best") for task in parts]
        shape = sum(map(len, found)), 3
        joined = create_npy(out / f"{number}-best.npy", np.float64, shape)
        done = 0
        for best in found:
            joined[done : done + len(best)] = best
            done += len(best)
        joined.flush()


def score(context: Context, out: Path, shard: int, span: list[int], targets: int) -> None:
    """Score a shard's candidates; keep the best of each source and, in the shard, each target."""
    for one in rounds(context, shard, span, targets):
        forward: list[Candidates] = []
        backward: list[Candidates] = []
        for block in _scored(one):
            best = best_pairs(block)
            forward.append(best[0])
            backward.append(best[1])
            if sum(map(len, backward)) > COLLECTED:
                backward = [best_pairs(joined(backward))[1]]
        found = joined(forward), best_pairs(joined(backward))[1]
        for name, pairs in zip(("forward", "backward"), found, strict=True):
            rows = replace(pairs, source_row=pairs.source_row + span[0])
            save_candidates(out, f"{one.number}-{name}", rows)


def _scored(one: Round) -> Iterator[Candidates]:
    """Yield the blocks of a shard's candidates with their scores."""
    if one.context.plan.verifying:
        yield from scored_blocks(one.blocks, one.context.verifier, one.context_of())
    else:
        for rows in one.blocks.spans(BLOCK):
            yield one.blocks.block(*rows)


def match(context: Context, out: Path, parts: list[str]) -> dict[str, Any]:
    """Choose pairs among the best of all shards, by the retrieval: one-to-one by default.

    Memory: 190 bytes a sentence of either side.
    """
    size = int(context.result("index/target")["rows"])
    kept = []
    for number in range(1 + len(context.decoys.draws)):
        more = len(context.decoys.draws[number - 1]) if number else 0
        retrieval = Retrieval(size + more, context.plan.settings.retrieval)
        for task in parts:
            forward, backward = (
                load_candidates(context.array(task, f"{number}-{name}"))
                for name in ("forward", "backward")
            )
            retrieval.add_best(forward, backward)
        pairs = retrieval.result()
        if number:
            pairs = pairs.take(pairs.target_row >= size)
        save_candidates(out, f"{number}-pairs", pairs)
        kept.append(len(pairs))
    return {"pairs": kept}


def features(context: Context, out: Path, shard: int, span: list[int]) -> None:
    """Compute the features of the matched pairs of a shard, in the order of the pairs."""
    for one in rounds(context, shard, span):
        pairs = context.array("match/all", f"{one.number}-pairs")
        own = load_candidates(pairs[in_span(pairs["source_row"], span)])
        own = replace(own, source_row=own.source_row - span[0])
        context_of, text, first = one.context_of(), one.target_text, 0
        if one.number:
            text, first = one.decoy_text, one.targets
            own = replace(own, target_row=own.target_row - first)

        def shifted(
            block: Candidates, context_of: ContextOf = context_of, first: int = first
        ) -> np.ndarray:
            return context_of(replace(block, target_row=block.target_row + first))

        found = chosen_features(context.verifier, one.source_text, text, own, shifted)
        save(out, **{f"{one.number}-features": found})


def in_span(rows: np.ndarray, span: list[int]) -> np.ndarray:
    """Return a mask of the rows of a shard, ``(m,) bool``."""
    return (rows >= span[0]) & (rows < span[1])


def joined(parts: list[Candidates]) -> Candidates:
    """Join candidates; none of none."""
    if not parts:
        return Candidates(
            np.empty(0), *(np.empty(0, np.int64),) * 2, np.empty(0, np.float32), np.empty(0),
            *(np.empty(0, np.int16),) * 2,
        )  # fmt: skip
    columns = ([getattr(part, field.name) for part in parts] for field in fields(Candidates))
    return Candidates(*map(np.concatenate, columns))
