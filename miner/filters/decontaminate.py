"""Filters of excluded text, such as test sets: exact copies, near-copies, and meaning."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.crosslingual import MODEL_SETTING, encoders_of
from miner.filters.filter_types import MODEL, Batch, Context, Filter, FilterSetting, Scorer
from miner.scoring.decontaminate import Unwanted


def _copies(settings: Mapping[str, Any], context: Context) -> Scorer:
    near = settings["near"] or None
    unwanted = Unwanted(context.directory / settings["file"], near)
    return lambda batch: _first(*map(unwanted.lines, batch.sides))


def _meaning(settings: Mapping[str, Any], context: Context) -> Scorer:
    encoder, _ = encoders_of(settings, context)
    path = context.directory / settings["file"]
    unwanted = Unwanted(path, cosine=settings["cosine"], encoder=encoder)

    def lines(batch: Batch) -> np.ndarray:
        return _first(*(unwanted.lines_by_meaning(s, i) for i, s in enumerate(batch.sides)))

    return lines


def _first(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.where(source > 0, source, target)


_FILE = FilterSetting(None, "file of text to exclude", file=True)

FILTERS = (
    Filter(
        "without",
        "line of the file with a sentence of either side, 0 for none [--without]",
        "is in line {value:.0f} of the file",
        "lower",
        _copies,
        maximum=0,
        settings={
            "file": _FILE,
            "near": FilterSetting(
                0.0,
                "minimum share of common runs of five characters in a near-copy [none]",
                least=0,
            ),
        },
        whole=True,
        libraries=("rensa",),
        paper="Broder 1997",
        range=(0, math.inf),
    ),
    Filter(
        "without_vectors",
        "line of the file whose sentence has a similar vector to either side, 0 for none "
        "[--near-vectors]",
        "means the same as line {value:.0f} of the file",
        "lower",
        _meaning,
        maximum=0,
        settings={
            "file": _FILE,
            "cosine": FilterSetting(0.6, "least cosine", least=0),
            "model": MODEL_SETTING,
        },
        stage=MODEL,
        whole=True,
        libraries=("sentencepiece",),
        range=(0, math.inf),
    ),
)
