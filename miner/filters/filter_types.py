"""Types of a filter: score of a pair, bounds on the score, reason in words."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from miner.encoder.loading import split_name
from miner.text.invisible import visible
from miner.text.language_codes import primary
from miner.text.words import count_tokens, tokens

if TYPE_CHECKING:
    from miner.scoring.named_faults import Fault

T = TypeVar("T")

# Stages of a run, in order. LOCAL filters read single pairs and are cheap. MODEL filters load a
# model, read single pairs (and perhaps a sample of the bitext) and are expensive. GLOBAL filters
# compare all remaining pairs with each other.
LOCAL, MODEL, GLOBAL = range(3)


@dataclass(frozen=True, eq=False)
class Batch:
    """n pairs of a bitext.

    source, target: n texts each, unchanged, perhaps empty or white space. columns: further columns
    of the file that filters read (`Filter.columns`), by name or number as text; n texts each.
    """

    source: Sequence[str]
    target: Sequence[str]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def sides(self) -> tuple[Sequence[str], Sequence[str]]:
        """Sources and targets without invisible characters, as filters read them."""
        source, target = (list(map(visible, side)) for side in (self.source, self.target))
        return source, target

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of either side, ``(2, n) int64``."""
        return np.array([[count_tokens(text) for text in side] for side in self.sides]).reshape(
            2, len(self)
        )

    @cached_property
    def tokens(self) -> tuple[list[list[str]], list[list[str]]]:
        """Lower-case tokens of either side."""
        source, target = ([tokens(text) for text in side] for side in self.sides)
        return source, target


@dataclass(frozen=True)
class Context:
    """Facts about a bitext that filters need besides its pairs.

    source_lang, target_lang: BCP-47 codes, None if unknown. directory: base of relative paths in
    settings. model: directory of the encoder, or ``default``; None also stands for ``default`` if
    the user named none. sample: sources and targets of some pairs of the bitext, for filters that
    compare with it. identified: ISO 639 codes of the identified languages, for models; None if
    unknown.
    """

    source_lang: str | None = None
    target_lang: str | None = None
    directory: Path = Path()
    model: str | None = None
    sample: tuple[Sequence[str], Sequence[str]] = ((), ())
    identified: tuple[str | None, str | None] = (None, None)

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.source_lang, self.target_lang

    @property
    def likely(self) -> tuple[str | None, str | None]:
        """ISO 639 codes of both languages: set by the user, else identified."""
        source, target = (
            primary(code) if code else seen
            for code, seen in zip(self.languages, self.identified, strict=True)
        )
        return source, target

    @property
    def encoder(self) -> str:
        """Directory of the encoder, or ``default``."""
        return self.model or "default"


def place(directory: Path, name: str) -> str:
    """Return the path of a file relative to a directory; names of models are kept."""
    known = name == "default" or split_name(name) is not None
    return name if known else str(directory / name)


# Scorer of a batch: (n,) float, never NaN. `Filter.better` says whether higher or lower is better.
Scorer = Callable[[Batch], np.ndarray]


_NONE = np.empty(0, np.int64)


class Rivals(NamedTuple):
    """Pairs that a GLOBAL filter compares, with data about all remaining pairs.

    rows: ``(m,) int64``, in the whole text. The other fields depend on `Comparison.by`. "best":
    sketches ``(m, length)``, best ``(m, g) int64``, the row of the best pair with the same key in
    its column, and sketches_of, which looks up the sketches of any rows. "place": place ``(m,)``
    among ``total`` pairs by rank, 0 the best. "all": keys ``(m, g) uint64`` of all pairs, rank
    ``(m,) float64``, higher is better, and starts ``(b,) int64``, the first row of each bitext.
    """

    rows: np.ndarray
    sketches: np.ndarray = _NONE
    best: np.ndarray = _NONE
    sketches_of: Callable[[np.ndarray], np.ndarray] = lambda rows: _NONE[rows]
    place: np.ndarray = _NONE
    total: int = 0
    keys: np.ndarray = _NONE
    rank: np.ndarray = _NONE
    starts: np.ndarray = _NONE


class Comparison:
    """GLOBAL filter with its settings; it compares all remaining pairs.

    A text comes in pieces; ``by`` says what the filter needs of them. "best": `keys` of each pair,
    and the best pair of each key. "place": the rank of each pair among all. "all": the `keys` of
    all pairs at once. For a filter with `Filter.names_row` a score is the row of another pair, or
    -1. The first pair wins among equal ranks.
    """

    by = "best"
    # Name, dtype and length of a pair's sketch, which is stored with the pair's scores; None if
    # there is none. Filters that name the same field share one sketch.
    field: tuple[str, str, int] | None = None

    def sketch(self, batch: Batch) -> np.ndarray:
        """Return the sketches of n pairs ``(n, length)``; each depends only on its pair."""
        return np.zeros((len(batch), 0))

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        """Return the keys ``(m, g) uint64`` of pairs with these sketches."""
        raise TypeError("a filter by keys defines keys()")

    def scores(self, rivals: Rivals) -> np.ndarray:
        """Return the scores ``(m,)`` of pairs."""
        raise NotImplementedError


@dataclass(frozen=True)
class FilterSetting:
    """Setting of a filter besides its bounds: its default, its type (the default's), its help.

    A default of None marks a required text. choices: allowed values, if restricted. least: minimum
    of a number. file: the value names a file or a directory whose content affects scores. score:
    the value is the label of another filter, whose score ranks the pairs for this filter.
    """

    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    file: bool = False
    score: bool = False


@dataclass(frozen=True)
class Filter:
    """One filter: a row of the table that ``miner filter --list`` prints.

    name: as in the configuration. summary: the score, with unit and range. reason: why a pair was
    removed; ``{value}`` is its score, ``{bound}`` the bound it broke. better: "higher" or "lower".
    build: settings and context to a `Scorer`, or to a `Comparison` for a GLOBAL filter; called once
    in each process. minimum, maximum: default bounds, both inclusive; None for none. range: least
    and greatest score. settings: the settings it takes. stage: LOCAL, MODEL or GLOBAL. columns: the
    settings that name a column of the file. languages: it needs both languages. default: it runs
    without a configuration. whole: scores are whole numbers. sampled: it compares with
    `Context.sample`. names_row: the score is the line of another pair, 0 for none. relative: a
    GLOBAL filter whose score changes when worse pairs are removed. mono: it is for text in one
    language, too. libraries: distributions whose
    version scores depend on. paper: the source. faults: makes a function that names what is wrong
    with removed pairs, where it is known. bounds: makes a function for the minimum of each pair in
    a text of several languages, NaN where it is unknown.
    """

    name: str
    summary: str
    reason: str
    better: str
    build: Callable[[Mapping[str, Any], Context], Any]
    minimum: float | None = None
    maximum: float | None = None
    range: tuple[float, float] = (-math.inf, math.inf)
    settings: Mapping[str, FilterSetting] = field(default_factory=dict)
    stage: int = LOCAL
    columns: tuple[str, ...] = ()
    languages: bool = False
    default: bool = False
    whole: bool = False
    sampled: bool = False
    names_row: bool = False
    relative: bool = False
    mono: bool = False
    libraries: tuple[str, ...] = ()
    paper: str = ""
    faults: Callable[[Mapping[str, Any], Context], Callable[[Batch], "list[Fault]"]] | None = None
    bounds: Callable[[Mapping[str, Any], Context], Scorer] | None = None

    def outside(self, bound: float) -> str | None:
        """Return the reason why a bound is useless, None if it is in the range of scores."""
        low, high = self.range
        if low <= bound <= high:
            return None
        ends = f"{low:g} to {high:g}" if high < math.inf else f"{low:g} or more"
        return f"{bound:g} is outside of the scores of {self.name}, which are {ends}"


def each(function: Callable[[str, str], float]) -> Callable[[Any, Any], Scorer]:
    """Return a `Filter.build` without settings from a function of source and target."""

    return lambda settings, context: lambda batch: scores_by(function, *batch.sides)


def scores_by(
    function: Callable[[T, T], float], source: Sequence[T], target: Sequence[T]
) -> np.ndarray:
    """Score n pairs by a function of both sides: ``(n,) float64``."""
    return np.fromiter(map(function, source, target), np.float64, len(source))
