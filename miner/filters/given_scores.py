"""The cost filter: a score that is in a column of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.filters.filter_types import Batch, Context, Filter, Scorer, Setting


def _cost(settings: Mapping[str, Any], context: Context) -> Scorer:
    column = settings["column"]

    def score(batch: Batch) -> np.ndarray:
        out = np.full(len(batch), np.inf)
        rows = zip(batch.columns[column], batch.source, batch.target, strict=True)
        for row, (text, *sides) in enumerate(rows):
            # An unreadable row is blank and has no cost; it is removed as the worst.
            if not (text or any(sides)):
                continue
            try:
                out[row] = float(text)
            except ValueError:
                out[row] = np.nan
            if np.isnan(out[row]):
                raise CorpusError(
                    f"column {column}: {text!r} is not a cost; every row must have a number there"
                )
        return out

    return score


FILTERS = (
    Filter(
        "cost",
        "a number in a column, for example a translation's negative log-likelihood per token; "
        "infinite for a blank row",
        "a cost of {value:g}",
        "lower",
        _cost,
        settings={"column": Setting(None, "number or name of the column")},
        columns=("column",),
        paper="Wieting et al. 2017, section 5.6",
    ),
)
