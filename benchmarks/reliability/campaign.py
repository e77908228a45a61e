"""Kill, cut off, fuzz and starve every command that writes; all counts of faults should be 0.

    python -m benchmarks reliability [--only kills crashes fuzz places clusters]
        [--command train ...] [--scale 0.01]

Works on the demo text, so it needs no data. ``--scale`` 1 is the whole campaign: 100 kills of each
command, 10,000 mutated inputs, 50 sizes of a full disk. Results of some commands alone stand beside
those of all of them.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.reliability import clusters, commands, crashes, fuzz, kills, places
from benchmarks.reliability.commands import COMMANDS, DISTURBED, Command

SECTIONS = ("kills", "crashes", "fuzz", "places", "clusters")
# Counts that are no fault.
FINE = (
    "stopped", "too late", "calls", "cuts", "equal", "refused", "succeeded", "both", "one",
    "exit code 0", "exit code 1", "exit code 2", "longest, s", "most memory, MB", "failures",
    "skipped",
)  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="[all]")
    options.add_argument(
        "--command", nargs="+", choices=DISTURBED, default=DISTURBED, help="disturb only these"
    )
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--json", type=Path, default=report.RESULTS / "reliability.json")
    given = options.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="miner-reliability-") as temporary:
        root = Path(temporary)
        commands.write_inputs(root)
        for name in given.only:
            begun = time.monotonic()
            results = globals()[f"run_{name}"](root, given.command, given.scale, given.seed)
            results["seconds"] = round(time.monotonic() - begun)
            found[name] = results
            # Results are written after each section, because the whole takes an hour.
            whole = name in ("fuzz", "clusters") or set(given.command) == set(DISTURBED)
            section = name if whole else f"{name}: {' '.join(given.command)}"
            report.merge(given.json, "reliability", section, results)
            faulty = faults({name: results}) or "no fault"
            print(f"{name}, {results['seconds']} s: {json.dumps(faulty, indent=1)}", flush=True)
    sys.exit(1 if faults(found) else 0)


def times(most: int, scale: float) -> int:
    return max(1, round(most * scale))


def side_by_side(
    job: Callable[[str], dict[str, Any]], chosen: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Run a job per command, two at a time, because each waits for child processes."""
    with ThreadPoolExecutor(2) as pool:
        return {name: counts for part in pool.map(job, chosen) for name, counts in part.items()}


def run_kills(root: Path, chosen: Sequence[str], scale: float, seed: int) -> dict[str, Any]:
    count = times(100, scale)
    return side_by_side(lambda name: kills.measure(root, count, seed, (name,)), chosen)


def run_crashes(root: Path, chosen: Sequence[str], scale: float, seed: int) -> dict[str, Any]:
    most = times(40, scale)
    return side_by_side(lambda name: {name: crashes.check(COMMANDS[name], root, most)}, chosen)


def run_fuzz(root: Path, chosen: Sequence[str], scale: float, seed: int) -> dict[str, Any]:
    place = root / "small"
    place.mkdir()
    done = commands.run(COMMANDS["train"], place)
    if done.code:
        raise RuntimeError(done.err)
    # Two processes, each of which forks its runs.
    half = -(-times(10_000, scale) // 2)
    halves = [(root / f"half{n}", place / "model", half, seed + n) for n in range(2)]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        found = pool.map(fuzz.campaign, *zip(*halves, strict=True))
        return {f"half {number}": part for number, part in enumerate(found)}


def run_places(root: Path, chosen: Sequence[str], scale: float, seed: int) -> dict[str, Any]:
    return side_by_side(lambda name: try_places(COMMANDS[name], root / name, scale), chosen)


def run_clusters(root: Path, chosen: Sequence[str], scale: float, seed: int) -> dict[str, Any]:
    count = times(10, scale)
    return {
        "ray, node killed": clusters.ray_node_killed(root, count, seed),
        "slurm, job killed": clusters.slurm_job_killed(root, count, seed),
    }


def try_places(command: Command, root: Path, scale: float) -> dict[str, Any]:
    """Run a command on full and read-only disks, twice at once, with a private umask, and an odd
    clock.
    """
    root.mkdir()
    (root / "in").symlink_to(root.parent / "in")
    name = command.name
    found: dict[str, Any] = {
        f"{name}, two at once": places.two_at_once(command, root, times(5, scale)),
        f"{name}, clock set back": places.clock_set_back(command, root),
        f"{name}, private": places.private(command, root),
    }
    try:
        found[f"{name}, full disk"] = places.full_disk(command, root, times(50, scale))
        found[f"{name}, read-only"] = places.read_only(command, root)
    except places.NoMountError as error:
        found[f"{name}, full disk"] = {"skipped": f"no file system can be mounted: {error}"}
    return found


def faults(found: dict[str, Any]) -> dict[str, Any]:
    """Return the counts that should be 0 and are not, by section and command."""
    bad = {}
    for section, parts in found.items():
        for name, counts in parts.items():
            if isinstance(counts, dict):
                wrong = {key: value for key, value in counts.items() if key not in FINE and value}
                if wrong:
                    bad[f"{section}: {name}"] = {**wrong, "failures": counts.get("failures", [])}
    return bad
