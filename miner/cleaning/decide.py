"""Decision on each row from its scores: the result of a run, and its funnel."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from miner.cleaning.config import FilterConfig, Step
from miner.cleaning.scorers import broken
from miner.cleaning.settings import Limits, Selection
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL
from miner.text.layout import UNREADABLE

# Reason for rows that could not be read; not a filter.
UNREAD = "unreadable"
# Rows of scores processed together.
PART = 1 << 20


@dataclass(frozen=True)
class FunnelRow:
    """Row of the funnel: one filter.

    label, bounds: as text. seen: pairs it scored. alone: pairs it would remove by itself. removed:
    pairs it removed, which no earlier filter did; removed_words: their target tokens. left,
    left_words: remaining pairs and tokens. seconds: processor time in this run.
    """

    label: str
    bounds: str
    seen: int
    alone: int
    removed: int
    removed_words: int
    left: int
    left_words: int
    seconds: float


class Cleaned:
    """Scores of the rows of a text, or of a piece of it, and the decision on every row.

    config: filters that ran. local, model: records ``(n,)`` of `Scoring.dtype`; model is None
    without MODEL filters. removed: ``(n,) int16``, -1 for a kept row, else the index in `reasons`
    of the filter that removed it. stages: the funnel.
    """

    def __init__(
        self,
        config: FilterConfig,
        local: np.ndarray,
        model: np.ndarray | None,
        seconds: dict[str, float],
    ):
        self.config = config
        self.local, self.model = local, model
        self.count = len(local)
        self.seconds = seconds
        self.removed = np.full(self.count, -1, dtype=np.int16)
        # Scores of GLOBAL filters by label, (n,) float64; NaN for pairs that were not compared.
        self.compared: dict[str, np.ndarray] = {}
        self.reasons: list[str] = []
        self.stages: list[FunnelRow] = []

    @cached_property
    def state(self) -> np.ndarray:
        """State of each row when it was read, ``(n,) uint8``, see `miner.text.layout`."""
        return np.array(self.local["state"][:, 0])

    @cached_property
    def words(self) -> np.ndarray:
        """Target tokens, ``(n,) uint32``."""
        return np.array(self.local["tokens"][:, 1])

    @property
    def kept(self) -> np.ndarray:
        """Mask of the kept rows, ``(n,) bool``."""
        return self.removed < 0

    def scores(self, label: str) -> np.ndarray:
        """Return the scores of a step, ``(n,)``; NaN for rows it did not score.

        Raises KeyError for an unknown label, or a GLOBAL step that has not run yet.
        """
        if label in self.compared:
            return self.compared[label]
        for stage, table in ((LOCAL, self.local), (MODEL, self.model)):
            labels = [step.label for step in self.config.stage(stage)]
            if label in labels:
                assert table is not None
                return np.asarray(table["score"][:, labels.index(label)])
        raise KeyError(label)

    def broken(self, step: Step, rows: slice = slice(None)) -> np.ndarray:
        """Return a mask of ``rows`` whose score breaks the bounds of a step, ``(m,) bool``."""
        values = self.scores(step.label)[rows]
        if not step.by_row:
            return broken([step], values[:, None])[:, 0]
        assert self.model is not None
        bounded = [
            other.label for other in self.config.stage(MODEL) if other.filter.bounds is not None
        ]
        row_bounds = self.model["bound"][rows, bounded.index(step.label)]
        return np.asarray(
            values < np.where(np.isnan(row_bounds), np.float32(step.minimum), row_bounds)
        )

    @cached_property
    def rank(self) -> np.ndarray | None:
        """Return the ranking score, ``(n,) float64``, higher is better; None without one."""
        step = self.config.ranking
        if step is None:
            return None
        return self.ranked(step)

    def ranked(self, step: Step) -> np.ndarray:
        """Return the scores of a step, ``(n,) float64``, negated if lower ones are better."""
        values = self.scores(step.label).astype(np.float64)
        return values if step.filter.better == "higher" else -values

    def value(self, row: int) -> float | int:
        """Return the score that removed a row."""
        step, scores = self._causes[self.removed[row]]
        return 1 if step is None else rounded(step, float(scores[row]))

    @cached_property
    def _causes(self) -> list[tuple[Step | None, np.ndarray]]:
        """Return for each reason the step that removed rows (None for unreadable ones) and its
        scores.
        """
        steps = {step.label: step for step in self.config.steps}
        causes: list[tuple[Step | None, np.ndarray]] = []
        for label in self.reasons:
            # Reasons that are no filter, such as top-n, show the ranking score.
            step = None if label == UNREAD else steps.get(label, self.config.ranking)
            causes.append((step, self.words if step is None else self.scores(step.label)))
        return causes

    def _remove(
        self, label: str, bounds: str, seen: np.ndarray, bad: np.ndarray, seconds: float = 0.0
    ) -> None:
        """Record a filter's removals: the remaining rows in the mask ``bad (n,)``."""
        left = self.removed < 0
        gone = left & bad
        self.removed[gone] = len(self.reasons)
        self.reasons.append(label)
        left &= ~bad
        self.stages.append(
            FunnelRow(
                label,
                bounds,
                int(seen.sum()),
                int((bad & seen).sum()),
                int(gone.sum()),
                int(self.words[gone].sum()),
                int(left.sum()),
                int(self.words[left].sum()),
                seconds,
            )
        )


def rounded(step: Step, value: float) -> float | int:
    """Round a score for output: to an integer, or to six digits."""
    whole = step.filter.whole and math.isfinite(value)
    return int(value) if whole else float(f"{value:.6g}")


def decided(
    config: FilterConfig,
    local: np.ndarray,
    model: np.ndarray | None,
    seconds: dict[str, float],
    compared: Iterable[np.ndarray],
) -> Cleaned:
    """Decide on all rows by the filters of a configuration.

    ``compared``: scores ``(n,)`` by each GLOBAL filter, NaN for pairs that it did not compare. The
    other arguments are as in :class:`Cleaned`.
    """
    cleaned = Cleaned(config, local, model, seconds)
    everything = np.ones(cleaned.count, dtype=bool)
    unread = (cleaned.state & UNREADABLE) > 0
    if unread.any():
        cleaned._remove(UNREAD, "", everything, unread)
    for step in (*config.stage(LOCAL), *config.stage(MODEL)):
        seen = ~np.isnan(cleaned.scores(step.label)) & ~unread
        bad = cleaned.broken(step) & seen
        cleaned._remove(step.label, step.bounds(), seen, bad, cleaned.seconds[step.label])
    for step, values in zip(config.stage(GLOBAL), compared, strict=True):
        cleaned.compared[step.label] = values
        seen = ~np.isnan(values)
        cleaned._remove(step.label, step.bounds(), seen, cleaned.broken(step) & seen)
    return cleaned


def to_compare(cleaned: Cleaned, step: Step) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a GLOBAL filter compares, ``(m,) int64``, and their rank ``(m,)``."""
    rows = np.flatnonzero(cleaned.kept)
    named = [step.settings[name] for name, setting in step.filter.settings.items() if setting.score]
    by = next((other for other in cleaned.config.steps if other.label in named), None)
    rank = cleaned.rank if by is None else cleaned.ranked(by)
    return rows, np.zeros(len(rows)) if rank is None else rank[rows]


def compared_values(
    step: Step, count: int, rows: np.ndarray, scores: np.ndarray, header: bool
) -> np.ndarray:
    """Return scores of all ``count`` rows, ``(n,) float64``; NaN except for the compared ``rows``.

    Row numbers among the scores become line numbers; with a ``header`` the first row is line 2.
    """
    if step.filter.names_row:
        scores = np.where(scores >= 0, scores + 1 + header, 0)
    values = np.full(count, np.nan)
    values[rows] = scores
    return values


def choose(cleaned: Cleaned, selection: Selection) -> None:
    """Keep the best of the remaining pairs of a whole text."""
    assert cleaned.rank is not None
    rows = np.flatnonzero(cleaned.kept)
    best = rows[np.lexsort((rows, -cleaned.rank[rows]))]
    limits = Limits(selection)
    limits.add(cleaned.rank[best], cleaned.words[best])
    decide_places(cleaned, selection, best, np.arange(len(best)), limits.kept)


def decide_places(
    cleaned: Cleaned,
    selection: Selection,
    rows: np.ndarray,
    position: np.ndarray,
    kept: dict[str, int],
) -> None:
    """Keep the best of the remaining pairs ``rows (m,)``.

    ``position (m,)``: in the ranking of the whole run, from 0; ``kept``: see :class:`Limits`.
    """
    seen = np.zeros(cleaned.count, dtype=bool)
    seen[rows] = True
    for label, bounds in selection.limits:
        bad = np.zeros(cleaned.count, dtype=bool)
        bad[rows[position >= kept[label]]] = True
        cleaned._remove(label, bounds, seen, bad)
