"""Bounds and the funnel of a filter run agree with a row-by-row reference."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cleaning import cleaned, config_of, filters, parts  # noqa: F401 (fixture)
from support.raw_lines import put

from miner.cleaning import funnel
from miner.cleaning.settings import Selection
from miner.text.formats import BitextFormat

GRID = ("0", "0.1", "0.2", "0.3", "0.7", "1", "1.5")
grid = st.sampled_from(GRID)
bound = st.none() | grid


@st.composite
def texts_and_bounds(draw):
    n = draw(st.integers(0, 12))
    table = [
        [draw(grid), draw(grid), draw(grid), draw(st.integers(0, 4)), draw(st.booleans())]
        for _ in range(n)
    ]
    bounds = []
    for _ in range(3):
        low, high = draw(bound), draw(bound)
        if low is not None and high is not None and Decimal(low) > Decimal(high):
            low, high = high, low
        bounds.append((low, high))
    selection = Selection(
        draw(st.none() | st.integers(0, 14)),
        draw(st.none() | st.integers(0, 20)),
        draw(st.none() | st.sampled_from([0.1, 0.3, 0.5, 0.7])),
    )
    return table, bounds, selection, draw(st.sampled_from(["expensive", "good"]))


def reference(table, bounds, selection: Selection, expensive: str, all_scores: bool):
    """Decide on each row and fill in the funnel, row by row and number by number."""
    removed: list[str | None] = [None] * len(table)
    stages = []

    def stage(label: str, seen: list[bool], bad: list[bool]) -> None:
        gone = [bad[row] and removed[row] is None and seen[row] for row in range(len(table))]
        for row in range(len(table)):
            if gone[row]:
                removed[row] = label
        left = [row for row in range(len(table)) if removed[row] is None]
        stages.append(
            (
                label,
                sum(seen),
                sum(s and b for s, b in zip(seen, bad, strict=True)),
                sum(gone),
                sum(table[row][3] for row in range(len(table)) if gone[row]),
                len(left),
                sum(table[row][3] for row in left),
            )
        )

    unread = [row[4] for row in table]
    if any(unread):
        stage("unreadable", [True] * len(table), unread)
    for number, label in enumerate(("one", "two", "three")):
        low, high = bounds[number]
        bad = [
            (low is not None and Decimal(row[number]) < Decimal(low))
            or (high is not None and Decimal(row[number]) > Decimal(high))
            for row in table
        ]
        seen = [not row for row in unread]
        if number == 2 and not all_scores:
            seen = [reason is None for reason in removed]
        stage(label, seen, bad)
    if not selection.any:
        return removed, stages
    sign = 1 if expensive == "good" else -1
    best = [row for row in range(len(table)) if removed[row] is None]
    best.sort(key=lambda row: (-sign * Decimal(table[row][2]), row))
    keep = {}
    if selection.top is not None:
        keep["top-n"] = best[: selection.top]
    if selection.words is not None:
        keep["target-words"] = [
            row
            for place, row in enumerate(best)
            if sum(table[other][3] for other in best[: place + 1]) <= selection.words
        ]
    if selection.precision is not None:
        many = [
            place
            for place in range(1, len(best) + 1)
            if sum(sign * float(np.float32(table[row][2])) for row in best[:place]) / place
            >= selection.precision
        ]
        keep["target-precision"] = best[: max(many, default=0)]
    for label, rows in keep.items():
        stage(
            label,
            [row in best for row in range(len(table))],
            [row in best and row not in rows for row in range(len(table))],
        )
    return removed, stages


@settings(max_examples=30)
@given(texts_and_bounds(), st.booleans())
def test_the_funnel_adds_up(tmp_path_factory, drawn, all_scores) -> None:
    table, bounds, selection, expensive = drawn
    lines = [
        "unreadable" if unread else "\t".join(["x", " ".join("y" * words), *scores])
        for *scores, words, unread in table
    ]
    for row in table:
        row[3] *= not row[4]
    path = put(
        tmp_path_factory.getbasetemp() / "funnel.tsv",
        "".join(f"{line}\n" for line in lines).encode(),
    )
    names = ("cost", "cost", expensive)
    tables = []
    for number, (low, high) in enumerate(bounds):
        one = {"name": names[number], "label": ("one", "two", "three")[number]}
        one |= {"column": 3 + number}
        one |= {} if low is None else {"minimum": float(low)}
        tables.append(one | ({} if high is None else {"maximum": float(high)}))
    config = config_of(*tables, rank="three")
    found = cleaned(
        path, config, BitextFormat(on_error="skip"), selection=selection, all_scores=all_scores
    )
    removed, stages = reference(table, bounds, selection, expensive, all_scores)
    assert [None if r < 0 else found.reasons[r] for r in found.removed.tolist()] == removed
    assert [
        (s.label, s.seen, s.alone, s.removed, s.removed_words, s.left, s.left_words)
        for s in found.stages
    ] == stages
    record = funnel.as_dict(vars(found)["summary"])
    assert record["kept"] + sum(stage.removed for stage in found.stages) == record["rows"]
    assert record["words kept"] == (found.stages[-1].left_words)
    text = funnel.table(vars(found)["summary"])
    rows = "1 row" if len(table) == 1 else f"{len(table)} rows"
    assert text.startswith(f"{rows}: {record['kept']} kept")
    assert all(stage.label in text for stage in found.stages)
    assert ("nothing is kept" in text) == (bool(table) and not record["kept"])
    # The rejected file names the same reasons.
    _, rejected = parts(found)
    assert [line.split(b"\t")[-2].decode() for line in rejected] == list(filter(None, removed))
    for line, row in zip(rejected, np.flatnonzero(~found.kept).tolist(), strict=True):
        label, value = line.split(b"\t")[-2:]
        column = {b"one": 0, b"two": 1, b"unreadable": None}.get(label, 2)
        assert float(value) == (1 if column is None else float(table[row][column]))


def test_json_has_all_scores(tmp_path: Path) -> None:
    lines = ["a\tb\t0.5\t7", "a\tb\t5\t1e-7", "a\tb\t0.25\t1234567", "a", "a\tb\t0\tinf"]
    path = put(tmp_path / "a.tsv", "".join(f"{line}\n" for line in lines).encode())
    config = config_of(
        {"name": "cost", "column": 3, "maximum": 1},
        {"name": "expensive", "column": 4, "label": '100% "expensive"'},
        {"name": "duplicates"},
    )
    found = cleaned(path, config, BitextFormat(on_error="skip"), lines=2)
    records = [json.loads(line) for line in vars(found)["written"][-1].splitlines()]
    assert records == [
        {"cost": 0.5, '100% "expensive"': 7, "duplicates": 0},
        {"cost": 5, '100% "expensive"': None, "duplicates": None},
        {"cost": 0.25, '100% "expensive"': 1234570, "duplicates": 1},
        {"cost": None, '100% "expensive"': None, "duplicates": None},  # unreadable
        {"cost": 0, '100% "expensive"': None, "duplicates": 1},
    ]
    assert found.scores("cost").tolist() == [0.5, 5, 0.25, np.inf, 0]
    with pytest.raises(KeyError):
        found.scores("other")


@given(st.lists(st.floats(0, 1), max_size=40), st.integers(0, 40), st.sampled_from([0.3, 0.9]))
def test_the_rows_that_reach_a_precision_are_counted_from_the_parts(values, cut, target):
    parts = [summary_of(values[:cut]), summary_of(values[cut:])]
    found = funnel.merged(parts, ())
    ordered = np.sort(np.floor(np.minimum(np.array(values) * 1000, 999)) + 0.5)[::-1] / 1000
    means = np.cumsum(ordered) / np.arange(1, len(ordered) + 1)
    # Rows of one level are kept or left together.
    ends = np.append(ordered[1:] < ordered[:-1], True)[: len(ordered)]
    enough = np.flatnonzero((means >= target - 1e-12) & ends)
    assert found.reaching(target) == (enough.max() + 1 if len(enough) else 0)
    advised = [line for line in funnel.notes(found) if "--target-precision" in line]
    assert bool(advised) == (bool(values) and found.precision < 0.8)


def summary_of(values):
    level = np.minimum(np.floor(np.array(values) * funnel.LEVELS).astype(int), funnel.LEVELS - 1)
    levels = tuple(np.bincount(level, minlength=funnel.LEVELS).tolist())
    quality = round(sum(values) * funnel.UNITS)
    n = len(values)
    return funnel.FilterSummary(n, n, n, n, 0, 0, quality, levels, ())
