"""Grids of bounds that P17 tries (sections 5.5 to 5.7), and the scores of paraphrases for them."""

from pathlib import Path

import numpy as np

from miner.filters import ngram_overlap
from miner.filters.external_scores import spread
from miner.scoring.classifier import Classifier
from miner.scoring.trigram_lm import Trigrams
from miner.text.bitext import parse_scores, read_bitext
from miner.text.formats import BitextFormat
from miner.text.words import tokens

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
        return sides, np.array([len(own) for own in words[1]], dtype=np.float64), LENGTHS
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
