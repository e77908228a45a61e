"""Other people's programs, run on rows of a crawl; tests skip with the reason without them."""

import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import miner

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("MINER_DATA", ROOT.parent / "shared" / "data"))
LABELLED = DATA / "noisy" / "de-en.paracrawl-labelled.tsv.xz"
DEMO = Path(miner.__file__).parent / "demo"


def web_rows(count: int = 300) -> list[tuple[str, str]]:
    """Return rows of a German-English crawl, or demo pairs without the data; some faulty."""
    if LABELLED.is_file():
        with lzma.open(LABELLED, "rt", encoding="utf-8", newline="\n") as file:
            columns = [line.rstrip("\n").split("\t") for line in file]
        rows = [(one[0], one[1]) for one in columns[: count - 4]]
    else:
        sides = [(DEMO / f"demo.{name}").read_text("utf-8").split("\n") for name in ("de", "en")]
        gold = (line.split() for line in (DEMO / "demo.gold").read_text("utf-8").splitlines())
        pairs = [(sides[0][int(one) - 1], sides[1][int(other) - 1]) for one, other in gold]
        rows = [*pairs[: count // 2], *zip(*_shifted(pairs[: count // 2 - 4]), strict=True)]
    repeated = [(one, one) for one, _ in rows[:2]]
    return [*rows, *repeated, (rows[0][0], ""), ("", rows[1][1])]


def _shifted(pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    return source, [*target[7:], *target[:7]]


def peer(command: str, *arguments: object, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command of another package, from this environment or the path."""
    beside = Path(sys.executable).with_name(command)
    found = str(beside) if beside.exists() else shutil.which(command)
    if found is None:
        pytest.skip(f"needs the command {command} on the path")
    miners = cwd / "bin" / "miner"  # commands of other packages look on the path
    miners.parent.mkdir(exist_ok=True)
    miners.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; from miner.cli import main; "
        'sys.exit(main())\' "$@"\n'
    )
    miners.chmod(0o755)
    paths = {"PYTHONPATH": str(ROOT), "PATH": f"{miners.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [found, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done
