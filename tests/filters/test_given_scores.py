"""The cost filter: numbers in a column of the file."""

import numpy as np
import pytest

from miner.errors import CorpusError
from miner.filters.filter_types import Batch, Context
from miner.filters.registry import FILTERS

COST = FILTERS["cost"]


def cost(rows: list[tuple[str, str, str]]) -> list[float]:
    source, target, column = (list(side) for side in zip(*rows, strict=True))
    score = COST.build({"column": "3"}, Context())
    return np.asarray(score(Batch(source, target, {"3": column}))).tolist()


def test_a_blank_row_is_the_worst() -> None:
    rows = [("a", "b", "0.5"), ("", "", ""), ("", "", " -1 "), ("a", "", "inf")]
    assert cost(rows) == [0.5, np.inf, -1, np.inf] and COST.better == "lower"


@pytest.mark.parametrize("row", [("a", "", ""), ("", "b", ""), ("a", "b", "x"), ("", "", "nan")])
def test_what_is_no_cost_is_told(row: tuple[str, str, str]) -> None:
    with pytest.raises(CorpusError, match="column 3: .* is not a cost"):
        cost([("a", "b", "1"), row])
