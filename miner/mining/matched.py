"""Scoring and matching of a search's candidates: the tasks, and the chosen pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining import score_stages, second_stages
from miner.mining.rounds import NeighborLists, Rounds, in_span, load_candidates
from miner.mining.second_stages import KNOCKED, Opinions
from miner.mining.sides import Scorer, each
from miner.precision.decoys import DecoyPairs
from miner.scoring.margin import Candidates
from miner.scoring.pairs import Pairs
from miner.scoring.second_opinion import DOUBTFUL
from miner.scoring.second_reading import SecondReader
from miner.scoring.verifier import FEATURES
from miner.tasks.run import Run
from miner.tasks.task import Result


@dataclass(frozen=True)
class Matched:
    """Matched pairs: the matching task, and the tasks of their features and of the knock-outs.

    Without verification, there are no features; without decoys, no knock-outs; ``opinions`` are the
    second opinion's, or None.
    """

    near: NeighborLists
    task: Result
    features: Sequence[Result] = ()
    knocked: Sequence[Result] = ()
    opinions: Opinions | None = None

    def pairs(self, source: Index, target: Index) -> Pairs:
        """Return the pairs of two indexes, with their features."""
        pairs = load_candidates(self.task.array("0-pairs"))
        return Pairs(
            pairs.score,
            pairs.source_row,
            pairs.target_row,
            pairs.similarity,
            pairs.margin_ratio,
            pairs.forward_rank,
            pairs.backward_rank,
            source,
            target,
            self._features(0, pairs) if self.features else None,
            second=self._second("0", pairs),
        )

    def decoys(self, draws: Sequence[np.ndarray]) -> DecoyPairs:
        """Return the pairs with decoys of all ``draws``, which are rows of the pool."""
        parts = []
        for number, pool in enumerate(draws, 1):
            pairs = load_candidates(self.task.array(f"{number}-pairs"))
            decoy = pool[pairs.target_row - self.near.sides[1].size]
            second = self._second(f"{number}", pairs)
            parts.append(DecoyPairs.of(pairs, self._features(number, pairs), decoy, second))
        return DecoyPairs.joined(parts)

    def knocked_out(self) -> DecoyPairs:
        """Return the pairs of likely sources matched without their partner."""
        parts = []
        for task in self.knocked:
            pairs = load_candidates(task.array(KNOCKED))
            second = self._second(KNOCKED, pairs)
            if self.opinions is not None:
                pairs = replace(pairs, score=self.opinions.scores(KNOCKED, pairs))
            parts.append(DecoyPairs.of(pairs, task.array("features"), pairs.target_row, second))
        return DecoyPairs.joined(parts)

    def _second(self, name: str, pairs: Candidates) -> np.ndarray | None:
        return None if self.opinions is None else self.opinions.of(name, pairs)

    def _features(self, number: int, pairs: Candidates) -> np.ndarray:
        """Collect the features of a round's pairs from all parts, ``(m, f) float32``."""
        values = np.empty((len(pairs), len(FEATURES)), dtype=np.float32)
        for part, task in zip(self.near.sides[0].parts, self.features, strict=True):
            values[in_span(pairs.source_row, part.span)] = task.array(f"{number}-features")
        return values


def score_and_match(
    run: Run,
    near: NeighborLists,
    settings: SearchSettings,
    scorer: Scorer | None,
    second: SecondReader | None,
) -> Matched:
    """Register the tasks that score all candidates and match sources with targets."""
    sources, targets = near.sides
    matching: dict[str, Any] = {
        "units": sources.size + targets.size,
        "targets": targets.size,
        "draws": near.draws,
        "retrieval": settings.retrieval,
    }
    rounds = Rounds(near, settings.margin_function, scorer)
    if scorer is None:
        scores = run.stage("score", score_stages.score, each(sources), rounds=rounds)
        return Matched(near, run.task("match", score_stages.match, parts=scores, **matching))
    verified = run.stage("verify", score_stages.verify, each(sources), rounds=rounds)
    rivals = run.stage(
        "rivals", score_stages.rivals, each(targets), rounds=rounds, verified=verified
    )
    best = run.task(
        "best-logits", score_stages.best_logits, units=targets.size, rounds=rounds, parts=rivals
    )
    shared: dict[str, Any] = {"rounds": replace(rounds, best=best)}
    calls = each(sources, logits=verified)
    scores = run.stage("score", score_stages.score, calls, doubtful=DOUBTFUL, **shared)
    matched = run.task("match", score_stages.match, parts=scores, **matching)
    knocked: list[Result] = []
    if near.draws:
        knocked = run.stage("knock-out", score_stages.knock_out, calls, matched=matched, **shared)
    opinions = None
    if second is not None:
        opinions = second_stages.ask(run, near, scores, knocked, second)
        matched = run.task(
            "second-match", score_stages.match, parts=scores, second=opinions, **matching
        )
    name = "features" if second is None else "second-features"
    features = run.stage(name, score_stages.features, calls, matched=matched, **shared)
    return Matched(near, matched, features, knocked, opinions)
