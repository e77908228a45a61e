"""HTML report of an alignment: both documents side by side, with the beads drawn between them."""

from itertools import pairwise
from typing import Any

import numpy as np

from miner.alignment.aligned import Aligned, Document, both_sides
from miner.libraries import require
from miner.reports import page
from miner.text.output import StrPath

# Maximum pairs of documents, and rows of each, in the drawing.
PAIRS, ROWS = 20, 1000


def check(path: StrPath) -> None:
    """Check that Jinja2 is installed. Raises DependencyError otherwise."""
    require(["jinja2"], f"{path}: a report", "report")


def write(path: StrPath, found: Aligned) -> None:
    """Write the page of the rows. Raises DependencyError without Jinja2, and ResourceError."""
    check(path)
    ends = np.searchsorted(found.pair, np.arange(len(found.documents) + 1))
    drawn = [
        _drawn(documents, found.spans[start:end].tolist(), found.score[start:end].tolist())
        for documents, (start, end) in zip(found.documents[:PAIRS], pairwise(ends), strict=False)
    ]
    sure = found.precision
    facts = [
        ("Beads", f"{np.count_nonzero(both_sides(found.spans)):,}"),
        ("Estimated precision", "unknown" if sure is None else f"{sure:.3f}"),
        ("Pairs of documents", f"{len(found.documents):,}, {len(drawn):,} drawn"),
        *([("Least probability", f"{found.threshold:.4f}")] if found.threshold else []),
        *(("Warning", doubt) for doubt in found.warnings),
    ]
    page.write(path, "alignment.html", "Alignment", {}, {"facts": facts, "drawn": drawn})


def _drawn(
    documents: tuple[Document, Document], spans: list[list[int]], scores: list[float]
) -> dict[str, Any]:
    """Lay out two documents so that a bead's sentences are level on both sides.

    Columns are the sentences of each side by row, "" for none; links have the first row of a bead,
    its sentences on both sides, and its probability.
    """
    columns: tuple[list[str], list[str]] = [], []
    links = []
    at = [0, 0]

    def fill(*ends: int) -> None:
        for side, (column, end) in enumerate(zip(columns, ends, strict=True)):
            column += documents[side].texts[at[side] : end]
            at[side] = end
        height = max(map(len, columns))
        for column in columns:
            column += [""] * (height - len(column))

    for (i, j, k, m), score in zip(spans, scores, strict=True):
        fill(i, k)
        if i < j and k < m:
            links.append((len(columns[0]), j - i, m - k, score))
        fill(j, m)
    fill(*(len(document.texts) for document in documents))
    return {
        "names": [document.name for document in documents],
        "columns": [column[:ROWS] for column in columns],
        "links": [link for link in links if link[0] < ROWS],
        "left": max(0, len(columns[0]) - ROWS),
    }
