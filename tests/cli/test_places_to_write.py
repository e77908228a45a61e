"""Outputs on full, missing or closed places: one helpful line, exit code 1, no leftover files."""

import errno
import shlex
import subprocess
from pathlib import Path

import pytest
from support.commands import MINER, Done, Miner, fault, many, miner, only, ready, write  # noqa: F401 (fixtures)


def test_an_index_below_a_file(miner: Miner, german_file: Path) -> None:
    write("file", "text")
    only(miner.index(german_file, "file/out"), "file/out")
    assert miner.entries() == ["file"]


def test_a_full_device_behind_standard_output(miner: Miner) -> None:
    scored, gold = write("scored", "1.5\ta\tb"), write("gold", "a\tb")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*MINER, "evaluate", "mined", scored, gold],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    fault(Done(done.returncode, "", done.stderr), "standard output", "no space left")


def test_an_error_of_a_file_without_a_name(miner: Miner, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error without a file name is blamed on standard output only if that is not writable."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("miner.cli.cli.main", lambda **_: refuse())
    done = miner("doctor")
    only(done, "No space left on device", "TMPDIR")
    assert "standard output" not in done.err


@pytest.mark.parametrize("stream", ["<&-", ">&-"])
def test_a_closed_stream(miner: Miner, stream: str) -> None:
    command = shlex.join([*MINER, "mine", "-", "b"])
    done = subprocess.run(f"{command} {stream}", shell=True, capture_output=True, text=True)
    fault(Done(done.returncode, done.stdout, done.stderr), "closed")


@pytest.mark.parametrize("limit", [20_000, 100_000, 300_000])
def test_no_space_for_an_index(miner: Miner, limit: int, german_file: Path) -> None:
    """Writes of text and of vectors fail beyond a size, as on a full disk."""
    corpus = many(miner.place / "corpus", 4000)
    arguments = ["index", corpus, "--model", miner.model, "-o", "out"]
    only(miner.elsewhere(*arguments, largest=limit), "out", "File too large")
    assert miner.entries() == ["corpus", "out.work"]
    assert miner.index(german_file, "out").code == 0, "a smaller one fits"
