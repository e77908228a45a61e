"""Full or read-only disks, two processes in one directory, a private umask, an odd clock."""

import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.reliability import commands
from benchmarks.reliability.commands import COMMANDS, Command, Done

# Free bytes of the smallest disk, and of the largest, which exceeds the need of any command.
LEAST, MOST = 8 << 10, 64 << 20


class NoMountError(Exception):
    """No file system can be mounted here."""


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[None]:
    """Mount a file system of ``size`` bytes at ``place``. Raises NoMountError."""
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NoMountError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def undisturbed(command: Command, root: Path) -> tuple[Path, Path, str]:
    """Return a prepared directory, one after an undisturbed run, and the digest of its output.

    Raises RuntimeError if the undisturbed command fails.
    """
    ready, clean = root / "ready", root / "clean"
    if not ready.exists():
        commands.prepare(command, ready)
        shutil.copytree(ready, clean)
        commands.run_whole(command, clean)
    return ready, clean, commands.digest(clean, command.outputs)


def full_disk(command: Command, root: Path, sizes: int) -> dict[str, Any]:
    """Run a command on ``sizes`` disks with room from a few KiB to more than it needs.

    Each run must end with exit code 0 and the right output, or be refused in one line and leave
    nothing new behind but its checkpoint.
    """
    ready, clean, wanted = undisturbed(command, root)
    before = sum(path.stat().st_size for path in ready.rglob("*") if path.is_file())
    kept = commands.entries(clean)
    counts: Counter[str] = Counter(succeeded=0, refused=0)
    failures: list[str] = []
    for number in range(sizes):
        size = before + round(LEAST * (MOST / LEAST) ** (number / max(1, sizes - 1)))
        place = root / f"{command.name}-disk"
        with small_disk(place, size + (64 << 10)):
            shutil.copytree(ready, place, dirs_exist_ok=True)
            had = commands.entries(place)
            done = commands.run(command, place)
            if done.code == 0:
                counts["succeeded"] += 1
                if commands.digest(place, command.outputs) != wanted:
                    counts["other output"] += 1
            elif done.refused:
                counts["refused"] += 1
            else:
                counts["badly refused"] += 1
                failures.append(f"{size} bytes, exit code {done.code}: {done.err[-300:]}")
            left = {
                name
                for name in commands.entries(place) - had - kept
                if command.checkpoint is None or not Path(name).is_relative_to(command.checkpoint)
            }
            if done.code and left:
                counts["leftovers"] += 1
                failures.append(f"{size} bytes: left behind {', '.join(sorted(left)[:5])}")
    return {**counts, "failures": failures[:5]}


def read_only(command: Command, root: Path) -> dict[str, Any]:
    """Run a command in a directory that cannot be written: one line, exit code 1."""
    place = root / f"{command.name}-read-only"
    with small_disk(place, 64 << 20):
        for name in command.needs:
            commands.run_whole(COMMANDS[name], place)
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        done = commands.run(command, place)
    bad = {} if done.refused else {"badly refused": 1, "failures": [done.err[-300:]]}
    return {"refused": int(done.refused), **bad}


def two_at_once(command: Command, root: Path, times: int) -> dict[str, Any]:
    """Run a command twice at the same time in one directory.

    Each run ends with exit code 0 or is refused in one line, one of them succeeds (alone or when it
    is repeated), and the output is that of a single run.
    """
    ready, _, wanted = undisturbed(command, root)
    counts: Counter[str] = Counter(both=0, one=0)
    failures: list[str] = []
    for number in range(times):
        place = root / f"{command.name}-two-{number}"
        shutil.copytree(ready, place)
        ends: list[Done] = []
        runs = [
            threading.Thread(target=lambda: ends.append(commands.run(command, place)))  # noqa: B023
            for _ in range(2)
        ]
        for run in runs:
            run.start()
            time.sleep(0.05 * number)
        for run in runs:
            run.join()
        good = sum(end.code == 0 for end in ends)
        polite = [end for end in ends if end.code and not end.refused and end.code != 2]
        counts["both" if good == 2 else "one" if good else "none"] += 1
        if polite:
            counts["badly refused"] += 1
            failures.append(polite[0].err[-300:])
        if not good and commands.run(command, place).code:
            counts["not repeatable"] += 1
        if commands.digest(place, command.outputs) != wanted:
            counts["other output"] += 1
            failures.append(f"run {number} left another output")
        shutil.rmtree(place)
    return {**counts, "failures": failures[:5]}


def private(command: Command, root: Path) -> dict[str, Any]:
    """Run a command with a umask that hides its files from other users."""
    ready, _, wanted = undisturbed(command, root)
    place = root / f"{command.name}-private"
    shutil.copytree(ready, place)
    before = commands.entries(place)
    done = commands.run(command, place, umask=0o077)
    counts = Counter(equal=int(commands.digest(place, command.outputs) == wanted))
    shown = [name for name in commands.entries(place) - before
             if (place / name).lstat().st_mode & 0o077]  # fmt: skip
    if not counts["equal"]:
        counts["other output"] += 1
    if shown:
        counts["readable by others"] += len(shown)
    return {**counts, "failures": [*shown[:3], *([done.err[-300:]] if done.code else [])]}


def clock_set_back(command: Command, root: Path) -> dict[str, Any]:
    """Repeat a command whose inputs and outputs have times in the future."""
    place = root / f"{command.name}-clock"
    commands.prepare(command, place)
    commands.run_whole(command, place)
    wanted = commands.digest(place, command.outputs)
    later = time.time() + 86_400
    for path in place.rglob("*"):
        os.utime(path, (later, later))
    for output in command.outputs:
        path = place / output
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    done = commands.run(command, place)
    same = done.code == 0 and commands.digest(place, command.outputs) == wanted
    bad = {} if same else {"other output": 1, "failures": [done.err[-300:]]}
    return {"equal": int(same), **bad}
