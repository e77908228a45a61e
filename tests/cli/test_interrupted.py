"""Signals and closed pipes: exit codes and leftovers of another process."""

import os
import subprocess
from pathlib import Path

import pytest
from support.commands import MINER, Done, Miner, fault, many, miner, ready, write  # noqa: F401 (fixtures)

from miner.index import columns
from miner.index.index import Index


@pytest.mark.parametrize("command", ["index", "add", "mine", "search"])
def test_interrupted_at_the_last_moment(ready, command, german_file, english_file, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    output = write("out.tsv", "older")
    before = ready.entries()
    with monkeypatch.context() as patch:
        if command == "search":
            patch.setattr(Index, "sentences", interrupt)
            done = ready.search("de", "en", "-o", output)
        elif command == "mine":
            patch.setattr(Index, "sentences", interrupt)
            done = ready.mine(german_file, english_file, "-o", output)
        else:
            patch.setattr(columns.VectorWriter, "seal", interrupt)
            more = ["--add"] if command == "add" else ["--overwrite"]
            done = ready.index(english_file, "de", *more)
    assert (done.code, done.out) == (130, "")
    assert "interrupted; to go on, repeat: miner " in done.err.splitlines()[-1]
    left = {"index": ["de.work"], "add": []}.get(command, ["out.tsv.work"])
    assert ready.entries() == sorted([*before, *left]) and output.read_text() == "older\n"
    assert len(Index.open("de")) == 60
    assert ready.index(english_file, "de", "--add").code == 0
    assert len(Index.open("de")) == 120
    assert ready.search("de", "en", "-o", output).code == 0
    assert ready.entries() == (sorted([*before, *left]) if command == "index" else before)


@pytest.mark.parametrize("command", ["search de en --device cpu", "--help", "search --help"])
def test_a_reader_that_has_enough(ready: Miner, command: str) -> None:
    """``miner search … | head -n 1`` succeeds without a message."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*MINER, *command.split()],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ready.place,
        )
    finally:
        os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "roken" not in done.stderr


@pytest.mark.parametrize("also_output", [False, True])
def test_a_reader_of_messages_that_has_enough(miner: Miner, also_output: bool) -> None:
    """``miner filter … -o FILE 2>&1 | head``: the file is written though the pipe of messages
    closes.
    """
    write("pairs.tsv", "Der Hund bellt.\tThe dog barks.")
    write("rules.toml", "[[filter]]", 'name = "duplicates"')
    reading, writing = os.pipe()
    os.close(reading)
    command = "filter pairs.tsv --config rules.toml --threads 1 -o out.tsv"
    try:
        done = subprocess.run(
            [*MINER, *command.split()],
            stdout=writing if also_output else subprocess.PIPE,
            stderr=writing,
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert Path("out.tsv").read_bytes() == Path("pairs.tsv").read_bytes()


def test_another_pipe_that_breaks(miner: Miner) -> None:
    """Only a closed standard output gives exit code 0."""
    write("pairs.tsv", *["Der Hund bellt.\tThe dog barks."] * 20_000)
    write("rules.toml", "[[filter]]", 'name = "length"')
    os.mkfifo("pipe")
    command = ["filter", "pairs.tsv", "--config", "rules.toml", "--threads", "1", "-o", "pipe"]
    with subprocess.Popen(
        [*MINER, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        with open("pipe", "rb") as pipe:
            pipe.read(1)
        out, err = running.communicate(timeout=60)
    fault(Done(running.returncode, out, err), "a pipe broke")
