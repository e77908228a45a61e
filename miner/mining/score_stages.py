"""Stages that score and match candidates: verify, rivals, best logits, score, match, features.

They go through the rounds of :mod:`miner.mining.rounds`.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from miner.mining.rounds import (
    Rounds,
    context_of,
    in_span,
    load_candidates,
    logits_of,
    save_candidates,
)
from miner.mining.search_stages import decoy_text
from miner.mining.second_stages import Opinions, keys
from miner.mining.sides import Part
from miner.precision.knock_out import LIKELY
from miner.progress import Reporter, silent
from miner.scoring.context_features import BestLogits
from miner.scoring.margin import CandidateBlocks, Candidates
from miner.scoring.matching import Retrieval, best_pairs
from miner.scoring.verification import BLOCK, PairLogits, candidate_logits, scored_blocks
from miner.scoring.verification import features as features_of
from miner.tasks.exchange import part_of, received, send
from miner.tasks.task import Job, Result, hints

# Number of best pairs of a part collected before only the best of each target are kept.
COLLECTED = 1 << 21
# Logit of a candidate, sent to the part of its target.
RIVAL = np.dtype([("target", "<i4"), ("logit", "<f8")])


@hints(seconds=5e-4, memory=1100)
def verify(job: Job, rounds: Rounds, part: Part) -> None:
    """Compute the pair features' logits of a part's candidates, and the best of each source.

    Decoys compete in further rounds, in which the logits of targets are known. Logits are sent to
    the parts of the targets.
    """
    verifier, firsts = rounds.verifier(job.threads), rounds.near.sides[1].firsts
    known: PairLogits | None = None
    for number in rounds:
        blocks = rounds.candidates(part, number)
        best = BestLogits(len(blocks.forward))
        of = logits_of(rounds.near, part, number, verifier, known)
        report = silent if number else job.report
        logits = candidate_logits(blocks, of, job.memory, partial(_add, best, report))
        columns = {"offsets": logits.offsets, "target": logits.target, "logit": logits.logit}
        columns["best"] = best.best
        job.save(**{f"{number}-{name}": array for name, array in columns.items()})
        rivals = np.empty(len(logits.target), RIVAL)
        rivals["target"], rivals["logit"] = logits.target, logits.logit
        send(job, f"{number}-rivals", rivals, part_of(logits.target, firsts), len(firsts))
        known = known or logits


def _add(best: BestLogits, report: Reporter, block: Candidates, logit: np.ndarray) -> None:
    """Add the logits of a block, and count its sources."""
    best.add(block.source_row, logit)
    if len(block.source_row):
        report("verifying", int(block.source_row[-1]) + 1, len(best.best))


@hints(seconds=1e-5)
def rivals(job: Job, rounds: Rounds, part: Part, verified: list[Result]) -> None:
    """Collect the best logits of a part of the targets, over all sources.

    The last part also collects the best logits of the decoys.
    """
    near, (first, end) = rounds.near, part.span
    last = part.number == len(near.sides[1].parts) - 1
    for number in rounds:
        best = BestLogits(end - first + (near.draws[number - 1] if number and last else 0))
        for records in received(verified, f"{number}-rivals", part.number):
            for start in range(0, len(records), BLOCK):
                some = records[start : start + BLOCK]
                best.add(some["target"].astype(np.int64) - first, some["logit"])
        job.save(**{f"{number}-best": best.best})


@hints(seconds=2e-6)
def best_logits(job: Job, rounds: Rounds, parts: list[Result]) -> None:
    """Join the best logits of all targets."""
    for number in rounds:
        job.join(f"{number}-best", (task.array(f"{number}-best") for task in parts))


@hints(seconds=6e-5, memory=1300)
def score(
    job: Job, rounds: Rounds, part: Part, logits: Result | None = None, doubtful: float = 1.0
) -> None:
    """Score a part's candidates; keep the best of each source and, within the part, of each target.

    Scores are probabilities from the ``logits`` of the part and the best of all targets, or
    margins without ``logits``. With probabilities, all candidates that a second opinion may read
    are kept too: those of at least ``doubtful``.
    """
    for number in rounds:
        blocks = rounds.candidates(part, number)
        scored: Iterator[Candidates] = (blocks.block(*rows) for rows in blocks.spans(BLOCK))
        if logits is not None:
            context = rounds.context(number, blocks, logits)
            scored = scored_blocks(blocks, rounds.verifier(job.threads), context)
        kept = _best_of(scored, doubtful if logits is not None else None)
        for name, pairs in zip(("forward", "backward", "likely"), kept, strict=True):
            save_candidates(job, f"{number}-{name}", pairs, part.span[0])


def _best_of(
    blocks: Iterator[Candidates], least: float | None
) -> tuple[Candidates, Candidates, Candidates]:
    """Return the best pairs of the sources, of the targets, and all of ``least`` or more."""
    forward, backward, doubtful = ([Candidates.zeros(0)] for _ in range(3))
    for block in blocks:
        best = best_pairs(block)
        forward.append(best[0])
        backward.append(best[1])
        if least is not None:
            doubtful.append(block.take(block.score >= least))
        if sum(map(len, backward)) > COLLECTED:
            backward = [best_pairs(Candidates.joined(backward))[1]]
    of_targets = best_pairs(Candidates.joined(backward))[1]
    return Candidates.joined(forward), of_targets, Candidates.joined(doubtful)


@hints(seconds=4e-6, memory=190)
def match(
    job: Job,
    targets: int,
    draws: tuple[int, ...],
    parts: list[Result],
    retrieval: str,
    second: Opinions | None = None,
) -> dict[str, Any]:
    """Choose pairs among the best of all parts, by the retrieval: one-to-one by default.

    ``targets``: number of targets; ``draws``: number of decoys in each draw. With a ``second``
    opinion, both decide about doubtful candidates. Memory: 190 bytes per sentence of either side.
    """
    kept = []
    for number in range(1 + len(draws)):
        more = draws[number - 1] if number else 0
        chosen = Retrieval(targets + more, retrieval)
        for task in parts:
            forward, backward, likely = (
                load_candidates(task.array(f"{number}-{name}"))
                for name in ("forward", "backward", "likely")
            )
            if second is not None:
                both = Candidates.joined([forward, backward, likely])
                both = both.take(np.unique(keys(both), return_index=True)[1])
                both = replace(both, score=second.scores(f"{number}", both))
                forward, backward = best_pairs(both)
            chosen.add_best(forward, backward)
        pairs = chosen.result()
        if number:
            pairs = pairs.take(pairs.target_row >= targets)
        save_candidates(job, f"{number}-pairs", pairs)
        kept.append(len(pairs))
    return {"pairs": kept}


@hints(seconds=5e-5)
def features(job: Job, rounds: Rounds, part: Part, logits: Result, matched: Result) -> None:
    """Compute the features of the matched pairs of a part, in the order of the pairs."""
    near, verifier = rounds.near, rounds.verifier(job.threads)
    for number in rounds:
        context = rounds.context(number, rounds.candidates(part, number), logits)
        pairs = matched.array(f"{number}-pairs")
        candidates = load_candidates(pairs[in_span(pairs["source_row"], part.span)])
        candidates = replace(candidates, source_row=candidates.source_row - part.span[0])
        text, first = near.sides[1].whole.tokens(), 0
        if number and near.decoys is not None:
            text, first = decoy_text(near.decoys, number - 1), near.sides[1].size
        computed = features_of(verifier, part.tokens(), text, candidates, context, first)
        job.save(**{f"{number}-features": computed})


@hints(seconds=5e-5)
def knock_out(job: Job, rounds: Rounds, part: Part, logits: Result, matched: Result) -> None:
    """Match likely sources of a part without their partner, and compute the features of the pairs.

    Each gets the best target that is in no better pair.
    """
    near, verifier, first = rounds.near, rounds.verifier(job.threads), part.span[0]
    pairs = matched.array("0-pairs")
    likely = pairs[(pairs["score"] >= LIKELY) & in_span(pairs["source_row"], part.span)]
    partner = np.full(part.span[1] - first, -1)
    partner[likely["source_row"] - first] = likely["target_row"]
    held = np.zeros(near.sides[1].size)
    held[pairs["target_row"]] = pairs["score"]
    hidden = rounds.candidates(part, 0).without(partner)
    pair_logits, (_, of_targets) = rounds.logits(logits, 0)
    of_sources = _best_logits(hidden, pair_logits)
    context = context_of(near, 0, hidden, pair_logits, (of_sources, of_targets))
    won = [Candidates.zeros(0)]
    for block in scored_blocks(hidden, verifier, context):
        won.append(best_pairs(block.take(block.score > held[block.target_row]))[0])
    knocked = Candidates.joined(won)
    text = near.sides[1].whole.tokens()
    save_candidates(job, "knocked", knocked, first)
    job.save(features=features_of(verifier, part.tokens(), text, knocked, context))


def _best_logits(blocks: CandidateBlocks, logits: PairLogits) -> BestLogits:
    """Collect the best logits of each source of some candidates."""
    best = BestLogits(len(blocks.forward))
    for span in blocks.spans(BLOCK):
        block = blocks.block(*span)
        best.add(block.source_row, logits.of(block.source_row, block.target_row))
    return best
