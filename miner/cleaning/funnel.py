"""The funnel of a run as a table: pairs that each filter removed, alone and in sequence."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from miner.cleaning.decide import Cleaned
from miner.text.layout import REPLACED
from miner.text_table import aligned


def table(found: Cleaned) -> str:
    """Format the funnel for people, with a line on top that sums up all rows."""
    total, kept = found.count, int(found.kept.sum())
    lines = [
        f"{total:,} rows: {kept:,} kept ({share(kept, total)}), {total - kept:,} rejected; "
        f"{words(found, found.kept):,} words kept on the target's side"
    ]
    seconds = sum(stage.seconds for stage in found.stages)
    lines += notes(found)
    rows = [("filter", "bounds", "looked at", "alone", "removed", "left", "words left", "time")]
    for stage in found.stages:
        time = share(stage.seconds, seconds) if stage.seconds else ""
        rows.append(
            (
                stage.label,
                stage.bounds,
                f"{stage.seen:,}",
                f"{stage.alone:,}",
                f"{stage.removed:,}",
                f"{stage.left:,}",
                f"{stage.left_words:,}",
                time,
            )
        )
    return "\n".join([*lines, *aligned(rows, left=2)])


def notes(found: Cleaned) -> list[str]:
    """Lines with further facts: replaced bytes, repaired rows, mean quality, a warning."""
    out = []
    if replaced := int(np.count_nonzero(found.state & REPLACED)):
        out.append(f"{replaced:,} rows had bytes that are not UTF-8 replaced")
    if found.repaired:
        out.append(f"{found.repaired:,} rows were repaired")
    if found.precision is not None:
        out.append(f"mean quality of what is kept: {found.precision:.3f}")
    text = warning(found)
    return out if text is None else [*out, f"warning: {text}"]


def warning(found: Cleaned) -> str | None:
    """Warning if the run keeps nothing, else None."""
    if found.kept.any() or not found.count:
        return None
    most = max(found.stages, key=lambda stage: stage.removed)
    return (
        f"nothing is kept; {most.label} removed most: are the languages and columns right, and is "
        "the model one of these languages?"
    )


def as_dict(found: Cleaned) -> dict[str, Any]:
    """The funnel for programs: counts, and processor time in seconds by filter."""
    return {
        "rows": found.count,
        "kept": int(found.kept.sum()),
        "words kept": words(found, found.kept),
        "mean quality": found.precision,
        "repaired": found.repaired,
        "filters": [dataclasses.asdict(stage) for stage in found.stages],
    }


def words(found: Cleaned, which: np.ndarray) -> int:
    """Count the tokens on the target's side of rows given by a mask ``(n,) bool``."""
    return int(found.words[which].sum(dtype=np.int64))


def share(part: float, whole: float) -> str:
    """Format a percentage; "-" of nothing."""
    return f"{part / whole:.1%}" if whole else "-"
