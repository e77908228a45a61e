"""Scores of pairs by the engine's filters, and what they choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import experiment_text
from benchmarks.models.encoder_text import BILINGUAL, Pair, draw
from benchmarks.models.experiment_metrics import P19, PARAPHRASE, Bench
from miner.filters.filter_types import Batch, Context
from miner.filters.registry import FILTERS
from miner_train.config import TrainConfig

# Pairs that filters look at at a time, and those that margins are taken against.
BLOCK = 8192
REFERENCE = 5000
# Pairs to choose from, at most; of paraphrases there are fewer, and so fewer are chosen.
MOST = 80_000
FEW = 5000


@dataclass(frozen=True)
class Pool:
    """Pairs to choose from.

    sample: pairs that were drawn from the same text before, to train a model of its own on, which
    would know what it was trained on too well to score it. keep: how many to choose.
    """

    name: str
    languages: str
    sample: list[Pair]
    pairs: list[Pair]
    keep: int

    @property
    def config(self) -> TrainConfig:
        return PARAPHRASE if self.languages == experiment_text.ENGLISH else P19

    def own(self, bench: Bench) -> str:
        """The directory of the model of its sample."""
        return str(bench.train(f"{self.name} sample", self.sample, self.config)[0].absolute())


def pool(name: str, bench: Bench) -> Pool:
    """A pool of :data:`text.POOLS`, in an order by the seed."""
    pairs = experiment_text.POOLS[name](bench.data)
    pairs = draw(pairs, len(pairs))
    english = name == experiment_text.ENGLISH
    keep = min(FEW, bench.pairs) if english else bench.pairs
    languages = experiment_text.ENGLISH if english else BILINGUAL
    return Pool(name, languages, pairs[:keep], pairs[keep:][:MOST], keep)


def scores(name: str, pairs: Sequence[Pair], **settings: Any) -> np.ndarray:
    """Score each pair by the filter ``name``: ``(n,) float64``, higher for better pairs."""
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
    """The best by score, at most ``most``; equal ones in their order."""
    return [pairs[row] for row in np.argsort(-score, kind="stable")[:most].tolist()]


def within(pairs: Sequence[Pair], value: np.ndarray, low: float, high: float) -> list[Pair]:
    """The pairs with ``low <= value <= high``, in their order."""
    return [pairs[row] for row in np.flatnonzero((value >= low) & (value <= high)).tolist()]


def parts(pairs: Sequence[Pair], score: np.ndarray, number: int = 10) -> list[list[Pair]]:
    """As many equal parts by score, from the worst; what is left over of the worst is left out."""
    size = len(pairs) // number
    order = np.argsort(score, kind="stable")[len(pairs) - size * number :]
    return [[pairs[row] for row in part.tolist()] for part in order.reshape(number, size)]


def sides(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [source for source, _ in pairs], [target for _, target in pairs]
