"""A filter run as a whole: every row kept or rejected, whole, in order, for the right reason."""

from __future__ import annotations

import dataclasses
import json
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cleaning import cleaned, given_scores, plan_of, written
from support.raw_lines import hard, lines_of, put

from miner.cleaning import clean as cleaning
from miner.cleaning import dry_run, funnel
from miner.cleaning.decide import Choice
from miner.cleaning.write import write
from miner.errors import ArtifactError, CorpusError, ResourceError
from miner.filters.filter_types import Context
from miner.text.bitext_format import BitextFormat
from miner.text.rows import Rows

WORDS = {"name": "length", "of": "shorter", "minimum": 1}


@pytest.fixture(scope="module", autouse=True)
def filters():
    with given_scores():
        yield


# --- every row, whole ---------------------------------------------------------------------------


def split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    assert lines.pop() == b""
    return lines


def parts(found, kept: int = 1) -> tuple[list[list[bytes]], list[bytes]]:
    outputs, rejected = written(found, kept)
    return [split(output) for output in outputs], split(rejected)


def merged(found, kept: list, rejected: list) -> list:
    """Merge both again by the decision on each row; none may be left over."""
    queues = iter(kept), iter(rejected)
    out = [next(queues[int(reason >= 0)]) for reason in found.removed]
    assert not list(queues[0]) and not list(queues[1])
    return out


@settings(max_examples=40)
@given(hard, st.sampled_from(["skip", "replace"]), st.booleans())
def test_a_tsv_is_kept_and_rejected(tmp_path_factory, data, on_error, header) -> None:
    path = put(tmp_path_factory.getbasetemp() / "clean.tsv", data)
    rows = Rows(path, bitext_format=BitextFormat(on_error=on_error, header=header))
    try:
        found = cleaned(rows, plan_of(WORDS))
    except CorpusError as error:  # a row without the columns cannot be replaced
        assert on_error == "replace" and "column 2 is asked for" in str(error)
        return
    [kept], rejected = parts(found)
    expected = lines_of(data)
    if header and expected:
        head = expected.pop(0)
        assert kept.pop(0) == head and rejected.pop(0) == head + b"\tfilter\tvalue"
    if on_error == "replace":
        expected = [line.decode("utf-8", "replace").encode() for line in expected]
    assert len(kept) + len(rejected) == len(expected) == found.count
    reasons = [line.rsplit(b"\t", 2)[1:] for line in rejected]
    assert all(reason in ([b"length", b"0"], [b"unreadable", b"1"]) for reason in reasons)
    lines = [line.rsplit(b"\t", 2)[0] for line in rejected]
    assert merged(found, kept, lines) == expected


@settings(max_examples=30)
@given(hard, hard, st.integers(1, 2))
def test_two_files_are_kept_and_rejected(tmp_path_factory, left, right, outputs) -> None:
    sides = lines_of(left), lines_of(right)
    pairs = list(zip(*sides, strict=False))
    paths = [
        put(
            tmp_path_factory.getbasetemp() / f"clean.{side}",
            b"".join(p[side] + b"\n" for p in pairs),
        )
        for side in range(2)
    ]
    # Without the carriage returns at the line ends.
    pairs = list(zip(*(lines_of(path.read_bytes()) for path in paths), strict=True))
    found = cleaned(Rows(*paths, bitext_format=BitextFormat(on_error="skip")), plan_of(WORDS))
    kept, rejected = parts(found, outputs)
    flat = [tuple(line.replace(b"\t", b" ") for line in pair) for pair in pairs]
    if outputs == 2:  # whole lines, tabs and all
        both = list(zip(*kept, strict=True))
        assert both == [pairs[row] for row in np.flatnonzero(found.kept).tolist()]
        both = [tuple(line.replace(b"\t", b" ") for line in pair) for pair in both]
    else:
        both = [tuple(line.split(b"\t")) for line in kept[0]]
    assert merged(found, both, [tuple(line.split(b"\t")[:2]) for line in rejected]) == flat


rows_of_json = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"source": st.text(), "target": st.text()},
            optional={"filter": st.integers(), "n": st.floats(allow_nan=False), "ä": st.none()},
        ).map(lambda record: json.dumps(record).encode()),
        st.sampled_from([b"", b"{", b"[[1, 2]]", b'{"source": "\\ud800", "target": "a"}', b"\xff"]),
    ),
    max_size=12,
)


@settings(max_examples=40)
@given(rows_of_json)
def test_json_is_kept_and_rejected(tmp_path_factory, lines) -> None:
    data = b"".join(line + b"\n" for line in lines)
    path = put(tmp_path_factory.getbasetemp() / "clean.jsonl", data)
    rows = Rows(
        path,
        bitext_format=BitextFormat(source_column="source", target_column="target", on_error="skip"),
    )
    found = cleaned(rows, plan_of(WORDS))
    [kept], rejected = parts(found)
    for line, out in zip(lines, merged(found, kept, rejected), strict=True):
        if out != line:
            record = json.loads(out)
            # A row with such keys of its own keeps them.
            label = record.get("filter_2", record["filter"])
            assert label in ("length", "unreadable")
            assert out.startswith(line[:-1]) or record["line"] == line.decode("utf-8", "replace")


def test_a_very_long_line_and_no_last_newline(tmp_path: Path) -> None:
    long = b"a" * 3_000_000 + b"\t" + b"b " * 1_000_000
    path = put(tmp_path / "long.tsv", b"a\tb\r\n" + long + b"\n\nlast\tone\tmore")
    found = cleaned(Rows(path), plan_of({"name": "length", "minimum": 1, "maximum": 10}))
    [kept], rejected = parts(found)
    assert kept == [b"a\tb", b"last\tone\tmore"]
    assert rejected == [long + b"\tlength\t1000000", b"\tlength\t0"]


def test_what_is_repaired_is_written(tmp_path: Path) -> None:
    pytest.importorskip("ftfy")
    lines = ["1\tschÃ¶n\tnice\t schÃ¶n \r", "2\tgut\tgood\tÃ¶", ""]
    path = put(tmp_path / "a.tsv", "\n".join([*lines, ""]).encode())
    rows = Rows(path, bitext_format=BitextFormat(source_column=2, target_column=3))
    found = cleaned(rows, plan_of(WORDS, repair=True))
    [kept], rejected = parts(found)
    # Columns that are no text of the pair stay as they stand.
    assert [line.decode() for line in kept] == ["1\tschön\tnice\t schÃ¶n ", lines[1]]
    assert rejected == [b"\tlength\t0"] and found.repaired == 1
    assert "1 rows were repaired" in funnel.table(found)


# --- the funnel ---------------------------------------------------------------------------------

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
    choice = Choice(
        draw(st.none() | st.integers(0, 14)),
        draw(st.none() | st.integers(0, 20)),
        draw(st.none() | st.sampled_from([0.1, 0.3, 0.5, 0.7])),
    )
    return table, bounds, choice, draw(st.sampled_from(["expensive", "good"]))


def reference(table, bounds, choice: Choice, expensive: str, all_scores: bool):
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
    if not choice.any:
        return removed, stages
    sign = 1 if expensive == "good" else -1
    best = [row for row in range(len(table)) if removed[row] is None]
    best.sort(key=lambda row: (-sign * Decimal(table[row][2]), row))
    keep = {}
    if choice.top is not None:
        keep["top-n"] = best[: choice.top]
    if choice.words is not None:
        keep["target-words"] = [
            row
            for place, row in enumerate(best)
            if sum(table[other][3] for other in best[: place + 1]) <= choice.words
        ]
    if choice.precision is not None:
        many = [
            place
            for place in range(1, len(best) + 1)
            if sum(sign * float(np.float32(table[row][2])) for row in best[:place]) / place
            >= choice.precision
        ]
        keep["target-precision"] = best[: max(many, default=0)]
    for label, rows in keep.items():
        stage(
            label,
            [row in best for row in range(len(table))],
            [row in best and row not in rows for row in range(len(table))],
        )
    return removed, stages


@settings(max_examples=60)
@given(texts_and_bounds(), st.booleans())
def test_the_funnel_adds_up(tmp_path_factory, drawn, all_scores) -> None:
    table, bounds, choice, expensive = drawn
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
    plan = plan_of(*tables, rank="three")
    rows = Rows(path, bitext_format=BitextFormat(on_error="skip"), more=plan.columns)
    found = cleaned(rows, plan, choice=choice, all_scores=all_scores)
    removed, stages = reference(table, bounds, choice, expensive, all_scores)
    assert [None if r < 0 else found.reasons[r] for r in found.removed.tolist()] == removed
    assert [
        (s.label, s.seen, s.alone, s.removed, s.removed_words, s.left, s.left_words)
        for s in found.stages
    ] == stages
    record = funnel.as_dict(found)
    assert record["kept"] + sum(stage.removed for stage in found.stages) == record["rows"]
    assert record["words kept"] == (found.stages[-1].left_words)
    text = funnel.table(found)
    assert text.startswith(f"{len(table)} rows: {record['kept']} kept")
    assert all(stage.label in text for stage in found.stages)
    assert ("nothing is kept" in text) == (bool(table) and not record["kept"])
    # The reasons that are written are those that were found.
    _, rejected = parts(found)
    assert [line.split(b"\t")[-2].decode() for line in rejected] == list(filter(None, removed))
    for line, row in zip(rejected, np.flatnonzero(~found.kept).tolist(), strict=True):
        label, value = line.split(b"\t")[-2:]
        column = {b"one": 0, b"two": 1, b"unreadable": None}.get(label, 2)
        assert float(value) == (1 if column is None else float(table[row][column]))


def test_a_bound_is_inclusive_in_the_scores_own_precision(tmp_path: Path) -> None:
    values = [0.1, 0.7, 1 / 3, 2 / 3, 0.30000001192, 16777217.0]
    path = put(tmp_path / "a.tsv", "".join(f"a\tb\t{value!r}\n" for value in values).encode())
    for row, value in enumerate(values):
        for name in ("minimum", "maximum"):
            plan = plan_of({"name": "cost", "column": 3, name: value})
            kept = cleaned(Rows(path, more=["3"]), plan).kept
            assert kept[row]
            other = np.float32(value)
            expected = [
                np.float32(v) >= other if name == "minimum" else np.float32(v) <= other
                for v in values
            ]
            assert kept.tolist() == expected


def test_filters_in_any_order_keep_the_same(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    scores = generator.integers(0, 9, (400, 3)) / 8
    lines = [f"s{i % 97}\tt{i % 89}\t" + "\t".join(map(str, s)) for i, s in enumerate(scores)]
    path = put(tmp_path / "a.tsv", "".join(f"{line}\n" for line in lines).encode())
    tables = [
        {"name": "cost", "column": 3, "maximum": 0.75},
        {"name": "cost", "label": "other", "column": 4, "minimum": 0.125},
        {"name": "good", "column": 5, "minimum": 0.25},
        {"name": "duplicates", "of": "either"},
        {"name": "decile", "of": "other", "minimum": 4},
    ]
    expected = None
    for shift in range(3):
        for order in (tables[shift:3] + tables[:shift] + tables[3:], [*tables[3:], *tables[:3]]):
            plan = plan_of(*order, rank="good")
            kept = cleaned(Rows(path, more=plan.columns), plan).kept
            expected = kept if expected is None else expected
            np.testing.assert_array_equal(kept, expected)
    assert expected is not None and 0 < expected.sum() < 200


def test_json_has_all_scores(tmp_path: Path) -> None:
    lines = ["a\tb\t0.5\t7", "a\tb\t5\t1e-7", "a\tb\t0.25\t1234567", "a", "a\tb\t0\tinf"]
    path = put(tmp_path / "a.tsv", "".join(f"{line}\n" for line in lines).encode())
    plan = plan_of(
        {"name": "cost", "column": 3, "maximum": 1},
        {"name": "expensive", "column": 4, "label": '100% "expensive"'},
        {"name": "duplicates"},
    )
    found = cleaned(
        Rows(path, bitext_format=BitextFormat(on_error="skip"), more=plan.columns), plan
    )
    write(found, [os.devnull], None, tmp_path / "scores.jsonl")
    records = [json.loads(line) for line in (tmp_path / "scores.jsonl").open(encoding="utf-8")]
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


# --- all together, with a model -----------------------------------------------------------------


@pytest.fixture
def noisy(tmp_path: Path, german: list[str], english: list[str]) -> Path:
    """Pairs, mismatched pairs, duplicates, untranslated copies, and half pairs."""
    pairs = list(zip(german, english, strict=True))
    wrong = list(zip(german, english[7:] + english[:7], strict=True))
    copied = [(text, text) for text in german[:9]]
    lines = [f"{s}\t{t}" for s, t in pairs + wrong[:30] + pairs[:20] + copied] + ["", "a\t"]
    return put(tmp_path / "noisy.tsv", "".join(f"{line}\n" for line in lines).encode())


PLAN = (
    {"name": "length", "of": "shorter", "minimum": 1},
    {"name": "quality", "minimum": 0.2},
    {"name": "margin", "minimum": 0.5},
    {"name": "duplicates", "of": "either"},
)


@pytest.mark.parametrize("size", [7, 60])
def test_blocks_do_not_matter(noisy: Path, knowing_model: Path, monkeypatch, size: int) -> None:
    context = Context("de", "en", model=str(knowing_model))
    plan = plan_of(*PLAN, context=context)
    expected = cleaned(Rows(noisy), plan)
    assert 40 < expected.kept.sum() < 70 and expected.kept[:60].mean() > 0.8
    monkeypatch.setattr(cleaning, "ROWS", size)
    for all_scores in (False, True):
        found = cleaned(Rows(noisy), plan, all_scores=all_scores)
        np.testing.assert_array_equal(found.removed, expected.removed)
        assert written(found) == written(expected)
        assert [
            dataclasses.replace(stage, seconds=0, seen=0, alone=0) for stage in found.stages
        ] == [dataclasses.replace(stage, seconds=0, seen=0, alone=0) for stage in expected.stages]


def test_processes_do_not_matter(noisy: Path, knowing_model: Path, monkeypatch) -> None:
    plan = plan_of(*PLAN, context=Context("de", "en", model=str(knowing_model)))
    expected = cleaned(Rows(noisy), plan)
    monkeypatch.setattr(cleaning, "ROWS", 16)
    found = cleaned(Rows(noisy), plan, threads=2)
    np.testing.assert_array_equal(found.removed, expected.removed)
    for label in ("length", "quality", "margin", "duplicates"):
        np.testing.assert_array_equal(found.scores(label), expected.scores(label))
    assert written(found) == written(expected)
    assert found.precision == expected.precision and 0.2 < (found.precision or 0) < 1


def test_a_missing_model_is_reported_before_the_work(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"a\tb\n" * 5000)
    plan = plan_of(WORDS, {"name": "cosine"}, context=Context(model=str(tmp_path / "none")))
    done = []
    with pytest.raises(ArtifactError, match="none"):
        cleaned(Rows(path), plan, report=lambda *args: done.append(args))
    assert not done


def test_this_process_is_left_as_it_was(noisy: Path, knowing_model: Path) -> None:
    import numba
    from threadpoolctl import threadpool_info

    def limits() -> list[int]:
        return [numba.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())]

    before = limits()
    cleaned(Rows(noisy), plan_of(*PLAN, context=Context(model=str(knowing_model))))
    assert limits()[: len(before)] == before


def test_a_block_without_rows_to_look_at(tmp_path: Path, monkeypatch) -> None:
    """All rows of a block are rejected before an expensive filter that reads a column."""
    monkeypatch.setattr(cleaning, "ROWS", 2)
    path = put(tmp_path / "a.tsv", b"a\tb\t9\n" * 4 + b"a\tb\t1\n" * 3)
    plan = plan_of({"name": "cost", "column": 3, "maximum": 5}, {"name": "expensive", "column": 3})
    found = cleaned(Rows(path, more=["3"]), plan)
    assert found.kept.tolist() == [False] * 4 + [True] * 3
    assert np.isnan(found.scores("expensive")[:4]).all()


def test_an_empty_text(tmp_path: Path, knowing_model: Path) -> None:
    plan = plan_of(*PLAN, {"name": "near_duplicates"}, {"name": "decile", "of": "quality"},
                   context=Context(model=str(knowing_model)))  # fmt: skip
    found = cleaned(Rows(put(tmp_path / "a.tsv", b"")), plan, choice=Choice(3, 5, 0.5))
    assert found.count == 0 and written(found) == ([b""], b"")
    assert funnel.table(found).startswith("0 rows: 0 kept (-), 0 rejected; 0 words kept")
    assert found.precision is None


# --- outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_outputs_appear_together_or_not_at_all(tmp_path: Path, monkeypatch, step: str) -> None:
    path = put(tmp_path / "a.tsv", b"a\tb\n\n")
    found = cleaned(Rows(path), plan_of(WORDS))
    real, left = getattr(os, step), 2 if step == "fsync" else 0

    def full(*arguments):
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(os, step, full)
    with pytest.raises(ResourceError, match="no space left"):
        write(found, [tmp_path / "kept"], tmp_path / "rejected", tmp_path / "scores")
    assert os.listdir(tmp_path) == ["a.tsv"]
    monkeypatch.undo()
    write(found, [tmp_path / "kept.xz"], tmp_path / "rejected.gz", tmp_path / "scores")
    assert sorted(os.listdir(tmp_path)) == ["a.tsv", "kept.xz", "rejected.gz", "scores"]


# --- samples ------------------------------------------------------------------------------------


@given(st.integers(0, 12), st.integers(0, 15), st.booleans())
def test_a_sample_is_spread_evenly(tmp_path_factory, count, size, header) -> None:
    place = tmp_path_factory.getbasetemp()
    lines = [b"s\tt"] * header + [b"%d\tx" % i for i in range(count)]
    path = put(place / "all.tsv", b"".join(line + b"\n" for line in lines))
    [copy] = dry_run.sample(Rows(path, bitext_format=BitextFormat(header=header)), size, place)
    rows = lines_of(Path(copy).read_bytes())
    assert rows[:header] == lines[:header]
    chosen = [int(line.split(b"\t")[0]) for line in rows[header:]]
    assert len(chosen) == min(size, count) and chosen == sorted(set(chosen))
    if size > 1 and count:
        assert chosen[0] == 0 and chosen[-1] == count - 1


def test_a_sample_names_the_line_that_is_at_fault(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"a\tb\n" * 9 + b"a\n")
    with pytest.raises(CorpusError, match=r"a\.tsv, line 10: column 2"):
        dry_run.sample(Rows(path), 3, tmp_path)
    assert (
        len(dry_run.sample(Rows(path, bitext_format=BitextFormat(on_error="skip")), 3, tmp_path))
        == 1
    )
