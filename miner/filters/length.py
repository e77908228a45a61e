"""Filters on lengths: tokens of a side, ratio of the sides, the longest word."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.filter_types import Batch, Context, Filter, FilterSetting, Scorer, each
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


FILTERS = (
    Filter(
        "length",
        "words of one side, estimated from letters in scripts without spaces",
        "{value:.0f} words",
        "lower",
        _length,
        maximum=200,
        settings={"of": FilterSetting("longer", "side to count", SIDES)},
        default=True,
        whole=True,
        paper="Wieting et al. 2017, section 5.5",
        range=(0, math.inf),
    ),
    Filter(
        "length_ratio",
        "characters of the longer side divided by the shorter side's, from 1; a word in a script "
        f"without spaces counts as {CHARACTERS_A_WORD}",
        "one side is {value:.1f} times as long as the other",
        "lower",
        _ratio,
        maximum=3.0,
        settings={
            "slack": FilterSetting(
                15.0, "characters added to both sides, because short sentences differ more", least=0
            )
        },
        default=True,
        range=(1, math.inf),
    ),
    Filter(
        "longest_word",
        "characters of the longest run without a space, on either side",
        "a word of {value:.0f} characters",
        "lower",
        each(lambda *sides: max(map(len, " ".join(sides).split()), default=0)),
        whole=True,
        range=(0, math.inf),
    ),
)
