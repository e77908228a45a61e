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
from miner.npy import create_npy
from miner.scoring.context_features import BestLogits
from miner.scoring.margin import CandidateBlocks, Candidates, Retrieval, best_pairs
from miner.scoring.pair_features import PreparedText
from miner.shards.context import Context, load_candidates, save, save_candidates

# Best pairs of a shard that are collected before only the best of each target stay.
COLLECTED = 1 << 21


@dataclass(frozen=True)
class Round:
    """A shard of sources in one round: its lists, its text, and the targets with their decoys."""

    context: Context
    number: int
    shard: int
    span: tuple[int, int]

    @property
    def targets(self) -> int:
        """Number of targets, without decoys."""
        return int(self.context.result("index/target")["rows"])

    @cached_property
    def forward(self) -> Neighbors:
        """The lists of the shard's sources."""
        own = self.context.neighbors([f"merge/source-{self.shard:04}"])
        if not self.number:
            return own
        task, name = f"against/{self.shard:04}", f"{self.number - 1}-"
        arrays = [np.array(self.context.array(task, name + part)) for part in ("similarity", "row")]
        return merged_lists(own, Neighbors(*arrays), self.targets)

    @property
    def _lists(self) -> tuple[str, str]:
        return ("lists/decoys", f"{self.number - 1}-") if self.number else ("lists/target", "")

    @cached_property
    def backward(self) -> Neighbors:
        """The lists of all targets and decoys, by memory map."""
        task, name = self._lists
        return Neighbors(
            self.context.array(task, f"{name}similarity"), self.context.array(task, f"{name}row")
        )

    @cached_property
    def blocks(self) -> CandidateBlocks:
        """The candidates of the shard."""
        task, name = self._lists
        return CandidateBlocks(
            self.forward,
            self.backward,
            self.context.plan.settings.margin,
            first=self.span[0],
            mean=self.context.array(task, f"{name}mean"),
        )

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
        task, name = f"verify/{self.shard:04}", f"{self.number}-"
        logits = PairLogits(
            *(self.context.array(task, name + part) for part in ("offsets", "target", "logit"))
        )
        best = BestLogits(0), BestLogits(0)
        best[0].best = self.context.array(task, name + "best")
        best[1].best = self.context.array("contest/all", name + "best")
        return context_function(self.forward, self.backward, logits, best)


def rounds(context: Context, shard: int, span: list[int]) -> list[Round]:
    """Return the rounds of a shard of sources."""
    count = 1 + len(context.decoys.draws)
    return [Round(context, number, shard, (span[0], span[1])) for number in range(count)]


def verify(context: Context, out: Path, shard: int, span: list[int]) -> None:
    """Compute the logits of the pair features of a shard's candidates, and the best of each source.

    Decoys compete in further rounds, in which the logits of targets are known.
    """
    known: PairLogits | None = None
    for one in rounds(context, shard, span):
        best = BestLogits(len(one.forward))
        logits = candidate_logits(
            one.blocks,
            one.logits_of if known is None else one.with_decoys(known),
            context.memory,
            lambda block, logit, best=best: best.add(block.source_row, logit),  # type: ignore[misc]
        )
        columns = {"offsets": logits.offsets, "target": logits.target, "logit": logits.logit}
        names = {f"{one.number}-{name}": array for name, array in columns.items()}
        save(out, **names, **{f"{one.number}-best": best.best})
        known = known or logits


def rivals(context: Context, out: Path, span: list[int], last: bool, parts: list[str]) -> None:
    """Collect the best logits of a shard of targets, of all sources.

    The ``last`` shard includes the decoys.
    """
    for number in range(1 + len(context.decoys.draws)):
        start, end = span
        if number and last:
            end += len(context.decoys.draws[number - 1])
        best = BestLogits(end - start)
        for task in parts:
            target = context.array(task, f"{number}-target")
            logit = context.array(task, f"{number}-logit")
            for first in range(0, len(target), BLOCK):
                rows = target[first : first + BLOCK]
                own = (rows >= start) & (rows < end)
                if own.any():
                    best.add(rows[own].astype(np.int64) - start, logit[first : first + BLOCK][own])
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


def score(context: Context, out: Path, shard: int, span: list[int]) -> None:
    """Score a shard's candidates; keep the best of each source and, in the shard, each target."""
    for one in rounds(context, shard, span):
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
