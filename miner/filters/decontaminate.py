"""Filters of excluded text, such as test sets: exact copies, near-copies, and meaning."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.crosslingual import encoders_of
from miner.filters.filter_types import Batch, Context, FilterSetting, Scorer
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

# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "without": {"build": _copies},
    "without_vectors": {"build": _meaning},
}
