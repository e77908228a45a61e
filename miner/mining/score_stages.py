"""Stages that score candidates and match them: verify, rivals, best logits, score, match.

They go through the rounds of :mod:`miner.mining.rounds`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from miner.mining.rounds import (
    Found,
    Round,
    SourcePart,
    Verified,
    in_span,
    load_candidates,
    save_candidates,
)
from miner.mining.second_stages import Opinions, keys
from miner.mining.sides import Part, Scorer
from miner.mining.transposed import rival_parts
from miner.precision.knock_out import LIKELY
from miner.scoring.context_features import BestLogits
from miner.scoring.margin import Candidates, Retrieval, best_pairs
from miner.scoring.second_opinion import DOUBTFUL
from miner.scoring.verification import BLOCK, Context, PairLogits, candidate_logits, scored_blocks
from miner.scoring.verification import features as features_of
from miner.tasks.task import Job, Result, hints

# Number of best pairs of a part collected before only the best of each target are kept.
COLLECTED = 1 << 21


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
def best_logits(job: Job, found: Found, parts: list[Result]) -> None:
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

    Scores are probabilities, or margins without a ``scorer``. Of probabilities, all candidates that
    a second opinion may be asked about are kept, too.
    """
    verifier = None if scorer is None else scorer.open(job.threads)
    source = SourcePart(found, part, margin, verifier)
    for one in source.rounds():
        forward, backward, likely = ([Candidates.zeros(0)] for _ in range(3))
        for block in _scored(one, verified):
            best = best_pairs(block)
            forward.append(best[0])
            backward.append(best[1])
            if scorer is not None:
                likely.append(block.take(block.score >= DOUBTFUL))
            if sum(map(len, backward)) > COLLECTED:
                backward = [best_pairs(Candidates.joined(backward))[1]]
        backward = [best_pairs(Candidates.joined(backward))[1]]
        kept = {"forward": forward, "backward": backward, "likely": likely}
        for name, pairs in ((name, Candidates.joined(own)) for name, own in kept.items()):
            rows = replace(pairs, source_row=pairs.source_row + source.span[0])
            save_candidates(job, f"{one.number}-{name}", rows)


def _scored(one: Round, verified: Verified | None) -> Iterator[Candidates]:
    """Yield the blocks of a part's candidates with their scores."""
    if verified is not None:
        context_of = one.context_of(verified)
        yield from scored_blocks(one.blocks, one.verifier, context_of)
    else:
        for rows in one.blocks.spans(BLOCK):
            yield one.blocks.block(*rows)


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
def features(
    job: Job,
    found: Found,
    part: Part,
    margin: str,
    scorer: Scorer,
    verified: Verified,
    matched: Result,
    knocks_out: bool = True,
) -> None:
    """Compute the features of the matched pairs of a part, in the order of the pairs.

    With decoys, sources are also matched without their partner, unless ``knocks_out`` is False.
    """
    source = SourcePart(found, part, margin, scorer.open(job.threads))
    for one in source.rounds():
        pairs = matched.array(f"{one.number}-pairs")
        own = load_candidates(pairs[in_span(pairs["source_row"], source.span)])
        own = replace(own, source_row=own.source_row - source.span[0])
        context_of = one.context_of(verified)
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
    if found.decoys is not None and knocks_out:
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
    context_of = one.context_of(verified, hidden)
    won = [Candidates.zeros(0)]
    for block in scored_blocks(hidden, one.verifier, context_of):
        won.append(best_pairs(block.take(block.score > held[block.target_row]))[0])
    knocked = Candidates.joined(won)
    computed = features_of(one.verifier, part.text, one.target_text, knocked, context_of)
    save_candidates(job, "knocked", replace(knocked, source_row=knocked.source_row + first))
    job.save(**{"knocked-features": computed})
