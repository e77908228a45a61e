"""miner.text_table: layout of printed tables."""

from miner.text_table import aligned


def test_columns_are_aligned() -> None:
    rows = [["", "f1"], ["de-en", "0.9"], ["a", "10.25"]]
    assert aligned(rows) == ["          f1", "de-en    0.9", "a      10.25"]
    assert aligned(rows, left=2) == ["       f1", "de-en  0.9", "a      10.25"]
    assert aligned(iter(rows)) == aligned(rows)
    assert aligned([]) == []


def test_numbers_are_printed_as_they_are_given() -> None:
    assert aligned([["1.50", "1,199", "0.10"]]) == ["1.50  1,199  0.10"]
