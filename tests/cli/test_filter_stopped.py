"""miner filter: runs that are stopped, inputs that change, and what a later run reuses."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cleaning import given_scores, toml
from support.commands import MINER
from support.raw_lines import hard, lines_of, put

from miner.cleaning import plan, worker, write
from miner.cleaning.run_checkpoint import Checkpoint
from miner.errors import ResourceError

RULES = ({"name": "length", "maximum": 12}, {"name": "cosine", "minimum": 0.3})


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(toml(RULES, {}), encoding="utf-8")
    return tmp_path


def pairs(german: list[str], english: list[str], count: int) -> bytes:
    lines = [f"{german[n % 60]} {n}\t{english[n * 7 % 60]} {n}\n" for n in range(count)]
    return "".join(lines).encode()


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


# --- stopped by a signal ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("stop", "group", "phase"),
    [(signal.SIGTERM, False, "local"), (signal.SIGTERM, True, "model")],
)
def test_a_signal_leaves_only_the_checkpoint(
    miner, german, english, knowing_model: Path, place: Path, monkeypatch, stop, group, phase
) -> None:
    """No process, no temporary file, no part of an output; the repeated run continues."""
    put(place / "big.tsv", pairs(german, english, 30_000))
    (place / "tmp").mkdir()
    words = f"filter - --config rules.toml --threads 2 --model {knowing_model} -o out --rejected no"
    with open("big.tsv", "rb") as data:
        running = subprocess.Popen(
            [*MINER, *words.split()], stdin=data, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TMPDIR": str(place / "tmp")},
        )  # fmt: skip
    deadline = time.monotonic() + 300
    while not any(path.stat().st_size for path in place.glob(f"out.checkpoint/{phase}*.sums")):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    children = psutil.Process(running.pid).children(recursive=True)
    assert len(children) >= 2 and os.listdir("tmp")
    if group:
        os.killpg(running.pid, stop)
    else:
        running.send_signal(stop)
    err = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 130, err
    assert "Traceback" not in err and "interrupted; to go on, repeat: miner filter -" in err
    assert not psutil.wait_procs(children, timeout=10)[1]
    assert os.listdir("tmp") == []
    assert sorted(os.listdir()) == ["big.tsv", "out.checkpoint", "rules.toml", "tmp"]
    scored = 0
    real = worker.Scoring.__call__

    def count(scorer: worker.Scoring, block):
        nonlocal scored
        scored += len(block)
        return real(scorer, block)

    monkeypatch.setattr(worker.Scoring, "__call__", count)
    typed(monkeypatch, (place / "big.tsv").read_bytes())
    arguments = words.replace("--threads 2", "--threads 1").split()
    code, _, err = miner(*arguments)
    assert code == 0 and "going on," in err and "anew" not in err
    # All rows are scored by length, about 30,000 x 5 / 6 by the cosine; some are there already.
    assert scored <= (60_000 - 2048 if phase == "local" else 30_000)
    assert sorted(os.listdir()) == ["big.tsv", "no", "out", "rules.toml", "tmp"]
    kept, rejected = (len(lines_of(Path(name).read_bytes())) for name in ("out", "no"))
    assert kept + rejected == 30_000


def test_standard_input_resumes(miner, german, english, knowing_model, monkeypatch) -> None:
    """The key of a checkpoint is the content, not the place of the copy of standard input."""
    data = pairs(german, english, 500)
    arguments = ("filter", "-", "--config", "rules.toml", "--model", knowing_model, "--threads", 1,
                 "--checkpoint", "scores", "-o", "out")  # fmt: skip
    typed(monkeypatch, data)
    code, _, err = miner(*arguments)
    assert code == 0, err
    expected = Path("out").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(worker, "Scoring", None)  # nothing may be scored
        typed(patch, data)
        code, _, err = miner(*arguments)
        assert (code, Path("out").read_bytes()) == (0, expected), err
        # The same text from a file, too.
        put(Path("again.tsv"), data)
        assert miner("filter", "again.tsv", *arguments[2:])[0] == 0
    typed(monkeypatch, data + b"a\tb\n")
    code, _, err = miner(*arguments)
    assert code == 1 and "scores: holds the scores of another text" in err


def test_two_runs_at_once(miner, knowing_model) -> None:
    """The second one says who is at work, and leaves the first one alone."""
    put(Path("a.tsv"), b"a\tb\n")
    pytest.importorskip("fcntl")
    with Checkpoint("out.checkpoint") as files:
        files.begin({})
        before = sorted(os.listdir("out.checkpoint"))
        code, out, err = miner("filter", "a.tsv", "--config", "rules.toml", "-o", "out",
                               "--model", knowing_model)  # fmt: skip
        assert (code, out, err.count("\n")) == (1, "", 1)
        held = rf"miner: error: out\.checkpoint: held by process {os.getpid()} on \S+ since "
        assert re.match(held, err)
        assert sorted(os.listdir("out.checkpoint")) == before and not Path("out").exists()


def test_a_run_holds_its_checkpoint_while_it_writes(miner, monkeypatch) -> None:
    """Its outputs come from the scores there, which another run would remove."""
    pytest.importorskip("fcntl")
    put(Path("a.tsv"), b"a\tb\n")
    Path("rules.toml").write_text(toml(RULES[:1], {}), encoding="utf-8")
    real, refused = write.write, []

    def writing(*arguments, **named):
        with pytest.raises(ResourceError, match="held by process") as error:
            Checkpoint("out.checkpoint")
        refused.append(error)
        return real(*arguments, **named)

    monkeypatch.setattr(write, "write", writing)
    assert miner("filter", "a.tsv", "--config", "rules.toml", "-o", "out")[0] == 0
    assert len(refused) == 1 and sorted(os.listdir()) == ["a.tsv", "out", "rules.toml"]


@pytest.mark.parametrize("held", [False, True])
def test_an_error_of_the_text_removes_no_files_of_others(miner, held) -> None:
    """Neither a directory of the user's nor the checkpoint of a process at work."""
    pytest.importorskip("fcntl")
    put(Path("a.tsv"), b"\xff\tb\n")
    Path("rules.toml").write_text(toml(({"name": "margin"},), {}), encoding="utf-8")
    with ExitStack() as stack:
        if held:
            stack.enter_context(Checkpoint("out.checkpoint")).begin({})
        else:
            os.mkdir("out.checkpoint")
            put(Path("out.checkpoint/mine.txt"), b"mine")
        before = os.listdir("out.checkpoint")
        code, _, err = miner("filter", "a.tsv", "--config", "rules.toml", "-o", "out")
        assert code == 1 and ("held by" if held else "not the checkpoint of a filter run") in err
        assert os.listdir("out.checkpoint") == before and not Path("out").exists()


def test_an_error_of_the_text_removes_the_checkpoint(miner) -> None:
    put(Path("a.tsv"), b"a\tb\n" * 5000 + b"\xff\tb\n")
    Path("rules.toml").write_text(toml(RULES[:1], {}), encoding="utf-8")
    code, _, err = miner("filter", "a.tsv", "--config", "rules.toml", "-o", "out")
    assert code == 1 and "line 5001" in err
    assert sorted(os.listdir()) == ["a.tsv", "rules.toml"]


# --- inputs, models and libraries that change ---------------------------------------------------


@pytest.mark.parametrize("how", ["replaced", "rewritten"])
def test_an_input_that_changes_is_an_error(miner, german, english, monkeypatch, how) -> None:
    put(Path("a.tsv"), pairs(german, english, 50))
    other = put(Path("other.tsv"), pairs(german[::-1], english[::-1], 50)).read_bytes()
    real = worker.Scoring.__call__

    def change(scorer: worker.Scoring, block):
        if how == "replaced":
            os.replace("other.tsv", "a.tsv")
        else:
            Path("a.tsv").write_bytes(other)
        return real(scorer, block)

    monkeypatch.setattr(worker.Scoring, "__call__", change)
    Path("rules.toml").write_text(toml(RULES[:1], {}), encoding="utf-8")
    code, out, err = miner("filter", "a.tsv", "--config", "rules.toml", "-o", "out", "--rejected",
                           "bad", "--scores-jsonl", "scores", "--report", "r.json")  # fmt: skip
    assert (code, out) == (1, "")
    assert err == ("miner: error: a.tsv changed while it was read; run again once it is complete\n")
    assert set(os.listdir()) <= {"a.tsv", "other.tsv", "rules.toml"}


def test_the_model_of_the_command_line_goes_first(miner, knowing_model, place) -> None:
    """Also if it is the default one."""
    put(Path("a.tsv"), b"Das ist gut.\tThis is good.\n")
    named = ({"name": "cosine"},)
    Path("rules.toml").write_text(toml(named, {"model": str(knowing_model)}), encoding="utf-8")
    common = "a.tsv", "--config", "rules.toml", "--score-only"
    by_file, by_name, default = (
        miner("score", *common, *more)[1]
        for more in ((), ("--model", knowing_model), ("--model", "default"))
    )
    assert by_file == by_name != default
    assert default == miner("score", "a.tsv", "--score", "cosine", "--score-only")[1]


def test_another_version_of_a_library_scores_again(miner, monkeypatch) -> None:
    """With a note, and also in a checkpoint that the user keeps."""
    pytest.importorskip("ftfy")
    put(Path("a.tsv"), b"a\tb\n" * 3)
    Path("rules.toml").write_text(toml(({"name": "encoding"},), {}), encoding="utf-8")
    command = ("filter", "a.tsv", "--config", "rules.toml", "--checkpoint", "scores", "-o", "out")
    assert miner(*command)[0] == 0
    assert "anew" not in miner(*command)[2]
    real = plan.version
    monkeypatch.setattr(plan, "version", lambda name: {"ftfy": "0.1"}.get(name) or real(name))
    code, _, err = miner(*command)
    assert code == 0
    assert re.match(r"scores holds the scores of ftfy \S+ \(now 0\.1\); starting anew\n", err)
    assert "anew" not in miner(*command)[2]


# --- every line is accounted for ----------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hard,
    st.sampled_from(["fail", "skip", "replace"]),
    st.booleans(),
    st.sampled_from(["", ".gz", ".xz"]),
    st.booleans(),
)
def test_every_line_is_kept_rejected_or_reported(
    miner, place: Path, data, on_error, header, suffix, copied
) -> None:
    """Lines in = header + kept + rejected, as told; or one line of error and no output at all."""
    for name in os.listdir():
        Path(name).unlink()
    data = data * (1 + copied)
    path = put(place / f"a.tsv{suffix}", data)
    rules = ({"name": "length", "minimum": 1, "of": "shorter"}, {"name": "duplicates"})
    Path("rules.toml").write_text(toml(rules, {}), encoding="utf-8")
    with given_scores():  # which waits for no disk
        code, out, err = miner(
            "filter", path, "--config", "rules.toml", "--on-error", on_error, "-o", "kept",
            "--rejected", "bad", *["--header"] * header,
        )  # fmt: skip
    assert out == "" and "Traceback" not in err
    if code:
        assert code == 1 and (on_error != "skip" or header)
        assert "\nminer: error: " in f"\n{err}" and not {"kept", "bad"} & set(os.listdir())
        return
    total = len(lines_of(data))
    head = int(header and total > 0)
    kept, bad = (len(lines_of(Path(name).read_bytes())) - head for name in ("kept", "bad"))
    assert kept + bad == total - head
    found = re.search(r"^([\d,]+) rows: ([\d,]+) kept .*?, ([\d,]+) rejected", err, re.MULTILINE)
    assert found is not None
    assert [int(number.replace(",", "")) for number in found.groups()] == [total - head, kept, bad]
