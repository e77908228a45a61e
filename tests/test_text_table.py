"""miner.text_table: layout of tables, counts and quotations."""

from miner.text_table import aligned, count_of, quoted


def test_columns_are_aligned() -> None:
    rows = [["", "f1"], ["de-en", "0.9"], ["a", "10.25"]]
    assert aligned(rows) == ["          f1", "de-en    0.9", "a      10.25"]
    assert aligned(rows, left=2) == ["       f1", "de-en  0.9", "a      10.25"]
    assert aligned(iter(rows)) == aligned(rows)
    assert aligned([]) == []


def test_numbers_are_printed_as_they_are_given() -> None:
    assert aligned([["1.50", "1,199", "0.10"]]) == ["1.50  1,199  0.10"]


def test_counts_and_quotations() -> None:
    assert [count_of(n, "line") for n in (0, 1, 2000)] == ["0 lines", "1 line", "2,000 lines"]
    assert quoted("it\n", 5) == "'it\\n'" and quoted("seven words", 5) == "'seve…'"
