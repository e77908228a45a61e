"""Bounds of a filter by their effect on training, measured on STS (P17, sections 5.5 to 5.7).

For each pair of bounds a model is trained on a fixed number of the paraphrases within them, and
its correlation with human grades is the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner_train.config import TrainConfig
from miner_train.data import prepare
from miner_train.development import GradedPairs, by_grades
from miner_train.loop import Trainer
from miner_train.papers.bounds import Bounds
from miner_train.pipeline import open_tokenizers
from miner_train.stages import Report
from miner_train.vocabulary import learn_vocabularies


@dataclass(frozen=True)
class Tried:
    """Row of a grid: bounds, both inclusive, the number of pairs within them, and the correlation.

    ``correlation`` is None if too few pairs are within the bounds.
    """

    bounds: Bounds
    within: int
    correlation: float | None


def tune(
    pairs: tuple[Sequence[str], Sequence[str]],
    scores: np.ndarray,
    grid: Sequence[Bounds],
    graded: Sequence[GradedPairs],
    config: TrainConfig,
    count: int,
    report: Report = lambda line: None,
) -> list[Tried]:
    """Train on ``count`` of the paraphrases within each of the bounds; return all rows in order.

    ``scores (n,)`` of the pairs may be NaN, which is within no bounds. As in P17, a reference is
    paired with one of its translations within the bounds. No pairs are held out, because the grades
    select the epoch. Raises CorpusError if no bounds hold enough pairs.
    """
    found = []
    numbers: dict[str, int] = {}
    reference = np.array([numbers.setdefault(text, len(numbers)) for text in pairs[0]])
    for low, high in grid:
        generator = np.random.default_rng([config.seed, 9])
        rows = generator.permutation(np.flatnonzero((scores >= low) & (scores <= high)))
        rows = rows[np.unique(reference[rows], return_index=True)[1]]
        value = None
        if len(rows) >= count:
            chosen = np.sort(generator.permutation(rows)[:count]).tolist()
            own = tuple([side[row] for row in chosen] for side in pairs)
            value = correlation(own, graded, config)
        found.append(Tried((low, high), len(rows), value))
        shown = "too few pairs" if value is None else f"correlation {value:.4f}"
        report(f"{low:g} to {high:g}: {len(rows):,} pairs, {shown}")
    if all(one.correlation is None for one in found):
        most = max((one.within for one in found), default=0)
        raise CorpusError(
            f"no bounds hold {count:,} pairs, at most {most:,} do; compare fewer (--pairs)"
        )
    return found


def correlation(
    pairs: tuple[list[str], ...], graded: Sequence[GradedPairs], config: TrainConfig
) -> float:
    """Train on both columns; return the best epoch's correlation with the grades."""
    source, target = pairs
    files = learn_vocabularies([source, target], config, lambda line: None)
    tokenizers = open_tokenizers(files, config.architecture)[0]
    views = list(tokenizers.values())
    data = prepare((views, views), source, target)
    if len(data) < 2:
        raise CorpusError("too few pairs with known words to train on")
    sizes = {units: tokenizer.size for units, tokenizer in tokenizers.items()}
    trainer = Trainer(config, sizes, data, None)
    trainer.development = by_grades(graded, views)
    return trainer.run().best_score
