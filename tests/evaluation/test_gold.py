"""miner.evaluation.gold: files of pairs, and the diagnosis of a mismatch."""

import pytest

from miner.errors import CorpusError
from miner.evaluation.gold import (
    explain_mismatch,
    keeps_nearly_all,
    never_proposed,
    read_gold,
    read_pairs,
)
from miner.evaluation.metrics import best_threshold

GOLD = {("s1", "t1"), ("s2", "t2"), ("s3", "t3")}


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("s1", "t1"), ("x", "y")], None),  # one hit: known ids in wrong pairs
        ([("s1", "t2"), ("s2", "t1")], None),  # known ids, only badly paired
        ([], None),
        ([("t1", "s1"), ("t2", "s3")], "(1 whole pairs): source and target look swapped"),
        ([("t1", "s2")], "(0 whole pairs): source and target look swapped"),
        (
            [("Guten Tag", "Hello")],
            "proposed source ids is in the gold ('Guten Tag', where .* 's1')",
        ),
        ([("s1", "Hello")], "proposed target ids is in the gold ('Hello', where .* 't1')"),
        ([("ein " * 30, "Hello")], "ein ein…"),
    ],
)
def test_mismatch_is_explained(pairs, expected):
    message = explain_mismatch([(0.5, *ids) for ids in pairs], GOLD)
    if expected is None:
        assert message is None
    else:
        assert message is not None
        assert "\n" not in message
        for part in expected.split(" .* "):
            assert part in message


def test_swapped_row_numbers_are_noticed_by_their_pairs():
    """If ids of both sides are row numbers, only whole pairs reveal the swap."""
    gold = {(0, 1), (1, 2), (2, 0)}
    assert explain_mismatch([(0.5, t, s) for s, t in gold], gold) is not None
    assert explain_mismatch([(0.5, 0, 0)], gold) is None
    assert explain_mismatch([(0.5, 0, 0)], []) is None


def test_pairs_are_read_in_order(tmp_path):
    path = tmp_path / "mined.tsv"
    path.write_bytes("1.25\tde-1\ten-2\r\n\n-1e-3\tde 2\tén\u2028x\n".encode())
    assert read_pairs(path) == [(1.25, "de-1", "en-2"), (-0.001, "de 2", "én\u2028x")]


def test_gold_is_read_and_its_duplicates_collapse(tmp_path):
    path = tmp_path / "gold"
    path.write_text("de-1\ten-1\nde-1\ten-1\nde-1\ten-2\n", encoding="utf-8")
    assert read_gold(str(path)) == {("de-1", "en-1"), ("de-1", "en-2")}


PAIRS = "0.5\ts1", "0.5\ts1\tt1\tx", "s1\tt1\tt2", "nan\ts1\tt1", "0.5\t\tt1", "0.5 s1 t1"


@pytest.mark.parametrize(
    ("read", "lines", "said"),
    [
        *((read_pairs, f"0.5\ts1\tt1\n\n{line}\n", "3: .*(3 tab|not a number)") for line in PAIRS),
        *(
            (read_gold, f"s1\tt1\n{line}\n", "2: expected 2 tab")
            for line in ("s1", "s1\t", PAIRS[2])
        ),
    ],
)
def test_faults_name_file_and_line(tmp_path, read, lines, said):
    (tmp_path / "file.tsv").write_text(lines, encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"file\.tsv, line {said}"):
        read(tmp_path / "file.tsv")


def test_gold_that_no_pair_reaches_is_counted() -> None:
    pairs = [(0.9, "s1", "t1"), (0.2, "s2", "t2"), (0.1, "s2", "t9")]
    gold = [("s1", "t1"), ("s1", "t1"), ("s2", "t1"), ("s2", "t3"), ("s7", "t1"), ("s8", "t8")]
    assert never_proposed(pairs, gold) == 3
    assert never_proposed([], gold) == 5


def test_a_best_threshold_at_the_lower_end_is_noticed() -> None:
    gold = {(i, i) for i in range(100)}
    pairs = [(1 - i / 100, i, i if i < 70 else -i) for i in range(100)]
    assert not keeps_nearly_all(pairs, best_threshold(pairs, gold))
    cut = pairs[:71]  # the best threshold keeps all but one
    assert keeps_nearly_all(cut, best_threshold(cut, gold))
    assert not keeps_nearly_all([], best_threshold([], gold))
