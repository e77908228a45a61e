"""Benchmark of reviews: runs, their summary and its table, on invented pairs."""

import numpy as np

from benchmarks.mining.review_labels import RUNS, Scored, compared, summary, tables


def test_runs_are_compared_and_averaged() -> None:
    generator = np.random.default_rng(1)
    score = generator.beta(0.4, 0.4, 300)
    right = generator.random(300) < score
    start = Scored(score, right, int(right.sum()) + 5)

    def again(rows: np.ndarray, answers: np.ndarray) -> Scored:
        changed = score.copy()
        changed[rows] = answers
        return Scored(changed, right, start.gold)

    rows = [*compared(start, again, (0.9,))]
    assert rows[0]["answers"] == 0 and rows[0]["F1"] == start.f1()
    found = summary(rows)
    by_run = {(row["answers"], row.get("drawn"), row.get("errors")): row for row in found}
    assert len(found) == len(RUNS)  # 400 answers are more than there are pairs
    true, false = by_run[100, "stratified", 0.0], by_run[100, "stratified", 0.15]
    assert true["gain"] > 0.02 and true["gain"] > false["gain"]
    assert true["review held"] > 0.8 and abs(true["review gap"]) < 0.03
    record = {"sections": {"de-en": {"results": found}}}
    lines = tables(record, lambda section: "conditions")
    assert lines[2].startswith("| de-en | none |") and lines[-1] == "conditions"
    assert any("100, at random" in line for line in lines)
