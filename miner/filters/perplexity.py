"""The perplexity filter: fluency of one side, by a language model of reference sentences."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError, strictly
from miner.filters.filter_types import Batch, Context, Filter, Scorer, Setting
from miner.scoring.trigram_lm import Trigrams
from miner.text.corpus import Reader
from miner.text.words import tokens

SIDES = ("source", "target")


def spread(path: Path, most: int) -> Iterator[str]:
    """Yield at most ``most`` sentences of a corpus, evenly spread over the file.

    The file is read twice instead of being held in memory. Raises the errors of `Reader`.
    """
    reader = Reader(path)
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
        # An empty text is not fluent, even if the model thinks an immediate end likely.
        values[[not words for words in sentences]] = model.unknown
        return values

    return score


FILTERS = (
    Filter(
        "perplexity",
        "perplexity of one side per token, by 3-grams of reference sentences, above 1",
        "a perplexity of {value:.0f}",
        "lower",
        _perplexity,
        settings={
            "references": Setting(
                None, "file of good sentences in the language, one a line", file=True
            ),
            "sentences": Setting(
                40_000, "number of them to learn from, spread over the file", least=1
            ),
            "of": Setting("target", "which side is scored", SIDES),
        },
        paper="Wieting et al. 2017, section 5.6",
    ),
)
