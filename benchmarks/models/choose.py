"""Score pairs of a pool by the filters of the engine, and choose pairs by score."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.experiment_metrics import P19, PARAPHRASE, ExperimentBench
from benchmarks.models.training_text import BILINGUAL, ENGLISH, POOLS, Pair, draw
from miner.filters.filter_types import Batch, Context
from miner.filters.registry import FILTERS
from miner_train.config import TrainConfig

# Pairs scored at a time, and pairs of the sample that margins are computed against.
BLOCK = 8192
REFERENCE = 5000
# Maximum pairs to choose from, and paraphrases to choose.
MOST = 80_000
FEW = 5000


@dataclass(frozen=True)
class Pool:
    """Pairs to choose from.

    sample: other pairs of the same text, to train the pool's own model on. It must not score pairs
    that it was trained on. keep: the number to choose.
    """

    name: str
    languages: str
    sample: list[Pair]
    pairs: list[Pair]
    keep: int

    @property
    def config(self) -> TrainConfig:
        return PARAPHRASE if self.languages == ENGLISH else P19

    def own(self, bench: ExperimentBench) -> str:
        """Return the directory of a model trained on the sample."""
        text = bench.text(self.name, "sample", self.sample)
        return str(bench.model(text, self.config)[0].absolute())


def pool(name: str, bench: ExperimentBench) -> Pool:
    """Return a pool of :data:`training_text.POOLS`, shuffled by the seed."""
    pairs = POOLS[name](bench.data)
    pairs = draw(pairs, len(pairs))
    english = name == ENGLISH
    keep = min(FEW, bench.pairs) if english else bench.pairs
    languages = ENGLISH if english else BILINGUAL
    return Pool(name, languages, pairs[:keep], pairs[keep:][:MOST], keep)


def scores(name: str, pairs: Sequence[Pair], **settings: Any) -> np.ndarray:
    """Score each pair by the filter ``name``: ``(n,) float64``, higher is better."""
    entry = FILTERS[name]
    every = {key: setting.default for key, setting in entry.settings.items()} | settings
    reference = [pairs[row] for row in np.linspace(0, len(pairs) - 1, REFERENCE, dtype=int)]
    score = entry.build(every, Context("fr", "en", Path(), sample=sides(reference)))
    parts = [
        np.asarray(score(Batch(*sides(pairs[start : start + BLOCK]))), dtype=np.float64)
        for start in range(0, len(pairs), BLOCK)
    ]
    return np.concatenate(parts) * (1 if entry.better == "higher" else -1)


def top(pairs: Sequence[Pair], score: np.ndarray, most: int) -> list[Pair]:
    """Return the ``most`` pairs with the highest scores; equal scores keep their order."""
    return [pairs[row] for row in np.argsort(-score, kind="stable")[:most].tolist()]


def within(pairs: Sequence[Pair], value: np.ndarray, low: float, high: float) -> list[Pair]:
    """Return the pairs with ``low <= value <= high``, in their order."""
    return [pairs[row] for row in np.flatnonzero((value >= low) & (value <= high)).tolist()]


def parts(pairs: Sequence[Pair], score: np.ndarray, number: int = 10) -> list[list[Pair]]:
    """Cut pairs into equal parts by score, worst first; drop the remainder of worst pairs."""
    size = len(pairs) // number
    order = np.argsort(score, kind="stable")[len(pairs) - size * number :]
    return [[pairs[row] for row in part.tolist()] for part in order.reshape(number, size)]


def sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [source for source, _ in pairs], [target for _, target in pairs]
