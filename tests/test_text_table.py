"""miner.text_table: tables of plain text."""

from __future__ import annotations

import pytest

from miner.text_table import aligned


def test_columns_are_aligned() -> None:
    rows = [["", "f1"], ["de-en", "0.9"], ["a", "10.25"]]
    assert aligned(rows) == ["          f1", "de-en    0.9", "a      10.25"]
    assert aligned(rows, left=2) == ["       f1", "de-en  0.9", "a      10.25"]
    assert aligned(iter(rows)) == aligned(rows)
    assert aligned([]) == []


def test_rows_are_of_one_length() -> None:
    with pytest.raises(ValueError):
        aligned([["a"], ["b", "c"]])
