"""``miner search`` and ``mine`` that are stopped and go on, or done again with more text."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

from miner.errors import ResourceError
from miner.index.index import Index
from miner.knn import engines, knn_search, search_checkpoint
from miner.scoring.pairs import Pairs
from miner.text.locks import lock

Miner = Callable[..., tuple[int, str, str]]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state after every block, of which the small text has 16."""
    monkeypatch.setattr(search_checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(knn_search, "BLOCK", 16)


@pytest.fixture
def merges(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Grows with every block that is merged; an interrupt comes with the block after its first."""
    blocks: list[int | None] = [None]
    for engine in (engines.Int8Engine, engines.Float32Engine):

        def merge(self: Any, *rest: Any, original: Any = engine.merge) -> None:
            if len(blocks) - 1 == blocks[0]:
                raise KeyboardInterrupt
            blocks.append(1)
            original(self, *rest)

        monkeypatch.setattr(engine, "merge", merge)
    return blocks


def test_a_stopped_search_goes_on(miner, sides, tmp_path, small, merges):
    """Its state lies beside the output, and is gone when that is written."""
    code, _, _ = miner("search", *sides, "--no-estimate", "-o", tmp_path / "scratch.tsv")
    assert code == 0 and os.listdir(tmp_path) == ["scratch.tsv"]
    out, state = tmp_path / "pairs.tsv", tmp_path / "pairs.tsv.checkpoint.h5"
    merges[:] = [5]
    code, _, err = miner("search", *sides, "-o", out)
    assert code == 130
    assert err.splitlines()[
        -1
    ] == f"miner: interrupted; to go on, repeat: miner search {sides[0]} " + (
        f"{sides[1]} -o {out}"
    )
    assert state.exists() and not out.exists()
    merges[:] = [None]
    code, _, err = miner("search", *sides, "-o", out, "--no-estimate")
    assert code == 0 and f"{state}: resuming a stopped search at 3" in err
    assert len(merges) - 1 == 16 - 5
    assert sorted(os.listdir(tmp_path)) == ["pairs.tsv", "scratch.tsv"]
    assert out.read_bytes() == (tmp_path / "scratch.tsv").read_bytes()


def test_pairs_that_cannot_be_written_do_not_cost_the_search(
    miner: Miner, sides: tuple[Path, Path], tmp_path: Path, small: None,
    merges: list[int | None], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def full(*rest: Any, **settings: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left", str(tmp_path / "o"))

    with monkeypatch.context() as patch:
        patch.setattr(Pairs, "write", full)
        code, _, err = miner("search", *sides, "-o", tmp_path / "o", "--no-estimate")
    assert code == 1 and "no space left" in err and os.listdir(tmp_path) == ["o.checkpoint.h5"]
    merges[:] = [None]
    code, _, err = miner("search", *sides, "-o", tmp_path / "o", "--no-estimate")
    assert code == 0 and "searched before" in err and len(merges) == 1
    assert os.listdir(tmp_path) == ["o"]


def test_a_state_serves_every_later_search(miner, sides, tmp_path, merges):
    """The estimate searches decoys as well, and neither uses nor changes the state."""
    state = tmp_path / "search.h5"
    code, first, once = miner("search", *sides, "--checkpoint", state, "--target-precision", "0.9")
    assert code == 0
    with h5py.File(state) as file:
        assert json.loads(file.attrs["search"])["sizes"] == [60, 60]
    number = len(merges)
    merges[:] = [None]
    code, second, again = miner(
        "search", *sides, "--checkpoint", state, "--target-precision", "0.9"
    )
    assert code == 0 and second == first and len(merges) == number - 1
    notes = [line for line in again.splitlines() if line not in once.splitlines()]
    (note,) = notes
    assert "60 x 60 sentences were searched before; 0 and 0 are new" in note
    assert again.replace(f"{note}\n", "") == once
    code, third, err = miner("search", *sides, "--checkpoint", state, "-k", "3", "--no-estimate")
    assert code == 0 and "of another search (another k); starting over" in err
    assert third == miner("search", *sides, "-k", "3", "--no-estimate")[1]


@pytest.mark.parametrize("parts", [(40, 60), (60, 45), (35, 25)])
def test_added_text_is_all_that_is_searched(
    miner: Miner, verifying_model: Path, sides: tuple[Path, Path], german: list[str],
    english: list[str], tmp_path: Path, parts: tuple[int, int], merges: list[int | None],
) -> None:  # fmt: skip
    for name, lines, part in zip("ab", (german, english), parts, strict=True):
        for end, text in (("1", lines[:part]), ("2", lines[part:])):
            (tmp_path / (name + end)).write_text("\n".join([*text, ""]), encoding="utf-8")
        miner("index", tmp_path / f"{name}1", "--model", verifying_model, "-o", tmp_path / name)
    state = "--checkpoint", tmp_path / "search.h5"
    assert miner("search", tmp_path / "a", tmp_path / "b", *state)[0] == 0
    for name in "ab":
        more = "--add", "--model", verifying_model
        assert miner("index", tmp_path / f"{name}2", *more, "-o", tmp_path / name)[0] == 0
    code, out, err = miner("search", tmp_path / "a", tmp_path / "b", *state, "--no-estimate")
    assert code == 0 and f"{60 - parts[0]} and {60 - parts[1]} are new" in err
    assert out == miner("search", *sides, "--no-estimate")[1] and len(out.splitlines()) > 50


def test_mine_goes_on_in_its_directory(
    miner: Miner, verifying_model: Path, german_file: Path, english_file: Path, tmp_path: Path,
    small: None, merges: list[int | None],
) -> None:  # fmt: skip
    line = ["mine", german_file, english_file, "--model", verifying_model, "--threshold", "0.2"]
    line += ["--no-estimate"]
    wanted = miner(*line)
    assert wanted[0] == 0 and len(wanted[1].splitlines()) > 30
    line += ["--work", tmp_path / "work"]
    merges[:] = [3]
    code, out, err = miner(*line)
    assert code == 130 and out == "" and "interrupted" in err
    merges[:] = [None]
    code, out, err = miner(*line)
    assert (
        code == 0
        and out == wanted[1]
        and "resuming a stopped search" in err
        and len(merges) == 1 + 13
    )
    code, out, err = miner(*line)
    assert code == 0 and out == wanted[1] and "searched before" in err and len(merges) == 1 + 13
    assert sorted(os.listdir(tmp_path / "work")) == ["mine.json", "search.h5", "source", "target"]


def test_mine_replaces_no_index_of_other_text(
    miner: Miner, verifying_model: Path, german_file: Path, english_file: Path, tmp_path: Path
) -> None:
    work, model = tmp_path / "work", ("--model", verifying_model)
    few = tmp_path / "few.de"
    few.write_text("".join(german_file.read_text(encoding="utf-8").splitlines(True)[:30]), "utf-8")
    assert miner("index", few, *model, "-o", work / "source")[0] == 0
    line = "--no-estimate", *model, "--work", work
    code, out, err = miner("mine", german_file, english_file, *line)
    assert code == 2 and out == "" and "name another --work" in err.splitlines()[-1]
    assert len(Index.open(work / "source")) == 30 and os.listdir(work) == ["source"]
    # The index that this command itself would write is no obstacle, nor are its own of other text.
    assert miner("mine", few, english_file, *line)[0] == 0
    assert miner("mine", german_file, english_file, *line[:-1], tmp_path / "own")[0] == 0
    assert miner("mine", few, english_file, *line[:-1], tmp_path / "own")[0] == 0
    assert len(Index.open(tmp_path / "own" / "source")) == 30


def test_two_runs_of_mine_exclude_each_other(
    miner: Miner, verifying_model: Path, german_file: Path, english_file: Path, tmp_path: Path
) -> None:
    line = "mine", german_file, english_file, "--model", verifying_model, "--work", tmp_path
    with lock(tmp_path / "mine.json"):
        code, out, err = miner(*line)
    assert code == 1 and out == "" and f"held by process {os.getpid()}" in err
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_search_that_is_killed_goes_on(miner, sides, tmp_path):
    """kill -9, in the midst of it; a state that is half written is never read."""
    code, wanted, _ = miner("search", *sides, "--no-estimate")
    assert code == 0
    slow = (
        "import sys, time\n"
        "from miner.cli import main\n"
        "from miner.knn import knn_search, search_checkpoint\n"
        "search_checkpoint.EVERY, knn_search.BLOCK, knn_search.SMALL = 0.0, 8, 0\n"
        "old = search_checkpoint.Checkpoint.save\n"
        "def save(*rest):\n    old(*rest); time.sleep(0.1)\n"
        "search_checkpoint.Checkpoint.save = save\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    out, state = tmp_path / "pairs.tsv", tmp_path / "pairs.tsv.checkpoint.h5"
    line = ["search", *map(str, sides), "--no-estimate", "--threads", "2", "-o", str(out)]
    running = subprocess.Popen([sys.executable, "-c", slow, *line], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not state.exists():
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(0.3)
        running.send_signal(signal.SIGKILL)
        running.wait(60)
    finally:
        running.kill()
    assert running.returncode == -signal.SIGKILL and not out.exists()
    code, _, err = miner(*line)
    assert code == 0 and "resuming a stopped search" in err
    assert out.read_text(encoding="utf-8") == wanted
    assert os.listdir(tmp_path) == ["pairs.tsv"]


# --- which file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_the_checkpoint_is_not_the_output(miner, sides, tmp_path, option):
    place = tmp_path / "one.tsv"
    other = tmp_path / "." / "one.tsv"
    code, out, err = miner("search", *sides, "--checkpoint", place, option, other)
    assert code == 2 and f"{option} and --checkpoint are both" in " ".join(err.split())
    assert out == "" and not os.listdir(tmp_path)


def test_a_file_of_something_else_is_not_replaced(miner, sides, tmp_path):
    """Neither a text under the default name, nor the inside of an index, nor a file of text."""
    text = tmp_path / "pairs.tsv.checkpoint.h5"
    text.write_text("mine\n")
    vectors = sides[0] / "embeddings.h5"
    before = vectors.read_bytes()
    for arguments in (("--checkpoint", text), ("-o", tmp_path / "pairs.tsv")):
        code, out, err = miner("search", *sides, *arguments)
        assert code == 1 and out == "" and "not a checkpoint of a search" in err
        assert len(err.splitlines()) == 1
    for place in (vectors, sides[1]):
        code, out, err = miner("search", *sides, "--checkpoint", place)
        assert code == 2 and out == "" and "would replace the input" in " ".join(err.split())
    assert text.read_text() == "mine\n" and vectors.read_bytes() == before


@pytest.mark.parametrize("output", ["-", "/dev/null", "fifo"])
def test_no_checkpoint_beside_a_device_or_a_pipe(miner, sides, tmp_path, output, monkeypatch):
    def refused(*rest: Any, **settings: Any) -> None:
        pytest.fail("a checkpoint")

    reader = None
    if output == "fifo":
        output = str(tmp_path / "fifo")
        os.mkfifo(output)
        reader = subprocess.Popen(["cat", output], stdout=subprocess.PIPE)
    monkeypatch.setattr(search_checkpoint, "Checkpoint", refused)
    code, out, _ = miner("search", *sides, "-o", output, "--no-estimate")
    piped = reader.communicate(timeout=60)[0].decode() if reader else ""
    assert code == 0 and bool(out or piped) == (output != "/dev/null")


# --- engines ------------------------------------------------------------------------------------


def test_engines_find_the_same_pairs(miner: Miner, sides: tuple[Path, Path]) -> None:
    found = [
        miner("search", *sides, *arguments, "--device", "cpu")
        for arguments in ((), ("--engine", "fused"), ("--engine", "faiss"), ("--exact",),
                          ("--threads", "1"), ("--memory", "64M"))
    ]  # fmt: skip
    assert {code for code, _, _ in found} == {0}
    assert len({out for _, out, _ in found}) == 1 and len({err for _, _, err in found}) == 1
    code, _, err = miner("search", *sides, "--engine", "scann")
    assert code == 2 and "'scann' is not one of 'auto', 'fused'" in err


@pytest.mark.parametrize("engine", ["fused", "faiss"])
def test_no_gpu(miner: Miner, sides: tuple[Path, Path], engine: str) -> None:
    try:
        engines.search_device("cuda", engine)
    except ResourceError:
        pass
    else:
        pytest.skip("there is a GPU here")
    code, out, err = miner("search", *sides, "--device", "cuda", "--engine", engine)
    *notes, error = err.splitlines()
    assert code == 1 and out == "" and error.startswith("miner: error: ")
    assert all(note.startswith("source: ") for note in notes)
    assert "--device cuda" in err and "use --device cpu" in err


def test_pairs_can_go_where_mine_keeps_its_work(
    miner: Miner, german_file: Path, english_file: Path, verifying_model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "out"
    code, _, err = miner(
        "mine", german_file, english_file, "--model", verifying_model, "--no-estimate",
        "--work", place, "-o", place / "pairs.tsv",
    )  # fmt: skip
    assert code == 0, err
    assert (place / "pairs.tsv").exists()
