"""Funnel of a run as a table: pairs removed by each filter, alone and in sequence."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.cleaning.decide import UNREAD, Cleaned, FunnelRow
from miner.cleaning.scorers import REPAIRED
from miner.text.layout import REPLACED
from miner.text_table import aligned, count_of

# Fixed-point units of a sum of probabilities: as fine as a sum over 2^31 rows can be.
UNITS = 1 << 31
# Levels of quality that kept pairs are counted by.
LEVELS = 1000
# Mean quality below which the notes advise a stricter cut, and the target precision they name.
LOW, ADVISED = 0.8, 0.9


@dataclass(frozen=True)
class FilterSummary:
    """Counts of a run: rows, target words, and the funnel.

    ``quality`` is the sum of the kept pairs' quality in units of 1 / UNITS, None without a quality.
    It is an integer, so that sums over parts of a text add up exactly. ``levels`` are the numbers
    of kept pairs by quality, in LEVELS equal steps from 0 to 1; likewise.
    """

    rows: int
    kept: int
    words: int
    words_kept: int
    replaced: int
    repaired: int
    quality: int | None
    levels: tuple[int, ...] | None
    stages: tuple[FunnelRow, ...]

    @property
    def precision(self) -> float | None:
        """Mean quality of the kept pairs, an estimate of the share of good ones, or None."""
        if self.quality is None or not self.kept:
            return None
        return self.quality / (UNITS * self.kept)

    def reaching(self, precision: float) -> int:
        """Return about how many of the best kept pairs have this mean quality."""
        counts = np.array(self.levels or [0])[::-1]
        total = np.cumsum(counts)
        best = (np.arange(len(counts))[::-1] + 0.5) / LEVELS
        enough = np.cumsum(counts * best) >= precision * total
        return int(total[enough].max(initial=0))


def summary(cleaned: Cleaned) -> FilterSummary:
    """Count the results of a run."""
    step, quality, levels = cleaned.config.ranking, None, None
    if step is not None and step.name == "quality" and cleaned.rank is not None:
        kept = cleaned.rank[cleaned.kept]
        quality = int(np.rint(kept * UNITS).astype(np.int64).sum())
        level = np.minimum((kept * LEVELS).astype(np.int64), LEVELS - 1)
        levels = tuple(np.bincount(level, minlength=LEVELS).tolist())
    return FilterSummary(
        cleaned.count,
        int(cleaned.kept.sum()),
        int(cleaned.words.sum(dtype=np.int64)),
        int(cleaned.words[cleaned.kept].sum(dtype=np.int64)),
        int(np.count_nonzero(cleaned.state & REPLACED)),
        int(np.count_nonzero(cleaned.state & REPAIRED)),
        quality,
        levels,
        tuple(cleaned.stages),
    )


def merged(parts: Sequence[FilterSummary], labels: Sequence[str]) -> FilterSummary:
    """Add up the counts of the parts of a text, whose stages are the filters ``labels`` in order.

    Parts without unreadable rows have no stage of that name.
    """
    stages = []
    unread = any(stage.label == UNREAD for part in parts for stage in part.stages)
    for label in [*([UNREAD] if unread else []), *labels]:
        stage_rows = [
            next(
                (stage for stage in part.stages if stage.label == label),
                FunnelRow(label, "", part.rows, 0, 0, 0, part.rows, part.words, 0.0),
            )
            for part in parts
        ]
        names = [field.name for field in dataclasses.fields(FunnelRow)[2:]]
        sums = {name: sum(getattr(stage, name) for stage in stage_rows) for name in names}
        stages.append(FunnelRow(label, stage_rows[0].bounds, **sums))
    names = [field.name for field in dataclasses.fields(FilterSummary)[:-3]]
    counts = {name: sum(getattr(part, name) for part in parts) for name in names}
    rated = [part for part in parts if part.quality is not None]
    quality = sum(part.quality or 0 for part in rated) if rated else None
    levels = tuple(map(sum, zip(*(part.levels or () for part in rated), strict=True)))
    return FilterSummary(**counts, quality=quality, levels=levels or None, stages=tuple(stages))


def table(totals: FilterSummary) -> str:
    """Format the funnel for people, with a summary of all rows on top."""
    part = share(totals.kept, totals.rows)
    lines = [
        f"{count_of(totals.rows, 'row')}: {totals.kept:,} kept ({part}), "
        f"{totals.rows - totals.kept:,} rejected; {totals.words_kept:,} words kept on the target's "
        "side"
    ]
    seconds = sum(stage.seconds for stage in totals.stages)
    lines += notes(totals)
    heads = ("filter", "bounds", "looked at", "alone", "removed", "left", "words left", "time")
    rows: list[tuple[str, ...]] = [heads]
    for row in totals.stages:
        counts = row.seen, row.alone, row.removed, row.left, row.left_words
        time = share(row.seconds, seconds) if row.seconds else ""
        rows.append((row.label, row.bounds, *(f"{count:,}" for count in counts), time))
    return "\n".join([*lines, *aligned(rows, left=2)])


def notes(totals: FilterSummary) -> list[str]:
    """Return lines with further facts: replaced bytes, repaired rows, mean quality, a warning."""
    out = []
    if totals.replaced:
        out.append(f"{totals.replaced:,} rows had bytes that are not UTF-8 replaced")
    if totals.repaired:
        out.append(f"{totals.repaired:,} rows were repaired")
    if totals.precision is not None:
        out.append(f"mean quality of what is kept: {totals.precision:.3f}")
        if totals.precision < LOW:
            out.append(
                f"up to {1 - totals.precision:.0%} of it may be wrong; --target-precision "
                f"{ADVISED:g} would keep about {count_of(totals.reaching(ADVISED), 'row')}"
            )
    text = warning(totals)
    return out if text is None else [*out, f"warning: {text}"]


def warning(totals: FilterSummary) -> str | None:
    """Return a warning if the run keeps nothing, else None."""
    if totals.kept or not totals.rows:
        return None
    most = max(totals.stages, key=lambda stage: stage.removed)
    return (
        f"nothing is kept; {most.label} removed most: are the languages and columns right, and is "
        "the model one of these languages?"
    )


def as_dict(totals: FilterSummary) -> dict[str, Any]:
    """Return the funnel for programs: counts, and processor time in seconds by filter."""
    return {
        "rows": totals.rows,
        "kept": totals.kept,
        "words kept": totals.words_kept,
        "mean quality": totals.precision,
        "repaired": totals.repaired,
        "filters": [dataclasses.asdict(stage) for stage in totals.stages],
    }


def share(part: float, whole: float) -> str:
    """Format a percentage; "-" if the whole is 0."""
    return f"{part / whole:.1%}" if whole else "-"
