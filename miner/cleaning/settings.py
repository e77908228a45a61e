"""Settings of filtering, of the selection of the best pairs, and of a split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from miner.config_fields import SettingsError, check, no_option, option
from miner.scoring.decontaminate_settings import NOTHING, Without

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Selection:
    """Choice of the best pairs that the filters leave, by the score that ranks.

    ``top``, ``words`` and ``precision`` are limits, of which the strictest counts; None is none.
    The others become filters (`FilterConfig.selecting`). Raises ValueError for a range that is
    none, and SettingsError for a mixture without ``top``, or of two kinds.
    """

    top: int | None = option(
        None, "Keep the N best pairs.", option="--top-n", kind="count", metavar="N"
    )
    words: int | None = option(
        None,
        "Keep the best pairs, up to N words on the target side (5M for five million).",
        option="--target-words",
        kind="count",
        metavar="N",
    )
    precision: float | None = option(
        None,
        "Keep as many pairs as possible with a mean quality, the estimated share of good pairs, "
        "of at least P. Mostly too strict if the noise differs from that in the model's "
        "training.",
        option="--target-precision",
        kind="share",
        metavar="P",
    )
    per_source: int | None = option(
        None, "Keep the N best pairs of each source sentence.", within="[1, inf)", metavar="N"
    )
    percentile: str | None = option(
        None,
        "Keep this percentile range of the ranking (0 = worst): 10:60.",
        option="--keep-percentile",
        metavar="LOW:HIGH",
    )
    balance: str | None = option(
        None,
        "Take the --top-n pairs in equal numbers from bins of five target tokens, as long as "
        "they last.",
        choices=("length",),
    )
    temperature: float | None = option(
        None,
        "Take the --top-n pairs from several BITEXTs: a BITEXT of n pairs gets a share of n ** "
        "(1 / T); 1 is in proportion, higher values favour small ones.",
        within="[1, inf)",
        metavar="T",
    )

    def __post_init__(self) -> None:
        check(self)
        if self.percentile is not None and not 0 <= self.range[0] < self.range[1] <= 100:
            raise ValueError(f"percentile = {self.percentile!r} is not LOW:HIGH, such as 10:60")
        if self.mixes and self.top is None:
            raise SettingsError("--balance and --temperature share out --top-n pairs; give it")
        if self.balance and self.temperature:
            raise SettingsError("--balance and --temperature are two mixtures; give one of them")

    @property
    def mixes(self) -> bool:
        return bool(self.balance or self.temperature)

    @property
    def range(self) -> tuple[float, float]:
        """Bounds of ``percentile``; in descending order if it is invalid."""
        low, _, high = str(self.percentile).partition(":")
        try:
            return float(low), float(high)
        except ValueError:
            return 100.0, 0.0

    def of_a(self, share: float) -> Selection:
        """Scale the counts to a sample with this share of the text."""
        top, words = (
            None if count is None else round(count * share) for count in (self.top, self.words)
        )
        return replace(self, top=top, words=words)

    @property
    def any(self) -> bool:
        return self != EVERYTHING

    @property
    def limits(self) -> list[tuple[str, str]]:
        """Return label and bound, as text, of each limit."""
        found = [] if self.top is None else [("top-n", f"{self.top:,}")]
        found += [] if self.words is None else [("target-words", f"{self.words:,}")]
        share = self.precision
        return found + ([] if share is None else [("target-precision", f">= {share:g}")])


EVERYTHING = Selection()


@dataclass(frozen=True)
class FilterSettings:
    """Settings of a filter run besides its filters; the options describe them."""

    dry_run: int | None = option(
        None,
        "Try all filters on an evenly spread sample of N rows; write no rows. Workers that need "
        "--work DIR then share DIR.sample.",
        kind="count",
        metavar="N",
    )
    repair: bool = option(
        False,
        "Repair broken encoding (Ã¤ for ä), entities and control characters, in the output too.",
    )
    mono: bool = option(
        False,
        "BITEXT is text in the language --source-lang, one text a row, or in the column --scol; "
        "filters that compare two sides are dropped.",
    )
    paragraphs: bool = option(
        False,
        "Align the sentences inside a row of several, and score it by its worst and mean one "
        "(extra: split).",
    )
    all_scores: bool = option(False, "Let expensive filters score rejected rows too.")
    threshold: float | None = option(
        None,
        "Minimum ranking score; for the quality [the model's bound for the languages, else 0.1].",
        kind="number",
    )
    labels: str | None = option(
        None,
        "Answers of 'miner review', or a sheet of them, to which the quality is fitted.",
        metavar="FILE",
    )
    lid: str | None = option(
        None,
        "fastText model that identifies languages, such as OpenLID or GlotLID (extra: lid).",
        metavar="FILE",
    )
    like: str | None = option(
        None,
        "Sample of clean rows, in the format of BITEXT. Bounds that the configuration does not set "
        "are fitted so that each filter drops --like-share of the sample.",
        metavar="FILE",
    )
    like_share: float = option(
        0.01, "Share of the rows of --like that a filter may drop.", kind="share", metavar="S"
    )
    selection: Selection = no_option(EVERYTHING, "options of its own")
    without: Without = no_option(NOTHING, "options of its own")

    def __post_init__(self) -> None:
        check(self)
        if self.like is None and self.like_share != type(self).like_share:
            raise ValueError(f"like_share = {self.like_share} is a share of the rows of 'like'")


class Limits:
    """Number of pairs that each limit of a selection keeps, counted over parts, best pairs first.

    ``kept`` has a number for each of :attr:`Selection.limits`.
    """

    def __init__(self, selection: Selection):
        self.selection = selection
        self._words, self._rank, self._done = 0, 0.0, 0
        self.kept = dict.fromkeys((label for label, _ in selection.limits), 0)

    def add(self, rank: np.ndarray, words: np.ndarray) -> None:
        """Add the next pairs: their rank score ``(m,) float64`` and tokens ``(m,)``."""
        import numpy as np

        selection, before, self._done = self.selection, self._done, self._done + len(rank)
        if selection.top is not None:
            self.kept["top-n"] = min(selection.top, self._done)
        if selection.words is not None:
            sums = np.cumsum(np.append(self._words, words.astype(np.int64)))
            self.kept["target-words"] += int(np.count_nonzero(sums[1:] <= selection.words))
            self._words = int(sums[-1])
        if selection.precision is not None:
            total = np.cumsum(np.append(self._rank, rank))
            means = total[1:] / np.arange(before + 1, self._done + 1)
            # Means of a descending list descend.
            self.kept["target-precision"] += int(np.count_nonzero(means >= selection.precision))
            self._rank = float(total[-1])


@dataclass(frozen=True)
class Split:
    """Sizes of the parts of a split, and which rows are kept together.

    dev, test: numbers of rows, or shares of all rows if below 1. near: minimum share of common runs
    of five characters for rows to be kept together; 1 compares for equality. documents: column
    whose equal cells are kept together.
    """

    dev: float = option(2000, "Development rows; below 1, a share.", kind="number", metavar="N")
    test: float = option(2000, "Test rows; below 1, a share.", kind="number", metavar="N")
    near: float = option(
        0.7,
        "Keep rows together whose sentences share S of their runs of five characters; 1: only "
        "rows with an equal sentence.",
        within="[0.5, 1]",
        metavar="S",
    )
    documents: str | None = option(
        None,
        "Column of documents, which are kept together too.",
        option="--document-col",
        metavar="N|NAME",
    )
    seed: int = option(1, "Seed: another number makes another split.")

    def __post_init__(self) -> None:
        check(self)
        for name, size in (("dev", self.dev), ("test", self.test)):
            if not 0 <= size < float("inf") or (size > 1 and size != int(size)):
                raise ValueError(f"{name} = {size} is no number of rows, and no share below 1")
        if max(self.dev, self.test) < 1 <= self.dev + self.test:
            raise ValueError(
                f"dev = {self.dev} and test = {self.test} leave nothing for training; give "
                "shares below 1 together, or numbers of rows"
            )
