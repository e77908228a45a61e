"""Samples of a run for its report: histograms of scores, rows near bounds, their texts.

Scores are read in parts, so that memory holds only the samples and their texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from miner.cleaning.bitexts import Piece
from miner.cleaning.config import FilterConfig, Step
from miner.cleaning.decide import PART, UNREAD, Cleaned
from miner.cleaning.scorers import repaired
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL
from miner.progress import Reporter, silent
from miner.text.hashes import hash_of
from miner.text.layout import UNREADABLE

# Rows to show on either side of a bound, and among the rows that a filter removed.
SAMPLES = 6
# Bars of a histogram, and number of values that determine its range.
BARS, SAMPLED = 70, 200_000
# Maximum distance, in ranges, of a tail and of a bound that a histogram includes.
TAIL, FAR = 2.0, 4.0


@dataclass(frozen=True, eq=False)
class SampleGroup:
    """Rows shown together ``(m,) int64``, with a title."""

    title: str
    rows: np.ndarray


class Nearest:
    """The ``size`` rows with the smallest distances, nearest first, of all added rows.

    Ties are broken pseudo-randomly, independent of the run and of the order of adding.
    """

    def __init__(self, size: int):
        self.size = size
        self.rows = np.zeros(0, dtype=np.int64)
        self.distance = np.zeros(0)

    def add(self, rows: np.ndarray, distance: np.ndarray) -> None:
        """Add rows ``(m,)``, each once, with distances ``(m,)`` that are not NaN."""
        if len(rows) > self.size:
            edge = np.partition(distance, self.size - 1)[self.size - 1]
            tied = np.flatnonzero(distance == edge)
            if len(tied) > self.size:
                tied = tied[np.argpartition(hash_of(rows[tied]), self.size)[: self.size]]
            near = np.concatenate([np.flatnonzero(distance < edge), tied])
            rows, distance = rows[near], distance[near]
        rows = np.concatenate([self.rows, rows.astype(np.int64)])
        distance = np.concatenate([self.distance, distance.astype(np.float64)])
        order = np.lexsort((hash_of(rows), distance))[: self.size]
        self.rows, self.distance = rows[order], distance[order]


def steps(cleaned: Cleaned) -> list[Step]:
    """Return the steps in the order of their decisions."""
    return [step for stage in (LOCAL, MODEL, GLOBAL) for step in cleaned.config.stage(stage)]


def step_indices(cleaned: Cleaned) -> range:
    """Return the indices of the steps in `Cleaned.reasons`, where unreadable rows, if any, come
    first.
    """
    first = int(((cleaned.state & UNREADABLE) > 0).any())
    return range(first, first + len(cleaned.config.steps))


def summaries(cleaned: Cleaned) -> list[StepSummary]:
    """Return histograms and samples of all steps, in the order of `steps`, in one pass over the
    scores.
    """
    indices = step_indices(cleaned)
    out = [
        StepSummary(step, index, indices.stop, cleaned.scores(step.label), cleaned.broken(step))
        for step, index in zip(steps(cleaned), indices, strict=True)
    ]
    for start in range(0, cleaned.count, PART):
        removed = cleaned.removed[start : start + PART]
        read = (cleaned.state[start : start + PART] & UNREADABLE) == 0
        for summary in out:
            summary.add(start, removed, read)
    return out


class StepSummary:
    """Histogram and samples of one step, whose ``values`` are added in parts.

    ``broken`` decides which rows break its bounds. index: index of the step in the reasons. end:
    index after all steps. edges: of b bars, ``(b + 1,) float64``; scores beyond them count in the
    outer bars. inside, outside: pairs in each bar within the step's bounds, or outside, ``(b,)
    int64``. below, above: pairs beyond the outer bars.
    """

    def __init__(self, step: Step, index: int, end: int, values: np.ndarray, broken: np.ndarray):
        self.step, self.index, self.end = step, index, end
        self.values, self.broken = values, broken
        self.edges = edges(step, _some(values))
        self.inside, self.outside = np.zeros((2, len(self.edges) - 1), dtype=np.int64)
        self.below = self.above = 0
        self._nearest: dict[str, tuple[Nearest, Nearest]] = {}

    def add(self, start: int, removed: np.ndarray, read: np.ndarray) -> None:
        """Add rows from ``start`` on: the reasons for their removal, and whether they could be
        read.
        """
        part = self.values[start : start + len(removed)]
        seen = read & ~np.isnan(part)
        values, removed = part[seen], removed[seen]
        bad = self.broken[start : start + len(seen)][seen]
        rows = start + np.flatnonzero(seen)
        for title, which, distance, first in self._wanted(values, bad, removed):
            two = self._nearest.setdefault(title, (Nearest(SAMPLES), Nearest(SAMPLES)))
            for nearest, mask in zip(two, (which & first, which & ~first), strict=True):
                nearest.add(rows[mask], distance[mask])
        low, high = self.edges[[0, -1]]
        clipped = np.clip(values.astype(np.float64), low, high)
        self.inside += np.histogram(clipped[~bad], self.edges)[0]
        self.outside += np.histogram(clipped[bad], self.edges)[0]
        self.below += int((values < low).sum())
        self.above += int((values > high).sum())

    def _wanted(
        self, values: np.ndarray, bad: np.ndarray, removed: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield groups: title, mask of rows ``(n,)``, distances, and mask of rows to show first.

        First within a bound are pairs that no filter removed; first beyond it, pairs that no
        earlier filter removed. These are the pairs that another bound would lose or gain.
        """
        kept, removed_here = (removed < 0) | (removed >= self.end), removed == self.index
        low, high = self.step.minimum, self.step.maximum
        far = values.astype(np.float64)
        if self.step.filter.names_row:
            pass  # the score is a line, which is not near any bound
        elif low is None and high is None:
            yield "The lowest scores", ~bad, far, kept
            yield "The highest scores", ~bad, -far, kept
        else:
            if low is not None:
                yield f"Just within the minimum of {low:g}", ~bad, far - low, kept
                yield f"Just below {low:g}", values < np.float32(low), low - far, removed_here
            if high is not None:
                yield f"Just within the maximum of {high:g}", ~bad, high - far, kept
                yield f"Just above {high:g}", values > np.float32(high), far - high, removed_here
        if (low, high) != (None, None):
            yield "Some of those it removed", removed_here, np.zeros(len(far)), removed_here

    @cached_property
    def groups(self) -> list[SampleGroup]:
        """Return the rows to show, once all parts are added."""
        groups = []
        for title, (first, others) in self._nearest.items():
            room = SAMPLES - len(first.rows)
            rows = np.concatenate([first.rows, others.rows[:room]])
            distance = np.concatenate([first.distance, others.distance[:room]])
            groups.append(SampleGroup(title, rows[np.lexsort((rows, distance))]))
        return groups


def kept(cleaned: Cleaned, size: int) -> SampleGroup:
    nearest = Nearest(size)
    for start in range(0, cleaned.count, PART):
        rows = start + np.flatnonzero(cleaned.removed[start : start + PART] < 0)
        nearest.add(rows, np.zeros(len(rows)))
    return SampleGroup("Some of the pairs kept", np.sort(nearest.rows))


def others(cleaned: Cleaned) -> list[tuple[str, list[SampleGroup]]]:
    """Samples of rows removed outside the filters: cut by a `Selection`, or unreadable."""
    out = []
    for number in sorted(set(range(len(cleaned.reasons))) - set(step_indices(cleaned))):
        ranked = cleaned.reasons[number] != UNREAD and cleaned.rank is not None
        removed, left = Nearest(SAMPLES), Nearest(SAMPLES)
        for start in range(0, cleaned.count, PART):
            part = cleaned.removed[start : start + PART]
            for nearest, which, sign in ((removed, part == number, -1), (left, part < 0, 1)):
                rows = start + np.flatnonzero(which)
                rank = cleaned.rank[rows] if cleaned.rank is not None else np.zeros(len(rows))
                nearest.add(rows, sign * rank if ranked else np.zeros(len(rows)))
        groups = [
            SampleGroup("The best of what it removed" if ranked else "Some of them", removed.rows)
        ]
        groups += [SampleGroup("The least of what is kept", left.rows)] * ranked
        out.append((cleaned.reasons[number], groups))
    return out


def edges(step: Step, values: np.ndarray) -> np.ndarray:
    """Return the edges of a histogram of a step's ``values (m,)``, ``(b + 1,) float64``, ascending.

    Bounds lie between two bars, so that a bar is entirely inside or outside, unless they are far
    from all values. Long tails are cut. A bar of integers has an integer width.
    """
    low, high = _range(values[np.isfinite(values)].astype(np.float64))
    reach = FAR * (high - low) or np.inf
    cuts = [cut for cut in _cuts(step) if low - reach <= cut <= high + reach]
    low, high = min([low, *cuts]), max([high, *cuts])
    if step.filter.whole:  # cuts are half a step beyond an integer
        low, high = np.floor(low) - 0.5, np.ceil(high) + 0.5
    else:
        wider = (high - low) / BARS or abs(low) / 1000 or 1.0
        low -= wider * (low in cuts or low == high)
        high += wider * (high in cuts or low == high)
    points = sorted({low, *cuts, high})
    out = []
    for left, right in zip(points, points[1:], strict=False):
        width = (high - low) / BARS
        if step.filter.whole:
            width = max(round(width), 1)
            out.append(np.append(np.arange(left, right - width / 2, width), right))
        else:
            bars = max(round((right - left) / width), 1)
            out.append(np.linspace(left, right, bars + 1))
    return np.unique(np.concatenate(out))


def _range(values: np.ndarray) -> tuple[float, float]:
    """Return the range of most of the values, without long tails."""
    if not len(values):
        return 0.0, 1.0
    low, high = np.quantile(values, (0.005, 0.995))
    room = TAIL * (high - low)
    return max(float(values.min()), low - room), min(float(values.max()), high + room)


def _cuts(step: Step) -> list[float]:
    """Return histogram edges at the step's bounds, moved slightly so that no score lies on one."""
    low, high = step.minimum, step.maximum
    if step.filter.whole:
        cuts = [None if low is None else np.ceil(low) - 0.5]
        cuts += [None if high is None else np.floor(high) + 0.5]
    else:  # the lower edge belongs to a bar, the upper one does not
        cuts = [None if low is None else np.float32(low)]
        cuts += [None if high is None else np.nextafter(np.float32(high), np.float32(np.inf))]
    return [float(cut) for cut in cuts if cut is not None]


def _some(scores: np.ndarray) -> np.ndarray:
    """Return an evenly spread sample of the scores that are not NaN."""
    some = scores[:: max(len(scores) // SAMPLED, 1)]
    some = some[~np.isnan(some)]
    if len(some) < 1000 and len(scores) > SAMPLED:  # the filter scored only few rows
        parts = range(0, len(scores), PART)
        known = [part[~np.isnan(part)] for part in (scores[i : i + PART] for i in parts)]
        some = np.concatenate(known)
    return some


def texts(
    config: FilterConfig,
    pieces: Sequence[Piece],
    rows: Iterable[int],
    report: Reporter = silent,
) -> dict[int, tuple[str, str]]:
    """Read source and target of some rows of a text in pieces, as the filters saw them.

    Raises CorpusError if an input has changed since the run began.
    """
    chosen = np.unique(np.fromiter(rows, np.int64))
    out: dict[int, tuple[str, str]] = {}
    for piece in pieces:
        piece_rows = chosen[(chosen >= piece.first) & (chosen < piece.first + piece.rows)]
        if len(piece_rows):
            with piece.opened(config.columns) as opened:
                blocks = opened.chosen(piece_rows - piece.first)
                for row, block in zip(piece_rows.tolist(), blocks, strict=True):
                    seen = repaired(opened.layout.texts(block), config.repair)
                    out[row] = seen.source[0], seen.target[0]
        report("fetching samples", len(out), len(chosen))
    return out
