"""A slice of the reliability campaign, and checks that it would detect faults."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.reliability import campaign, commands, crashes, fuzz, kills
from benchmarks.reliability.commands import COMMANDS, Command, Done
from benchmarks.reliability.crashes import Disk, Inode


@pytest.fixture
def root(tmp_path: Path) -> Path:
    commands.write_inputs(tmp_path)
    return tmp_path


@pytest.fixture
def encode(tiny_model: Path) -> Command:
    """Return the `encode` command with a model that loads fast."""
    line = f"{COMMANDS['encode'].line} --model {tiny_model}"
    return dataclasses.replace(COMMANDS["encode"], line=line)


@pytest.mark.slow
def test_kills(root: Path, encode: Command) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        found = kills.disturb(encode, root, 1, number, seed=1)
        assert campaign.faults({"kills": {"encode": found}}) == {}, found


@pytest.mark.slow
def test_a_command_that_forgets_is_found(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The campaign detects a command whose output depends on leftovers in its directory."""
    script = "import os, sys, time; new = not os.listdir(); open('a', 'w'); time.sleep(0.6);"
    script += "open('out', 'w').write(str(new))"
    monkeypatch.setattr(commands, "PROGRAM", (sys.executable, "-c", script))
    found = kills.disturb(Command("bad", "", ("out",)), root, 3, signal.SIGKILL, seed=1)
    assert found["other output"] >= 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_crashes(root: Path, encode: Command) -> None:
    try:
        found = crashes.check(encode, root, 2)
    except RuntimeError as error:
        pytest.skip(f"strace cannot trace here: {error}")
    assert found["cuts"] >= 3
    assert campaign.faults({"crashes": {"encode": found}}) == {}, found


def test_a_disk_forgets_what_was_not_synced() -> None:
    disk = Disk({"/w/a": Inode(bytearray(b"new"), b"")})
    assert disk.found("lost") == {"/w/a": b""}
    assert disk.found("zeroed") == {"/w/a": b"\0\0\0"}
    assert disk.found("unnamed") == {}
    disk.sync("/w/a")
    disk.sync("/w")
    disk.files["/w/a"].now += b"er"
    disk.rename("/w/a", "/w/b")
    assert disk.found("lost") == {"/w/b": b"new"}
    assert disk.found("zeroed") == {"/w/b": b"new\0\0"}
    assert disk.found("unnamed") == {"/w/a": b"new"}
    disk.sync("/w")
    assert disk.found("unnamed") == {"/w/b": b"new"}


def test_a_renamed_directory_is_found_once_its_parent_is_synced() -> None:
    disk = Disk({"/w/.t/a": Inode(bytearray(b"new"), b"new"), "/w/t/a": Inode(bytearray(b"old"))})
    disk.files["/w/t/a"].synced = b"old"
    disk.sync("/w/.t")
    disk.sync("/w/t")
    disk.rename("/w/.t", "/w/t", exchange=True)
    assert disk.found("lost") == {"/w/t/a": b"new", "/w/.t/a": b"old"}
    assert disk.found("unnamed") == {"/w/t/a": b"old", "/w/.t/a": b"new"}
    disk.sync("/w")
    assert disk.found("unnamed") == {"/w/t/a": b"new", "/w/.t/a": b"old"}


def test_calls_of_a_log_are_replayed(tmp_path: Path) -> None:
    def hexed(text: str) -> str:
        return "".join(f"\\x{byte:02x}" for byte in text.encode())

    a, b = (hexed(str(tmp_path / name)) for name in "ab")
    log = [
        f'7 openat(AT_FDCWD<{hexed(str(tmp_path))}>, "{hexed("a")}", O_WRONLY|O_CREAT) = 3<{a}>',
        f'7 write(3<{a}>, "{hexed("hello")}", 5) = 5',
        f'7 pwrite64(3<{a}>, "{hexed("J")}", 1, 0) = 1',
        f"7 fsync(3<{a}>) = 0",
        f'7 write(3<{a}>, "{hexed("!")}", 1) = -1 ENOSPC (No space left on device)',
        f'7 rename("{hexed("a")}", "{b}") = 0',
    ]
    steps = [(name, disk.found("lost")) for name, disk in crashes.replay(log, tmp_path, Disk())]
    assert [name for name, _ in steps] == ["openat", "write", "pwrite64", "fsync", "rename"]
    assert steps[2][1] == {str(tmp_path / "a"): b""}
    assert steps[-1][1] == {str(tmp_path / "b"): b"Jello"}


@pytest.mark.slow
def test_fuzz(tmp_path: Path, tiny_model: Path) -> None:
    """Fuzz in a child process, because forks need a process without threads."""
    code = "import json, sys; from pathlib import Path; from benchmarks.reliability import fuzz;"
    code += "print(json.dumps(fuzz.campaign(Path(sys.argv[1]), Path(sys.argv[2]), 20, 1)))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), str(tiny_model)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert campaign.faults({"fuzz": {"half 0": found}}) == {}, found
    assert found["most memory, MB"] > 0 and found["exit code 1"] > 4


@pytest.mark.parametrize("faults", [0, 2])
def test_a_campaign_is_written_and_its_faults_are_told(tmp_path, monkeypatch, faults):
    part = {"exit code 1": 7, "failures": []} | ({"traceback": faults} if faults else {})
    monkeypatch.setattr(campaign, "run_fuzz", lambda *_: {"half 0": part})
    path = tmp_path / "result.json"
    monkeypatch.setattr(sys, "argv", ["reliability", "--only", "fuzz", "--json", str(path)])
    with pytest.raises(SystemExit) as end:
        campaign.main()
    assert end.value.code == (1 if faults else 0)
    section = json.loads(path.read_text(encoding="utf-8"))["sections"]["fuzz"]
    assert section["results"]["half 0"] == part


@pytest.mark.parametrize(
    ("code", "err", "memory", "wanted"),
    [
        (0, "", 0, None),
        (1, "miner: error: a.tsv: bad\n", 0, None),
        (1, "", 0, "not one line"),
        (1, "Traceback (most recent call last):\n", 0, "traceback"),
        (-9, "", 0, "over time"),
        (-11, "", 0, "exit code"),
        (0, "", 2 << 30, "over memory"),
    ],
)
def test_verdicts(code: int, err: str, memory: int, wanted: str | None) -> None:
    assert fuzz.verdict(code, err, memory) == wanted


def test_a_refusal_is_one_line() -> None:
    assert Done(1, "note\nminer: error: bad\n", 0.1).refused
    assert not Done(1, "miner: error: bad\nminer: error: worse\n", 0.1).refused
    assert not Done(0, "miner: error: bad\n", 0.1).refused
    assert not Done(1, "Traceback\nminer: error: bad\n", 0.1).refused
