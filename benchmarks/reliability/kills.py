"""Signals at random moments: a repeated command must end like an undisturbed run."""

import random
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.reliability import commands
from benchmarks.reliability.commands import COMMANDS, Command

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Exit code of a command stopped by SIGTERM or SIGINT.
INTERRUPTED = 130


def disturb(command: Command, root: Path, count: int, number: signal.Signals, seed: int) -> Any:
    """Stop ``count`` runs of a command by a signal, repeat each, and count what went wrong.

    Half of the moments are uniform over the whole run, half over its second half, since the first
    is mostly imports. Returns the runs ``stopped`` and those ``too late`` to be stopped, the counts
    of faults, which should be 0, and the first messages of faults.
    """
    generator = random.Random(f"{seed} {command.name} {number}")
    ready = root / f"{command.name}-{number.name}-ready"
    commands.prepare(command, ready)
    clean = root / f"{command.name}-{number.name}-clean"
    shutil.copytree(ready, clean)
    whole = commands.run_whole(command, clean).seconds
    wanted = commands.digest(clean, command.outputs)
    expected = commands.entries(clean)
    counts: Counter[str] = Counter(stopped=0)
    failures: list[str] = []
    for attempt in range(count):
        place = root / f"{command.name}-{number.name}-{attempt}"
        shutil.copytree(ready, place)
        moment = whole * generator.uniform(0.0 if attempt % 2 else 0.5, 1.0)
        process = commands.start(command, place)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
        process.send_signal(number)
        _, err = process.communicate()
        early = process.returncode != 0
        counts["stopped" if early else "too late"] += 1
        gentle = number != signal.SIGKILL
        if gentle and early and process.returncode not in (INTERRUPTED, -number):
            counts["wrong exit code"] += 1
            failures.append(f"exit code {process.returncode}: {err[-300:]}")
        if gentle and process.returncode == INTERRUPTED and "Traceback" in err:
            counts["traceback"] += 1
            failures.append(err[-300:])
        again = commands.run(command, place)
        if again.code == 2 and "already; replace it with --overwrite" in again.err:
            again = commands.Done(0, again.err, whole)  # the first run was complete
        # The machine may be busier or freer now; a repeated run may go on from a checkpoint.
        whole = max(again.seconds, 0.9 * whole)
        if again.code:
            counts["not repeatable"] += 1
            failures.append(f"exit code {again.code}: {again.err[-300:]}")
        elif commands.digest(place, command.outputs) != wanted:
            counts["other output"] += 1
            failures.append(f"attempt {attempt}: the repeated run wrote something else")
        left = commands.entries(place) - expected
        if left:
            counts["leftovers"] += 1
            failures.append(f"left behind: {', '.join(sorted(left)[:5])}")
        shutil.rmtree(place)
    return {**counts, "failures": failures[:5]}


def measure(root: Path, count: int, seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Stop each command ``count`` times by SIGKILL, and a tenth as often by each other signal."""
    found: dict[str, Any] = {}
    for name in names:
        for number in SIGNALS:
            times = count if number == signal.SIGKILL else -(-count // 10)
            found[f"{name} {number.name}"] = disturb(COMMANDS[name], root, times, number, seed)
    return found
