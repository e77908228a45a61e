"""Filters on lengths: tokens of a side, ratio of the sides, the longest word."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.filter_types import Batch, Context, Scorer, each
from miner.text.words import other_characters, words_without_spaces

# Characters that a word of a script without spaces counts as: an average English word and a space.
CHARACTERS_A_WORD = 5.5

SIDES = ("source", "target", "shorter", "longer")


def of_side(values: np.ndarray, side: str) -> np.ndarray:
    """Choose values ``(n,)`` of a ``side`` of `SIDES` from both sides ``(2, n)``."""
    if side == "shorter":
        return values.min(axis=0)
    return values.max(axis=0) if side == "longer" else values[SIDES.index(side)]


def _length(settings: Mapping[str, Any], context: Context) -> Scorer:
    return lambda batch: of_side(batch.lengths, settings["of"])


def width(text: str) -> float:
    """Number of characters; in scripts without spaces, `CHARACTERS_A_WORD` for each word."""
    return other_characters(text) + CHARACTERS_A_WORD * words_without_spaces(text)


def _ratio(settings: Mapping[str, Any], context: Context) -> Scorer:
    def score(batch: Batch) -> np.ndarray:
        lengths = np.array([[width(text) for text in side] for side in batch.sides], float)
        lengths = lengths.reshape(2, -1) + settings["slack"]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = lengths.max(axis=0) / lengths.min(axis=0)
        return np.where(lengths.max(axis=0) == 0, 1.0, ratio)

    return score


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "length": {"build": _length},
    "length_ratio": {"build": _ratio},
    "longest_word": {
        "build": each(lambda *sides: max(map(len, " ".join(sides).split()), default=0))
    },
}
