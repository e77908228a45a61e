"""Work directories of a filter run: resumed, reused with other bounds, or refused."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cleaning import config_of, filters  # noqa: F401 (fixture)
from support.raw_lines import put

from miner.cleaning import scorers
from miner.cleaning.config import FilterConfig
from miner.cleaning.decide import Cleaned
from miner.cleaning.pipeline import filter_text, text_run
from miner.cleaning.scorers import Scorers
from miner.cleaning.settings import Selection
from miner.errors import CorpusError, MismatchError
from miner.tasks.run import Run, RunOptions
from miner.tasks.workers import Workers

# Rows of a piece; the text has six.
SIZE = 8


@pytest.fixture
def text(tmp_path: Path) -> Path:
    scores = np.random.default_rng(5).integers(0, 9, (48, 2)) / 8
    lines = [f"s{i % 17}\tt{i % 13}\t{one}\t{two}" for i, (one, two) in enumerate(scores.tolist())]
    return put(tmp_path / "text.tsv", "".join(f"{line}\n" for line in lines).encode())


def config(low: float = 0.2, high: float = 0.9, **more: Any) -> FilterConfig:
    cost = {"name": "cost", "column": 3, "minimum": low}
    good = {"name": "good", "column": 4, "maximum": high}
    return config_of(cost, good, {"name": "duplicates", "of": "either"} | more)


def run(
    text: Path, work: Path, config: FilterConfig, output: Path | None = None, **named: Any
) -> Cleaned:
    options = RunOptions(work, workers=Workers(shard_lines=SIZE))
    with text_run("filtering", [[str(text)]], options=options) as (started, bitexts):
        outputs = [] if output is None else [{"kept": str(output)}]
        return filter_text(started, bitexts, config, outputs=outputs, **named).whole()


class Counter:
    """Count scored rows by pass: cheap filters, and expensive ones."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.rows = {True: 0, False: 0}
        self.fail: tuple[bool, int] | None = None
        real = Scorers.__call__

        def look(scorers: Scorers, layout, block):
            if self.fail == (scorers.first, self.rows[scorers.first] // SIZE):
                raise KeyboardInterrupt
            self.rows[scorers.first] += len(block)
            return real(scorers, layout, block)

        monkeypatch.setattr(Scorers, "__call__", look)

    def again(self) -> None:
        self.rows, self.fail = {True: 0, False: 0}, None


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch)


def same(one: Cleaned, other: Cleaned) -> None:
    np.testing.assert_array_equal(one.removed, other.removed)
    for label in ("cost", "good", "duplicates"):
        np.testing.assert_array_equal(one.scores(label), other.scores(label))


def done(work: Path) -> dict[str, int]:
    return {str(path.parent): path.stat().st_mtime_ns for path in work.glob("*/*/done.json")}


def redone(work: Path, before: dict[str, int]) -> set[str]:
    """Return the kinds of tasks that ran since ``before``."""
    return {Path(name).parent.name for name, time in done(work).items() if before.get(name) != time}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("pieces", [0, 2, 5])
def test_a_run_that_was_stopped_goes_on(text, tmp_path, counter, first, pieces) -> None:
    everything = {"all_scores": True}
    expected = run(text, tmp_path / "whole", config(), **everything)
    counter.again()
    counter.fail = first, pieces
    with pytest.raises(KeyboardInterrupt):
        run(text, tmp_path / "work", config(), **everything)
    counter.again()
    same(run(text, tmp_path / "work", config(), **everything), expected)
    left = 48 - SIZE * pieces
    assert counter.rows == {True: left if first else 0, False: 48 if first else left}
    counter.again()
    same(run(text, tmp_path / "work", config(), **everything), expected)
    assert counter.rows == {True: 0, False: 0}


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({}, set()),
        ({"output": True}, {"write", "join"}),
        ({"selection": Selection(top=3)}, {"send", "rank", "write"}),
        ({"config": {"high": 0.8}}, {"send", "together", "compare", "write"}),
        ({"config": {"maximum": 5}}, {"write"}),
        ({"config": {"label": "l"}}, {"check", "rate", "send", "together", "compare", "write"}),
        ({"library": True}, {"check", "rate", "send", "together", "compare", "write"}),
    ],
)  # fmt: skip
def test_what_a_change_redoes(text, tmp_path, monkeypatch, change, kinds) -> None:
    """Only tasks whose arguments or inputs differ run again."""
    work = tmp_path / "work"
    run(text, work, config())
    before = done(work)
    if "library" in change:
        monkeypatch.setattr(scorers.unicodedata, "unidata_version", "99")
    output = tmp_path / "out.tsv" if "output" in change else None
    selection = change.get("selection", Selection())
    run(text, work, config(**change.get("config", {})), output, selection=selection)
    assert redone(work, before) - {"gather", "prepare"} == kinds


@pytest.mark.parametrize("phase", [True, False])
@pytest.mark.parametrize("how", ["replaced", "rewritten", "gone"])
def test_a_text_that_changes_is_refused(text, tmp_path, monkeypatch, phase, how) -> None:
    """Replacing the text by one of equal row count during reading leaves no output."""
    other = b"".join(reversed(text.read_bytes().splitlines(keepends=True)))
    real, calls = Scorers.__call__, 0

    def change(scorers: Scorers, layout, block):
        nonlocal calls
        calls += scorers.first == phase
        if calls == 3 and how == "replaced":
            os.replace(put(tmp_path / "other.tsv", other), text)
        elif calls == 3 and how == "rewritten":
            text.write_bytes(other)
        elif calls == 3:
            text.rename(tmp_path / "elsewhere.tsv")
        return real(scorers, layout, block)

    monkeypatch.setattr(Scorers, "__call__", change)
    out = tmp_path / "out.tsv"
    with pytest.raises(CorpusError, match=r"text\.tsv(: cannot be|:? changed while it was) read"):
        run(text, tmp_path / "work", config(), out)
    assert not out.exists()


def test_a_file_that_a_filter_reads_changes(text, tmp_path, monkeypatch) -> None:
    """Workers use the content from the start of the run, or fail with one line."""
    good = put(tmp_path / "good.en", b"this is good\n" * 9)
    perplexity = config_of({"name": "perplexity", "references": str(good)})
    real = Run.wait

    def wait(started: Run, **named: Any) -> None:
        if "last" in named:
            good.write_bytes(b"that was bad\n" * 9)
        real(started, **named)

    monkeypatch.setattr(Run, "wait", wait)
    with pytest.raises(MismatchError, match=r"good\.en: changed since the run began"):
        run(text, tmp_path / "work", perplexity)
