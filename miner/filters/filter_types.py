"""What a filter is: a score for every pair, the bounds it must keep, and a reason in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from miner.text.words import count_tokens, tokens

# The stages of a cleaning. What LOCAL filters look at is the pair alone, and they are cheap; MODEL
# filters load a model, look at the pair (and at a reference that is drawn from the bitext), and are
# dear; GLOBAL ones compare every pair that is left with all others. They run in this order.
LOCAL, MODEL, GLOBAL = range(3)


@dataclass(frozen=True, eq=False)
class Batch:
    """n pairs of a bitext.

    source, target: n texts each, which may be empty or white space. columns: further columns of
    the file that filters asked for (`Filter.columns`), by name or number as text; n texts each.
    """

    source: Sequence[str]
    target: Sequence[str]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sides(self) -> tuple[Sequence[str], Sequence[str]]:
        return self.source, self.target

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of either side, ``(2, n) int64``."""
        return np.array([[count_tokens(text) for text in side] for side in self.sides]).reshape(
            2, len(self)
        )

    @cached_property
    def tokens(self) -> tuple[list[list[str]], list[list[str]]]:
        """The tokens of either side, in lower case."""
        source, target = ([tokens(text) for text in side] for side in self.sides)
        return source, target


@dataclass(frozen=True)
class Context:
    """What a cleaning knows beside the pairs.

    source_lang, target_lang: BCP-47 codes, or None where nobody said. directory: what relative
    paths in settings are relative to. model: directory of the encoder, or ``default``. sample:
    sources and targets of some pairs of the text itself, for filters that compare with it.
    """

    source_lang: str | None = None
    target_lang: str | None = None
    directory: Path = Path()
    model: str = "default"
    sample: tuple[Sequence[str], Sequence[str]] = ((), ())

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.source_lang, self.target_lang


# Scores of a batch: (n,) float, none of them NaN. Higher or lower is better, as the filter says.
Scorer = Callable[[Batch], np.ndarray]


@dataclass(frozen=True)
class Setting:
    """A setting of a filter beside its bounds: the default, whose type all values have, and help.

    A default of None is a text that must be given. ``choices``: the values there are, if any.
    ``least``: of numbers, the least there may be. ``file``: whether it names a file or a directory,
    whose content scores depend on.
    """

    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    file: bool = False


@dataclass(frozen=True)
class Filter:
    """One filter: a row of the table that ``miner filter --list`` prints.

    name: as in the configuration. summary: what the score is, with unit and range. reason: why a
    pair was removed, in words; ``{value}`` is its score, ``{bound}`` the bound it broke.
    minimum, maximum: default bounds, both inclusive; None for none. better: "higher" or "lower".
    build: settings and context to a scorer; called once in each process. settings: what it takes.
    stage: LOCAL, MODEL or GLOBAL. sampled: whether it compares with `Context.sample`.
    columns: the settings that name a column of the file. languages: whether it needs to know the
    languages. default: whether it runs where no configuration says which do. whole: whether scores
    are whole numbers. paper: where it is from.
    """

    name: str
    summary: str
    reason: str
    better: str
    build: Callable[[Mapping[str, Any], Context], Scorer]
    minimum: float | None = None
    maximum: float | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    stage: int = LOCAL
    columns: tuple[str, ...] = ()
    languages: bool = False
    default: bool = False
    whole: bool = False
    sampled: bool = False
    paper: str = ""


def each(function: Callable[[str, str], float]) -> Callable[[Any, Any], Scorer]:
    """A `Filter.build` without settings, of a function of source and target."""

    def score(batch: Batch) -> np.ndarray:
        pairs = zip(batch.source, batch.target, strict=True)
        return np.fromiter((function(s, t) for s, t in pairs), np.float64, len(batch))

    return lambda settings, context: score


def compared(settings: Mapping[str, Any], context: Context) -> Scorer:
    """The `Filter.build` of GLOBAL filters, which score no pair by itself."""
    raise TypeError("this filter compares all pairs with each other")
