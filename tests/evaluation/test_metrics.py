"""miner.evaluation.metrics against every possible cut, counted one by one."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner.errors import CorpusError
from miner.evaluation.metrics import (
    best_threshold,
    curve,
    evaluate,
    explain_mismatch,
    read_gold,
    read_pairs,
)

GOLD = {("s1", "t1"), ("s2", "t2"), ("s3", "t3")}


def counted(pairs, gold, threshold):
    """(proposed, correct) straight from the protocol."""
    kept = {(s, t) for score, s, t in pairs if threshold is None or float(score) >= threshold}
    return len(kept), len(kept & set(gold))


def f1(proposed, correct, gold):
    precision = correct / proposed if proposed else 0.0
    recall = correct / gold
    return 2 * precision * recall / (precision + recall) if correct else 0.0


def scored(scores):
    ids = st.integers(0, 4)
    return st.lists(st.tuples(scores, ids, ids), max_size=25)


golds = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)
few_scores = st.integers(-3, 6).map(lambda value: value / 4)
any_scores = st.floats(allow_nan=False)
close_scores = st.integers(0, 5).map(lambda steps: 1.0 + steps * 2.0**-52)
close_float32 = st.integers(0, 5).map(lambda steps: np.float32(1.0 + steps * 2.0**-23))
all_scores = st.one_of(few_scores, any_scores, close_scores, close_float32)


@given(scored(all_scores), golds, st.one_of(st.none(), few_scores))
def test_evaluate_follows_the_protocol(pairs, gold, threshold):
    result = evaluate(pairs, gold, threshold)
    proposed, correct = counted(pairs, gold, threshold)
    assert (result.proposed, result.correct, result.gold) == (proposed, correct, len(gold))
    assert result.precision == (correct / proposed if proposed else 0)
    assert result.recall == correct / len(gold)
    assert result.f1 == pytest.approx(f1(proposed, correct, len(gold)))
    assert result.threshold == threshold


@settings(max_examples=200)
@given(scored(all_scores), golds)
@example([(math.inf, 0, 0), (-math.inf, 1, 1)], {(0, 0)})
@example([(1e308, 0, 0), (-1e308, 1, 1)], {(0, 0)})
@example([(0.0, 0, 0), (-0.0, 1, 1)], {(0, 0)})
@example([(5e-324, 0, 0), (0.0, 1, 1)], {(0, 0)})
@example([(0.0, 0, 0), (-5e-324, 1, 1)], {(0, 0)})
def test_best_threshold_beats_every_other_cut(pairs, gold):
    result = best_threshold(pairs, gold)
    if not pairs:
        assert (result.threshold, result.proposed, result.f1) == (None, 0, 0)
        return
    # The threshold does what the counts say, exactly, and no cut at a score does better.
    assert evaluate(pairs, gold, result.threshold) == result
    scores = sorted({float(score) for score, _, _ in pairs}, reverse=True)
    cuts = [counted(pairs, gold, score) for score in scores]
    values = [f1(proposed, correct, len(gold)) for proposed, correct in cuts]
    assert result.f1 == pytest.approx(max(values))
    # Among equals it is the first cut that differs in what it keeps: the fewest pairs.
    equals = [
        cut for cut, value in zip(cuts, values, strict=True) if math.isclose(value, result.f1)
    ]
    assert result.proposed == min(proposed for proposed, _ in equals)


@given(scored(all_scores), golds, st.randoms(use_true_random=False))
def test_order_of_pairs_does_not_matter(pairs, gold, random):
    shuffled = random.sample(pairs, len(pairs))
    assert best_threshold(shuffled, gold) == best_threshold(pairs, gold)
    assert curve(shuffled, gold) == curve(pairs, gold)


@given(scored(all_scores), golds, st.integers(1, 30))
def test_curve_is_a_walk_over_cuts(pairs, gold, points):
    table = curve(pairs, gold, points)
    total = len({(s, t) for _, s, t in pairs})
    assert len(table) <= points
    assert bool(table) == bool(pairs)
    for row in table:
        assert evaluate(pairs, gold, row.threshold) == row
    kept = [row.proposed for row in table]
    assert kept == sorted(set(kept))
    if table:
        assert kept[-1] == total
        assert max(row.f1 for row in table) <= best_threshold(pairs, gold).f1


def test_threshold_is_the_midpoint_between_neighboring_scores():
    pairs = [(0.75, "s1", "t1"), (0.5, "s2", "t2"), (0.25, "s1", "t3"), (0.0, "s2", "t1")]
    result = best_threshold(pairs, GOLD)
    assert result.threshold == 0.375
    assert (result.proposed, result.correct, result.gold) == (2, 2, 3)
    assert (result.precision, result.recall, result.f1) == (1.0, 2 / 3, 0.8)


def test_the_best_cut_may_be_the_last_candidate():
    pairs = [(0.75, "s1", "t2"), (0.5, "s2", "t2"), (0.25, "s1", "t1")]
    result = best_threshold(pairs, GOLD)
    assert (result.threshold, result.proposed, result.correct) == (0.25, 3, 2)


def test_a_single_pair():
    result = best_threshold([(0.5, "s1", "t1")], GOLD)
    assert (result.threshold, result.precision, result.recall) == (0.5, 1.0, 1 / 3)
    result = best_threshold([(0.5, "s1", "t2")], GOLD)
    assert (result.threshold, result.proposed, result.f1) == (0.5, 1, 0.0)


def test_pairs_of_equal_score_are_kept_together():
    pairs = [(0.5, "s1", "t1"), (0.5, "s1", "t2"), (0.5, "s1", "t3"), (0.25, "s2", "t2")]
    result = best_threshold(pairs, GOLD)
    assert (result.threshold, result.proposed, result.correct) == (0.25, 4, 2)
    assert [row.proposed for row in curve(pairs, GOLD, 4)] == [3, 4]


def test_of_equal_f1_the_higher_threshold_wins():
    # 1 of 1 against 3 gold, and 2 of 5 against 3 gold: F1 is one half both times.
    wrong = [(0.5, "s1", f"x{i}") for i in range(3)]
    pairs = [(0.75, "s1", "t1"), *wrong, (0.25, "s2", "t2")]
    result = best_threshold(pairs, GOLD)
    assert result.f1 == evaluate(pairs, GOLD).f1 == 0.5
    assert (result.proposed, result.threshold) == (1, 0.625)


def test_copies_count_once_with_the_best_score():
    pairs = [(0.25, "s1", "t1"), (0.75, "s1", "t1"), (0.5, "s1", "t1"), (0.5, "s2", "t9")]
    result = evaluate(pairs, [("s1", "t1"), ("s1", "t1")], 0.6)
    assert (result.proposed, result.correct, result.gold) == (1, 1, 1)
    assert evaluate(pairs, GOLD).proposed == 2


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 1.3, 1e-30, 3e38])
def test_thresholds_separate_neighboring_floats(kind, start):
    lower = kind(start)
    for _ in range(4):  # over even and odd last bits: the midpoint is rounded to even
        upper = np.nextafter(lower, kind(np.inf))
        result = best_threshold([(upper, "s1", "t1"), (lower, "s1", "t2")], GOLD)
        assert lower < result.threshold <= upper
        # So do numpy's own comparisons, which round the threshold to the array's type.
        kept = np.array([upper, lower]) >= result.threshold
        assert kept.tolist() == [True, False]
        lower = upper


def test_threshold_separates_after_rounding_to_float32():
    lower = np.float32(1.0)
    upper = np.nextafter(lower, np.float32(2))
    result = best_threshold([(float(upper), "s1", "t1"), (float(lower), "s1", "t2")], GOLD)
    assert result.threshold == upper


def test_nothing_proposed():
    for result in (evaluate([], GOLD), evaluate([(0.5, "s1", "t1")], GOLD, 0.6)):
        assert (result.precision, result.recall, result.f1, result.proposed) == (0, 0, 0, 0)
    assert curve([], GOLD) == []


def test_faulty_input_is_refused():
    pair = (0.5, "s1", "t1")
    for function in (evaluate, best_threshold, curve):
        with pytest.raises(ValueError, match="gold is empty"):
            function([pair], set())
        with pytest.raises(ValueError, match="'s1', 't1' is NaN"):
            function([(np.float32("nan"), "s1", "t1")], GOLD)
    with pytest.raises(ValueError, match="threshold is NaN"):
        evaluate([pair], GOLD, math.nan)
    with pytest.raises(ValueError, match="at least 1 point"):
        curve([pair], GOLD, 0)


def test_numpy_columns_are_pairs_too():
    columns = np.array([0.75, 0.5], dtype=np.float32), np.array([1, 2]), np.array([1, 3])
    result = best_threshold(list(zip(*columns, strict=True)), {(1, 1), (2, 2)})
    assert (result.threshold, result.correct) == (0.625, 1)
    assert type(result.threshold) is float


def test_the_result_prints_and_serialises():
    result = evaluate([(0.5, "s1", "t1"), (0.75, "s1", "t2")], GOLD, 0.5)
    assert str(result) == (
        "precision 50.00% recall 33.33% F1 40.00% (threshold 0.5: 1 correct of 2 proposed, 3 gold)"
    )
    assert "no threshold" in str(evaluate([], GOLD))
    assert json.loads(json.dumps(result.as_dict())) == {
        "precision": 0.5,
        "recall": 1 / 3,
        "f1": 0.4,
        "threshold": 0.5,
        "proposed": 2,
        "correct": 1,
        "gold": 3,
    }


# --- what went wrong when nothing is right -----------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("s1", "t1"), ("x", "y")], None),  # one hit: the ids are right
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
    """Both sides of row numbers know every id: only whole pairs can tell."""
    gold = {(0, 1), (1, 2), (2, 0)}
    assert explain_mismatch([(0.5, t, s) for s, t in gold], gold) is not None
    assert explain_mismatch([(0.5, 0, 0)], gold) is None
    assert explain_mismatch([(0.5, 0, 0)], []) is None


# --- files -----------------------------------------------------------------------------------


def test_pairs_are_read_in_order(tmp_path):
    path = tmp_path / "mined.tsv"
    path.write_bytes("1.25\tde-1\ten-2\r\n\n-1e-3\tde 2\tén\u2028x\n".encode())
    assert read_pairs(path) == [(1.25, "de-1", "en-2"), (-0.001, "de 2", "én\u2028x")]


def test_gold_is_read_and_its_copies_collapse(tmp_path):
    path = tmp_path / "gold"
    path.write_text("de-1\ten-1\nde-1\ten-1\nde-1\ten-2\n", encoding="utf-8")
    assert read_gold(str(path)) == {("de-1", "en-1"), ("de-1", "en-2")}


def test_empty_files_hold_nothing(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    assert read_pairs(path) == []
    assert read_gold(path) == set()


@pytest.mark.parametrize(
    "line", ["0.5\ts1", "0.5\ts1\tt1\tx", "s1\tt1\tt2", "nan\ts1\tt1", "0.5\t\tt1", "0.5 s1 t1"]
)
def test_faulty_pairs_name_file_and_line(tmp_path, line):
    path = tmp_path / "mined.tsv"
    path.write_text(f"0.5\ts1\tt1\n\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"mined\.tsv, line 3: .*(3 tab-separated|not a number)"):
        read_pairs(path)


@pytest.mark.parametrize("line", ["s1", "s1\t", "0.5\ts1\tt1"])
def test_faulty_gold_names_file_and_line(tmp_path, line):
    path = tmp_path / "gold.tsv"
    path.write_text(f"s1\tt1\n{line}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"gold\.tsv, line 2: expected 2 tab-separated columns"):
        read_gold(path)
