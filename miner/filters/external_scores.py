"""Filters by external scores and models: costs, good sentences, a classifier."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError, strictly
from miner.filters.filter_types import MODEL, Batch, Context, Filter, FilterSetting, Scorer
from miner.option_values import SIDES
from miner.scoring.classifier import Classifier
from miner.scoring.trigram_lm import Trigrams
from miner.text.bitext import number_in
from miner.text.corpus import CorpusReader
from miner.text.words import tokens

# Sides that a classifier may judge.
JUDGED = (*SIDES, "both")


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
    chosen = [side for side in (0, 1) if settings["of"] in (JUDGED[side], "both")]

    def score(batch: Batch) -> np.ndarray:
        return np.min([classifier.probability(batch.sides[side]) for side in chosen], axis=0)

    return score


FILTERS = (
    Filter(
        "cost",
        "a number in a column, for example a translation's negative log-likelihood per token; "
        "infinite for a blank row",
        "a cost of {value:g}",
        "lower",
        _cost,
        settings={"column": FilterSetting(None, "number or name of the column")},
        columns=("column",),
        paper="Wieting et al. 2017, section 5.6",
    ),
    Filter(
        "perplexity",
        "perplexity of one side per token, by 3-grams of reference sentences, above 1",
        "a perplexity of {value:.0f}",
        "lower",
        _perplexity,
        settings={
            "references": FilterSetting(
                None, "file of good sentences in the language, one a line", file=True
            ),
            "sentences": FilterSetting(
                40_000, "maximum number of sentences to learn from, spread over the file", least=1
            ),
            "of": FilterSetting("target", "side to score", SIDES),
        },
        paper="Wieting et al. 2017, section 5.6",
        range=(1, math.inf),
    ),
    Filter(
        "classifier",
        "probability that a sentence is of the classifier's good kind, 0 to 1; 0.5 if it has no "
        "known token",
        "good with a probability of {value:.2f}",
        "higher",
        _classifier,
        settings={
            "model": FilterSetting(
                None, "directory written by 'miner train-classifier'", file=True
            ),
            "of": FilterSetting(
                "target", "side to judge; both: the lower score of the two", JUDGED
            ),
        },
        stage=MODEL,
        paper="Wieting et al. 2017, section 5.6",
        range=(0, 1),
    ),
)
