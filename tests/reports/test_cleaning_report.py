"""miner.reports.cleaning_report: samples, text, and the page in a browser."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.browser import needs_browser, slid
from support.files import write

from miner.cleaning import samples
from miner.cleaning.config import FilterConfig, Step
from miner.cleaning.config_file import read_config
from miner.cleaning.decide import Cleaned
from miner.cleaning.filtered import Filtered
from miner.cleaning.pipeline import filter_text, text_run
from miner.cleaning.scorers import broken
from miner.cleaning.settings import Selection
from miner.filters.filter_types import Context
from miner.reports import cleaning_report
from miner.reports.cleaning_charts import curve_of
from miner.tasks.run import RunOptions
from miner.tasks.workers import Workers
from miner.text.formats import USUAL_FORMAT, BitextFormat

LENGTH = '[[filter]]\nname = "length"\nminimum = 2\nmaximum = 7\n'
RATIO = '[[filter]]\nname = "length_ratio"\nmaximum = 1.5\n'
COPIES = '[[filter]]\nname = "duplicates"\n'
COSINE = 'rank = "cosine"\n[[filter]]\nname = "cosine"\nminimum = 0.2\n'


def pairs() -> list[tuple[str, str]]:
    """Return pairs of many lengths, with wrong pairs, near-duplicates and markup."""
    from support.near_copies import sentences

    german, english = sentences("de"), sentences("en")
    out = list(zip(german, english, strict=True))
    out += [(german[i], english[(i + 7) % 60]) for i in range(20)]
    out += [(german[i] + "!", english[i].upper()) for i in range(10)]
    out += [("", ""), ("<script>alert(1)</script> & Co", "<b>bold</b>"), ("lang " * 300, "x")]
    return out


def config_of(tmp_path: Path, text: str, model: Path | str = "default") -> FilterConfig:
    (tmp_path / "plan.toml").write_text(text)
    return read_config(tmp_path / "plan.toml", Context(model=str(model)))


# Runs whose scores are read later.
_open = ExitStack()


@pytest.fixture(scope="module", autouse=True)
def open_runs() -> Iterator[None]:
    with _open:
        yield


def run(
    tmp_path: Path,
    text: str,
    model: Path | str = "default",
    files: tuple[Path, ...] = (),
    reading: BitextFormat = USUAL_FORMAT,
    **more: Any,
) -> Filtered:
    names = [list(map(str, files or [write(tmp_path / "bitext.tsv", pairs())]))]
    run, bitexts = _open.enter_context(
        text_run("filtering", names, reading, RunOptions(workers=Workers(shard_lines=50)))
    )
    config = config_of(tmp_path, text, model)
    return filter_text(run, bitexts, config, **more)


def written(tmp_path: Path, done: Filtered) -> str:
    cleaning_report.write(tmp_path / "page.html", done)
    return (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cleaning")


@pytest.fixture(scope="module")
def done(place: Path, tiny_model: Path) -> Filtered:
    return run(place, COSINE + LENGTH + RATIO + COPIES, tiny_model)


@pytest.fixture(scope="module")
def found(done: Filtered) -> Cleaned:
    return done.whole()


@pytest.fixture(scope="module")
def page(place: Path, done: Filtered) -> Path:
    cleaning_report.write(place / "page.html", done)
    return place / "page.html"


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf]), max_size=60),
    st.integers(1, 7),
    st.integers(1, 60),
)
def test_nearest_equals_a_full_sort(distance: list[float], size: int, part: int) -> None:
    rows = np.arange(len(distance))
    plain = np.lexsort((samples.hash_of(rows), np.array(distance)))[:size]
    for order in (rows, rows[::-1]):
        nearest = samples.Nearest(size)
        for start in range(0, len(rows), part):
            own = order[start : start + part]
            nearest.add(own, np.array(distance)[own])
        assert nearest.rows.tolist() == plain.tolist()


bound = st.one_of(st.none(), st.sampled_from([-3.0, 0.0, 0.1, 0.7, 2.5, 4.0, 1e6]))


@given(
    st.lists(st.floats(-5, 20, width=32) | st.just(float("inf")), max_size=50), bound, bound,
    st.booleans(),
)  # fmt: skip
def test_no_bar_straddles_a_bound(numbers, low, high, whole):
    if low is not None and high is not None and low > high:
        low, high = high, low
    values = np.array(numbers, dtype=np.float32)
    if whole:
        values = np.round(values)
    step = Step("length" if whole else "cosine", "x", {}, low, high)
    edges = samples.edges(step, values)
    assert len(edges) > 1 and (np.diff(edges) > 0).all() and len(edges) < 3 * samples.BARS
    bad = broken([step], values[:, None])[:, 0]
    one = samples.StepSummary(step, 0, 1, values, bad)
    one.add(0, np.full(len(values), -1, dtype=np.int16), np.ones(len(values), dtype=bool))
    inside, outside = one.inside, one.outside
    assert (inside.sum(), outside.sum()) == ((~bad).sum(), bad.sum())
    beyond = set(samples._cuts(step)) - set(edges.tolist())
    if not beyond and not one.below + one.above:
        assert not (inside * outside).any()


def test_samples_are_those_nearest_to_the_bounds(found: Cleaned) -> None:
    summaries = {one.step.label: one for one in samples.summaries(found)}
    one = summaries["length"]
    values = found.scores("length")
    groups = {group.title: group.rows for group in one.groups}
    assert list(groups) == [
        "Just within the minimum of 2",
        "Just below 2",
        "Just within the maximum of 7",
        "Just above 7",
        "Some of those it removed",
    ]
    above = groups["Just above 7"]
    assert len(above) == samples.SAMPLES
    assert sorted(values[above]) == sorted(values[values > 7])[: samples.SAMPLES]
    within = groups["Just within the maximum of 7"]
    assert found.kept[within].all()
    assert sorted(-values[within]) == sorted(-values[found.kept])[: samples.SAMPLES]
    assert values[groups["Just below 2"]].tolist() == [0.0]  # the row without text
    assert (one.inside.sum(), one.outside.sum()) == (
        (values <= 7).sum() - 1,
        (values > 7).sum() + 1,
    )
    # The expensive filter scored only rows that passed the cheap ones.
    cosine = summaries["cosine"]
    assert cosine.inside.sum() + cosine.outside.sum() == (~np.isnan(found.scores("cosine"))).sum()
    # Rejected copies have no order.
    assert [group.title for group in summaries["duplicates"].groups] == ["Some of those it removed"]


@pytest.mark.parametrize("more", ["", "[[filter]]\nname = 'length'\nlabel = 'l'\nmaximum = 8\n"])
def test_the_curve_equals_runs_with_other_thresholds(tmp_path, tiny_model, more):
    done = run(tmp_path, COSINE + COPIES + more, tiny_model, all_scores=True)
    found = done.whole()
    curve = curve_of(found, done.unbounded())
    assert not curve.most
    assert (np.diff(curve.kept) >= 0).all() and curve.threshold.tolist() == sorted(
        curve.threshold, reverse=True
    )
    assert curve.kept[curve.now] == found.kept.sum() and curve.threshold[curve.now] == 0.2
    for place in range(0, len(curve.threshold), 97):
        config = found.config.with_bound(float(curve.threshold[place]))
        other = done._gathered(config, f"{place}-")
        assert other.kept.sum() == curve.kept[place]
        assert other.words[other.kept].sum() == curve.words[place]


def test_a_curve_of_a_cheap_score_warns(tmp_path: Path, tiny_model: Path) -> None:
    text = 'rank = "length_ratio"\n' + RATIO + '[[filter]]\nname = "cosine"\nminimum = 0.2\n'
    done = run(tmp_path, text, tiny_model)
    curve = curve_of(done.whole(), done.unbounded())
    assert curve.most
    assert (np.diff(curve.threshold) > 0).all()  # lower is better, so low values are strict
    assert curve.threshold[curve.now] == 1.5
    assert "looked only at pairs" in written(tmp_path, done)


def test_parts_of_the_page(page: Path, found: Cleaned) -> None:
    text = page.read_text(encoding="utf-8")
    for part in (
        "bitext.tsv",
        f"{found.count:,}",
        "not given",
        "words of one side",
        "Just above 7",
        "Just within the minimum of 0.2",
        "words; line",
        "a cosine of",
        "a duplicate of line",
        "Some of the pairs kept",
        "--top-n",
        "… (1,500 characters)",
    ):
        assert part in text, part
    assert not re.findall(
        r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?(?:https?:)?//", text
    )


def test_text_is_escaped(tmp_path: Path) -> None:
    label = "</script><script>alert(2)</script>"
    config = LENGTH + f"label = '{label}'\n" + "[[filter]]\nname='longest_word'\n"
    odd = tmp_path / "<i>name.tsv"
    write(tmp_path / "bitext.tsv", pairs()).rename(odd)
    text = written(tmp_path, run(tmp_path, config, files=(odd,)))
    assert "<script>alert(1)" not in text and "&lt;script&gt;alert(1)" in text
    assert label not in text and "<i>name" not in text and "<b>bold" not in text


@pytest.mark.parametrize("text", [LENGTH, COSINE + LENGTH + COPIES])
@pytest.mark.parametrize("lines", [[], [("", "")], [("a b", "")] * 30])
def test_pages_without_pairs(tmp_path, tiny_model, text, lines):
    done = run(tmp_path, text, tiny_model, files=(write(tmp_path / "bitext.tsv", lines),))
    said = written(tmp_path, done)
    assert "What each filter removed" in said
    assert ("nothing is kept" in said) == (bool(lines) and not done.whole().kept.any())
    if "cosine" not in text:
        assert "Nothing ranks the pairs" in said


def test_a_choice_of_the_best_and_rows_that_cannot_be_read(tmp_path, tiny_model):
    path = tmp_path / "bad.tsv"
    lines = [f"{source}\t{target}\n".encode() for source, target in pairs()]
    path.write_bytes(b"".join([*lines, b"one column\n", b"\xff\t\xff\n"]))
    done = run(
        tmp_path,
        COSINE,
        tiny_model,
        (path,),
        BitextFormat(on_error="skip"),
        selection=Selection(top=10),
    )
    found = done.whole()
    assert found.reasons == ["unreadable", "cosine", "top-n"]
    summaries = samples.summaries(found)
    rows = next(
        group.rows for group in summaries[0].groups if group.title.startswith("Just within")
    )
    # Near the bound, although the selection removed them.
    assert not found.kept[rows].any() and (found.removed[rows] == 2).all()
    (unread, some), (label, around) = samples.others(found)
    assert (unread, sorted(some[0].rows)) == ("unreadable", [len(lines), len(lines) + 1])
    rank = found.rank
    assert label == "top-n" and rank is not None
    assert rank[around[0].rows[0]] == rank[found.removed == 2].max()
    assert rank[around[1].rows[0]] == rank[found.kept].min()
    curve = curve_of(found, done.unbounded())
    assert curve.kept[curve.now] == 10
    said = written(tmp_path, done)
    assert "The best of what it removed" in said and "removed: unreadable" in said


def test_two_files_and_json(tmp_path: Path, german_file: Path, english_file: Path) -> None:
    done = run(tmp_path, LENGTH, files=(german_file, english_file))
    assert "tiny.de × tiny.en" in written(tmp_path, done)
    path = tmp_path / "no\udcffutf8.jsonl"
    records = [{"source": source, "target": target} for source, target in pairs()]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    text = written(tmp_path, run(tmp_path, LENGTH + COPIES, files=(path,)))
    assert "no?utf8.jsonl" in text and "a duplicate of line" in text


def test_the_command_writes_a_page_or_json(tmp_path, miner):
    write(tmp_path / "bitext.tsv", pairs())
    (tmp_path / "plan.toml").write_text(LENGTH + RATIO)
    wishes = ("filter", tmp_path / "bitext.tsv", "--config", tmp_path / "plan.toml", "--threads", 1)
    code, _, said = miner(*wishes, "-o", tmp_path / "o", "--report", tmp_path / "r.html")
    assert code == 0, said
    assert "length_ratio" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not (tmp_path / "o.work").exists()
    code, _, said = miner(*wishes, "-o", tmp_path / "o", "--report", tmp_path / "r.json")
    assert code == 0 and json.loads((tmp_path / "r.json").read_text())["rows"] == len(pairs())
    code, out, said = miner(*wishes, "--dry-run", 30, "--report", tmp_path / "dry.html")
    assert (code, out) == (0, "")
    text = (tmp_path / "dry.html").read_text(encoding="utf-8")
    assert "a sample of 30 rows" in text and "bitext.tsv" in text and "sample0" not in text


@needs_browser
def test_the_page_in_a_browser(found: Cleaned, place: Path, tiny_model: Path) -> None:
    # A name that would end a script element if it were not escaped.
    text = COSINE + LENGTH + "label = '</script><h1>no'\n" + RATIO + COPIES
    cleaning_report.write(place / "odd.html", run(place, text, tiny_model))
    # A curve for each filter with scores, and a histogram; the score's has a line, too.
    said = slid(place / "odd.html", charts=4, lines=2)
    assert f"--threshold 0.2 keeps {found.kept.sum()} pairs" in said
