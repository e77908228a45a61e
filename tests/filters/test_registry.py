"""The registry of filters: each entry is complete, and a new filter needs only its own file."""

import numpy as np
import pytest
from support.cleaning import cleaned, config_of, given_scores, written
from support.raw_lines import put

from miner.filters.filter_types import GLOBAL, Batch, Comparison, Filter, Rivals
from miner.filters.registry import FILTERS
from miner.text.formats import BitextFormat


class SameLength(Comparison):
    """Filter that compares pairs with sources of equal length by its own sketches."""

    field = ("length", "<u4", 1)

    def sketch(self, batch: Batch) -> np.ndarray:
        return np.array([[len(text)] for text in batch.source], dtype=np.uint32).reshape(-1, 1)

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        return sketches.astype(np.uint64)

    def scores(self, rivals: Rivals) -> np.ndarray:
        best = rivals.best[:, 0]
        return np.where(best == rivals.rows, -1, best)


def test_a_new_filter_needs_only_a_place_in_the_registry(tmp_path, monkeypatch):
    new = Filter(
        "same_length", "line of a better pair", "as long as line {value:.0f}", "lower",
        lambda settings, context: SameLength(), maximum=0, stage=GLOBAL, whole=True,
        names_row=True,
    )  # fmt: skip
    monkeypatch.setitem(FILTERS, "same_length", new)
    lines = ["aa\tx\t0.1", "bb\ty\t0.9", "c\tx\t0.9", "dd\tz\t0.9", "aa\tx\t0.8"]
    path = put(tmp_path / "a.tsv", "".join(f"{line}\n" for line in ["s\tt\tn", *lines]).encode())
    tables = {"name": "good", "column": 3}, {"name": "same_length"}, {"name": "duplicates"}
    with given_scores():
        config = config_of(*tables, rank="good")
        found = cleaned(path, config, BitextFormat(header=True), lines=2)
        # The header counts as a line.
        assert found.scores("same_length").tolist() == [3, 0, 0, 3, 3]
        [kept], rejected = written(found)
        assert kept.splitlines() == [b"s\tt\tn", b"bb\ty\t0.9", b"c\tx\t0.9"]
        assert rejected.splitlines()[1] == b"aa\tx\t0.1\tsame_length\t3"


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_is_well_made(name: str) -> None:
    entry = FILTERS[name]
    assert entry.better in ("higher", "lower")
    assert entry.reason.format(value=0.5, bound=1.0)
    for setting in entry.settings.values():
        assert setting.default is None or not setting.choices or setting.default in setting.choices
    assert set(entry.columns) <= set(entry.settings)
    assert not entry.default or all(s.default is not None for s in entry.settings.values())
    for bound in (entry.minimum, entry.maximum):
        assert bound is None or entry.outside(bound) is None
