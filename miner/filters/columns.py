"""Scores that a column of the file brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.filters.base import Batch, Context, Filter, Scorer, Setting


def _cost(settings: Mapping[str, Any], context: Context) -> Scorer:
    column = settings["column"]

    def score(batch: Batch) -> np.ndarray:
        texts = batch.columns[column]
        out = np.empty(len(batch))
        for row, text in enumerate(texts):
            try:
                out[row] = float(text)
            except ValueError:
                out[row] = np.nan
            # A row that cannot be read at all has no cost either, and is removed for that.
            if np.isnan(out[row]) and (text or batch.source[row] or batch.target[row]):
                raise CorpusError(
                    f"column {column}: {text!r} is no cost; it must be a number in every row"
                )
        return np.where(np.isnan(out), 0.0, out)

    return score


FILTERS = (
    Filter(
        "cost",
        "a number in a column, such as the negative log-likelihood of a translation per token",
        "a cost of {value:g}",
        "lower",
        _cost,
        settings={"column": Setting(None, "number or name of the column")},
        columns=("column",),
        paper="Wieting et al. 2017, section 5.4",
    ),
)
