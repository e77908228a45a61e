"""Filters by external scores and models: costs, good sentences, a classifier."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError, strictly
from miner.filters.filter_types import Batch, Context, Scorer
from miner.option_values import SIDES
from miner.scoring.classifier import Classifier
from miner.scoring.trigram_lm import Trigrams
from miner.text.bitext import number_in
from miner.text.corpus import CorpusReader
from miner.text.words import tokens

# Sides that a classifier may judge.


def _cost(settings: Mapping[str, Any], context: Context) -> Scorer:
    column = settings["column"]

    def score(batch: Batch) -> np.ndarray:
        out = np.full(len(batch), np.inf)
        rows = zip(batch.columns[column], *batch.sides, strict=True)
        for row, (text, *sides) in enumerate(rows):
            # An unreadable row is blank and without cost; it is removed as the worst.
            if not (text or any(sides)):
                continue
            out[row] = number_in(text)
            if np.isnan(out[row]):
                raise CorpusError(
                    f"column {column}: {text!r} is not a cost; every row must have a number there"
                )
        return out

    return score


def spread(path: Path, most: int) -> Iterator[str]:
    """Yield at most ``most`` sentences of a corpus, evenly spread over the file.

    The file is read twice instead of being held in memory. Raises the errors of `CorpusReader`.
    """
    reader = CorpusReader(path)
    total = sum(len(block) for block in reader)
    most, row = min(most, total), 0
    for block in reader:
        for sentence in block.sentences:
            if row * most // total < (row + 1) * most // total:
                yield sentence
            row += 1


def _perplexity(settings: Mapping[str, Any], context: Context) -> Scorer:
    path, most = context.directory / settings["references"], settings["sentences"]
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise CorpusError(
            f"{path}: references must be a file, since every process reads them twice; "
            "write them to one"
        )
    with strictly():
        model = Trigrams.train(map(tokens, spread(path, most)), str(path))
    side = SIDES.index(settings["of"])

    def score(batch: Batch) -> np.ndarray:
        sentences = batch.tokens[side]
        values = model.perplexity(sentences)
        # An empty text is not fluent, even if the model predicts an immediate end.
        values[[not words for words in sentences]] = model.unknown
        return values

    return score


def _classifier(settings: Mapping[str, Any], context: Context) -> Scorer:
    # One thread, because a run has a process for each of its threads.
    classifier = Classifier.load(context.directory / settings["model"], threads=1)
    chosen = [side for side in (0, 1) if settings["of"] in (SIDES[side], "both")]

    def score(batch: Batch) -> np.ndarray:
        return np.min([classifier.probability(batch.sides[side]) for side in chosen], axis=0)

    return score


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "cost": {"build": _cost},
    "perplexity": {"build": _perplexity},
    "classifier": {"build": _classifier},
}
