"""The classifier filter: a classifier that the user has trained, applied to either side."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.filter_types import MODEL, Batch, Context, Filter, Scorer, Setting
from miner.scoring.classifier import Classifier

OF = ("source", "target", "both")


def _classifier(settings: Mapping[str, Any], context: Context) -> Scorer:
    # One thread, since a run has one process for each of its threads.
    classifier = Classifier.load(context.directory / settings["model"], threads=1)
    chosen = [side for side in (0, 1) if settings["of"] in (OF[side], "both")]

    def score(batch: Batch) -> np.ndarray:
        return np.min([classifier.probability(batch.sides[side]) for side in chosen], axis=0)

    return score


FILTERS = (
    Filter(
        "classifier",
        "probability that a sentence is of the classifier's good kind, 0 to 1; 0.5 if it has no "
        "known token",
        "good with a probability of {value:.2f}",
        "higher",
        _classifier,
        settings={
            "model": Setting(None, "directory that 'miner train-classifier' made", file=True),
            "of": Setting("target", "which side is judged; both: the lower of the two", OF),
        },
        stage=MODEL,
        paper="Wieting et al. 2017, section 5.6",
    ),
)
