"""Bounds of a filter by their effect on training, measured on STS (P17, sections 5.5 to 5.7).

For each pair of bounds of a grid, a model is trained on a fixed number of the paraphrases within
them, and its correlation with human grades is the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.errors import CorpusError
from miner.filters import ngram_overlap
from miner.filters.external_scores import spread
from miner.scoring.classifier import Classifier
from miner.scoring.trigram_lm import Trigrams
from miner.text.bitext import parse_scores, read_bitext
from miner.text.formats import BitextFormat
from miner.text.words import tokens
from miner_train.config import TrainConfig
from miner_train.data import prepare
from miner_train.development import GradedPairs, by_grades
from miner_train.loop import Trainer
from miner_train.pipeline import open_tokenizers
from miner_train.stages import Report
from miner_train.vocabulary import learn_vocabularies

Bounds = tuple[float, float]
INFINITY = float("inf")
LENGTHS: tuple[Bounds, ...] = (
    *((0, 10), (0, 15), (0, 20), (0, 30), (0, 100), (10, 20), (10, 30), (10, 100)),
    *((15, 25), (15, 30), (15, 100), (20, 30), (20, 100), (30, 100)),
)
# Grid of n-gram overlap and BLEU.
SHARES: tuple[Bounds, ...] = tuple(
    (low, high) for low in (0.0, 0.1, 0.2, 0.3) for high in (0.6, 0.7, 0.8, 0.9, 1.0)
)
COSTS: tuple[Bounds, ...] = tuple((0.0, high / 10) for high in (*range(2, 11), INFINITY))
PROBABILITIES: tuple[Bounds, ...] = tuple((low / 10, 1.0) for low in range(10))
PERPLEXITIES: tuple[Bounds, ...] = tuple(
    (0.0, high) for high in (25.0, 50.0, 75.0, 100.0, 150.0, 200.0, INFINITY)
)
# Sentences to train a trigram model on, for perplexities.
LEARNED = 40_000


def read_scored(
    path: str, by: str, judge: str = ""
) -> tuple[tuple[list[str], list[str]], np.ndarray, tuple[Bounds, ...]]:
    """Read references and translations; return both, the score of each pair, and its grid.

    ``by`` is length of the translation, its perplexity (``judge``: a file of sentences) or its
    probability by a classifier (``judge``: the directory), cost (column 3), bleu, or overlap1 to
    overlap3.
    """
    read = read_bitext(path, None, BitextFormat(), more=["3"] if by == "cost" else [])
    sides = read.source, read.target
    if by == "cost":
        return sides, parse_scores([row[0] for row in read.more], path, read.lines), COSTS
    if by == "classifier":
        return sides, Classifier.load(judge).probability(sides[1]), PROBABILITIES
    words = [[tokens(text) for text in side] for side in sides]
    if by == "length":
        return sides, np.array([*map(len, words[1])], dtype=np.float64), LENGTHS
    if by == "perplexity":
        learned = map(tokens, spread(Path(judge), LEARNED))
        return sides, Trigrams.train(learned, judge).perplexity(words[1]), PERPLEXITIES
    scores = [
        ngram_overlap.sentence_bleu(translation, reference)
        if by == "bleu"
        else ngram_overlap.overlap(reference, translation, int(by[-1]))
        for reference, translation in zip(*words, strict=True)
    ]
    return sides, np.array(scores, dtype=np.float64), SHARES


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
    tried = []
    numbers: dict[str, int] = {}
    reference = np.array([numbers.setdefault(text, len(numbers)) for text in pairs[0]])
    for low, high in grid:
        generator = np.random.default_rng([config.seed, 9])
        rows = generator.permutation(np.flatnonzero((scores >= low) & (scores <= high)))
        rows = rows[np.unique(reference[rows], return_index=True)[1]]
        value = None
        if len(rows) >= count:
            chosen = np.sort(generator.permutation(rows)[:count]).tolist()
            sample = tuple([side[row] for row in chosen] for side in pairs)
            value = correlation(sample, graded, config)
        tried.append(Tried((low, high), len(rows), value))
        shown = "too few pairs" if value is None else f"correlation {value:.4f}"
        report(f"{low:g} to {high:g}: {len(rows):,} pairs, {shown}")
    if all(bounds.correlation is None for bounds in tried):
        most = max((bounds.within for bounds in tried), default=0)
        raise CorpusError(
            f"no bounds hold {count:,} pairs, at most {most:,} do; compare fewer (--pairs)"
        )
    return tried


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
