"""What there is to see of a cleaning: the spread of each score, the rows that tell most.

Scores are looked at in parts, so that only what is shown is held; no text is read but that of the
rows shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from miner.cleaning.decide import PART, UNREAD, Cleaned
from miner.cleaning.plan import Step
from miner.cleaning.worker import ROWS, broken, mended, repairer
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL
from miner.progress import Reporter, silent
from miner.text.counts import hash_of
from miner.text.rows import UNREADABLE, Block

# Rows on either side of a bound, and of those that a filter removed.
SAMPLES = 6
# Bars of a histogram, and how many values say what range of them it shows.
BARS, SAMPLED = 70, 200_000
# A tail is shown in full if that does not make the histogram so much wider; a bound likewise.
TAIL, FAR = 2.0, 4.0


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that are shown together, ``(m,) int64``, and what they are."""

    title: str
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Look:
    """What there is to see of one step.

    edges: of b bars, ``(b + 1,) float64``; what is beyond them is in the outer bars. inside,
    outside: pairs in each bar that keep the step's bounds, and that break them, ``(b,) int64``.
    below, above: pairs beyond the outer bars. groups: rows to show.
    """

    step: Step
    edges: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    below: int
    above: int
    groups: list[Group]


class Nearest:
    """Of the rows it is told of, the ``size`` with the least distances, nearest first.

    Of equally distant ones some that are spread evenly over all, the same in every run and for
    any order in which they come.
    """

    def __init__(self, size: int):
        self.size = size
        self.rows = np.zeros(0, dtype=np.int64)
        self.distance = np.zeros(0)

    def add(self, rows: np.ndarray, distance: np.ndarray) -> None:
        """Rows ``(m,)``, each told once, and their distances ``(m,)``, none of them NaN."""
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


def steps(found: Cleaned) -> list[Step]:
    """The steps in the order in which they decided."""
    return [step for stage in (LOCAL, MODEL, GLOBAL) for step in found.plan.stage(stage)]


def places(found: Cleaned) -> range:
    """Where the steps stand among the reasons: what could not be read, if any, goes before."""
    first = int(((found.state & UNREADABLE) > 0).any())
    return range(first, first + len(found.plan.steps))


def looks(found: Cleaned) -> list[Look]:
    """What there is to see of every step, in the order of `steps`; one pass over all scores."""
    place = places(found)
    gathering = [
        _Looking(step, own, place.stop, found.scores(step.label))
        for step, own in zip(steps(found), place, strict=True)
    ]
    for start in range(0, found.count, PART):
        removed = found.removed[start : start + PART]
        read = (found.state[start : start + PART] & UNREADABLE) == 0
        for one in gathering:
            one.add(start, removed, read)
    return [one.done() for one in gathering]


class _Looking:
    """A `Look` that grows; ``place`` is that of the step among the reasons, ``end`` after all."""

    def __init__(self, step: Step, place: int, end: int, values: np.ndarray):
        self.step, self.place, self.end, self.values = step, place, end, values
        self.edges = edges(step, _some(values))
        self.bars = np.zeros((2, len(self.edges) - 1), dtype=np.int64)
        self.beyond = (0, 0)
        self.groups: dict[str, tuple[Nearest, Nearest]] = {}

    def add(self, start: int, removed: np.ndarray, read: np.ndarray) -> None:
        part = self.values[start : start + len(removed)]
        seen = read & ~np.isnan(part)
        values, removed = part[seen], removed[seen]
        bad = broken([self.step], values[:, None])[:, 0]
        rows = start + np.flatnonzero(seen)
        for title, which, distance, first in self._wanted(values, bad, removed):
            two = self.groups.setdefault(title, (Nearest(SAMPLES), Nearest(SAMPLES)))
            for nearest, mask in zip(two, (which & first, which & ~first), strict=True):
                nearest.add(rows[mask], distance[mask])
        inside = np.clip(values.astype(np.float64), self.edges[0], self.edges[-1])
        self.bars += [np.histogram(inside[mask], self.edges)[0] for mask in (~bad, bad)]
        below, above = (values < self.edges[0]).sum(), (values > self.edges[-1]).sum()
        self.beyond = (self.beyond[0] + int(below), self.beyond[1] + int(above))

    def _wanted(
        self, values: np.ndarray, bad: np.ndarray, removed: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
        """Titles; which rows ``(n,)`` they are about, how far off; those that tell most.

        Within a bound these are pairs that no filter removed, beyond it those that none before
        this one did: what another bound would lose or win.
        """
        kept, own = (removed < 0) | (removed >= self.end), removed == self.place
        low, high = self.step.minimum, self.step.maximum
        far = values.astype(np.float64)
        if self.step.filter.names_row:
            pass  # the score is a line, which is near to no bound
        elif low is None and high is None:
            yield "The lowest scores", ~bad, far, kept
            yield "The highest scores", ~bad, -far, kept
        else:
            if low is not None:
                yield f"Just within the minimum of {low:g}", ~bad, far - low, kept
                yield f"Just below {low:g}", values < np.float32(low), low - far, own
            if high is not None:
                yield f"Just within the maximum of {high:g}", ~bad, high - far, kept
                yield f"Just above {high:g}", values > np.float32(high), far - high, own
        if (low, high) != (None, None):
            yield "Some of those it removed", own, np.zeros(len(far)), own

    def done(self) -> Look:
        groups = []
        for title, (first, others) in self.groups.items():
            room = SAMPLES - len(first.rows)
            rows = np.concatenate([first.rows, others.rows[:room]])
            distance = np.concatenate([first.distance, others.distance[:room]])
            groups.append(Group(title, rows[np.lexsort((rows, distance))]))
        inside, outside = self.bars
        return Look(self.step, self.edges, inside, outside, *self.beyond, groups)


def kept(found: Cleaned, size: int) -> Group:
    """Some of the pairs kept."""
    nearest = Nearest(size)
    for start in range(0, found.count, PART):
        rows = start + np.flatnonzero(found.removed[start : start + PART] < 0)
        nearest.add(rows, np.zeros(len(rows)))
    return Group("Some of the pairs kept", np.sort(nearest.rows))


def others(found: Cleaned) -> list[tuple[str, list[Group]]]:
    """What removed rows and is no step, and what there is to see of it: a choice, or no text."""
    out = []
    for place in sorted(set(range(len(found.reasons))) - set(places(found))):
        ranked = found.reasons[place] != UNREAD and found.rank is not None
        removed, left = Nearest(SAMPLES), Nearest(SAMPLES)
        for start in range(0, found.count, PART):
            part = found.removed[start : start + PART]
            for nearest, which, sign in ((removed, part == place, -1), (left, part < 0, 1)):
                rows = start + np.flatnonzero(which)
                rank = found.rank[rows] if found.rank is not None else np.zeros(len(rows))
                nearest.add(rows, sign * rank if ranked else np.zeros(len(rows)))
        groups = [Group("The best of what it removed" if ranked else "Some of them", removed.rows)]
        groups += [Group("The least of what is kept", left.rows)] * ranked
        out.append((found.reasons[place], groups))
    return out


def edges(step: Step, values: np.ndarray) -> np.ndarray:
    """Edges of bars for some ``values (m,)`` of a step, ``(b + 1,) float64``, ascending.

    Bounds are between two bars, so that each bar keeps them or breaks them, unless they are far
    from all values; long tails are left out. Bars of whole numbers are as wide as some of them.
    """
    low, high = _range(values[np.isfinite(values)].astype(np.float64))
    reach = FAR * (high - low) or np.inf
    cuts = [cut for cut in _cuts(step) if low - reach <= cut <= high + reach]
    low, high = min([low, *cuts]), max([high, *cuts])
    if step.filter.whole:  # a bar beyond a cut, which is half of one beyond a number
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
    """From where to where most of the values are, long tails aside."""
    if not len(values):
        return 0.0, 1.0
    low, high = np.quantile(values, (0.005, 0.995))
    room = TAIL * (high - low)
    return max(float(values.min()), low - room), min(float(values.max()), high + room)


def _cuts(step: Step) -> list[float]:
    """Where scores that a bound keeps and such as break it part; no score is exactly there."""
    low, high = step.minimum, step.maximum
    if step.filter.whole:
        cuts = [None if low is None else np.ceil(low) - 0.5]
        cuts += [None if high is None else np.floor(high) + 0.5]
    else:  # the lower edge of a bar belongs to it, the upper one does not
        cuts = [None if low is None else np.float32(low)]
        cuts += [None if high is None else np.nextafter(np.float32(high), np.float32(np.inf))]
    return [float(cut) for cut in cuts if cut is not None]


def _some(scores: np.ndarray) -> np.ndarray:
    """Some of the scores that there are, spread evenly."""
    some = scores[:: max(len(scores) // SAMPLED, 1)]
    some = some[~np.isnan(some)]
    if len(some) < 1000 and len(scores) > SAMPLED:  # the filter looked at few
        parts = range(0, len(scores), PART)
        found = [part[~np.isnan(part)] for part in (scores[i : i + PART] for i in parts)]
        some = np.concatenate(found)
    return some


def texts(
    found: Cleaned, rows: Iterable[int], size: int, report: Reporter = silent
) -> dict[int, tuple[str, str]]:
    """The source and the target of some rows, as the filters saw them, by a pass over the text.

    Of longer texts than ``size`` characters the first ones, and how many there are.
    """
    chosen = np.unique(np.fromiter(rows, np.int64))
    repair = repairer(found.plan.repair)
    layout = found.source.layout
    out: dict[int, tuple[str, str]] = {}
    first = 0
    for block in found.source.blocks(ROWS) if len(chosen) else ():
        low, high = np.searchsorted(chosen, (first, first + len(block)))
        own = chosen[low:high].tolist()
        raw = [block.raw[row - first] for row in own]
        seen, _ = mended(layout.texts(Block(block.first, raw)), repair)
        for row, *sides in zip(own, seen.source, seen.target, strict=True):
            out[row] = (_cut(sides[0], size), _cut(sides[1], size))
        first += len(block)
        report("fetching samples", first, found.count)
        if high == len(chosen):
            break
    return out


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[:size]}… ({len(text):,} characters)"
