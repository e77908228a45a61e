"""Table for the choice of a second encoder: speed, retrieval accuracy, and gain as second opinion.

The rows come from the results of :mod:`benchmarks.models.peers` and
:mod:`benchmarks.mining.second_opinion`; the commands are below the tables of these.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.filtering import second_filter
from benchmarks.markdown import table
from benchmarks.mining.second_opinion import PAIRS
from benchmarks.models import peers

# Tasks of second.json, and what tells their rows apart.
KEYS = {"mining": "pair", "filter": "language", "align": "document"}


def lines() -> list[str]:
    """Return the table of the encoders that were measured, the fastest first."""
    rows = [row for row in report.read("second.json")["results"] if row.get("split") != "training"]
    known = sorted(report.read("peers.json")["results"], key=lambda row: -row["sentences/s"])
    cells = [
        (
            row["name"],
            f"{row['sentences/s']:,.0f}",
            f"{peers.mean(row, peers.LANGUAGES):.3f}",
            *(compared(rows, row["name"], "mining", (pair,)) for pair in PAIRS),
            compared(rows, row["name"], "align", ("all",)),
            compared(rows, row["name"], "filter", second_filter.LANGUAGES),
        )
        for row in known
        if row["name"] != "default"
    ]
    mined = (f"mining F1, {pair}" for pair in PAIRS)
    weak = f"right pairs of 0.5 or more, {len(second_filter.LANGUAGES)} weak languages"
    columns = "encoder", "sentences/s of one core", f"Tatoeba, {len(peers.LANGUAGES)} languages"
    return table((*columns, *mined, "Text+Berg, strict F1", weak), cells)


def compared(rows: Sequence[dict[str, Any]], name: str, task: str, only: Sequence[str]) -> str:
    """Return the mean figure of a task without and with an encoder; a dash if one is missing."""
    found: dict[str | None, list[float]] = {None: [], name: []}
    for row in rows:
        if row.get("task", "mining") == task and row[KEYS[task]] in only and row["second"] in found:
            found[row["second"]].append(figure(row))
    if not len(found[None]) == len(found[name]) == len(only):
        return "–"
    return " → ".join(f"{np.mean(values):.3f}" for values in found.values())


def figure(row: dict[str, Any]) -> float:
    """Return the figure of a result that is compared: F1, or the share of right pairs kept."""
    if sure := row.get(f"of {second_filter.SURE} or more"):
        return float(sure["right"] / row["pairs"]["right"])
    return float(row.get("strict f1") or row["f1"])
