"""miner filter interrupted by signals, and what the repeated run reuses."""

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from support.cleaning import toml
from support.commands import MINER
from support.raw_lines import lines_of, put
from support.texts import feed

from miner.cleaning.scorers import Scorers

RULES = ({"name": "length", "maximum": 12}, {"name": "cosine", "minimum": 0.3})


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(toml(RULES, {}), encoding="utf-8")
    return tmp_path


def pairs(german: list[str], english: list[str], count: int) -> bytes:
    lines = [f"{german[n % 60]} {n}\t{english[n * 7 % 60]} {n}\n" for n in range(count)]
    return "".join(lines).encode()


# Enough pieces for two processes.
ROWS, PIECE = 72_000, 24_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stop", "group", "phase"),
    [(signal.SIGTERM, True, "check"), (signal.SIGTERM, False, "rate"), (signal.SIGKILL, 0, "rate")],
)
def test_a_signal_leaves_only_the_work_directory(
    miner, german, english, knowing_model: Path, place: Path, monkeypatch, stop, group, phase
) -> None:
    """No process, temporary file or partial output remains; the repeated run resumes."""
    put(place / "big.tsv", pairs(german, english, ROWS))
    (place / "tmp").mkdir()
    words = f"filter - --config rules.toml --threads 2 --model {knowing_model} -o out --rejected no"
    words += f" --shard-lines {PIECE}"
    with open("big.tsv", "rb") as data:
        running = subprocess.Popen(
            [*MINER, *words.split()], stdin=data, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "TMPDIR": str(place / "tmp")},
        )  # fmt: skip
    deadline = time.monotonic() + 300
    while not any(place.glob(f"out.work/{phase}/*/done.json")):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    children = psutil.Process(running.pid).children(recursive=True)
    assert len(children) >= 2
    if group:
        os.killpg(running.pid, stop)
    else:
        running.send_signal(stop)
    err = running.communicate(timeout=60)[1].decode()
    if stop == signal.SIGTERM:
        assert running.returncode == 130, err
        assert "Traceback" not in err and "interrupted; to go on, repeat: miner filter -" in err
        assert os.listdir("tmp") == []
        assert sorted(os.listdir()) == ["big.tsv", "out.work", "rules.toml", "tmp"]
    assert not psutil.wait_procs(children, timeout=10)[1]
    scored = 0
    real = Scorers.__call__

    def count(scorers: Scorers, layout, block):
        nonlocal scored
        scored += len(block)
        return real(scorers, layout, block)

    monkeypatch.setattr(Scorers, "__call__", count)
    feed(monkeypatch, (place / "big.tsv").read_bytes())
    code, _, err = miner(*words.replace("--threads 2", "--threads 1").split())
    assert code == 0, err
    # Lengths score all rows, the cosine 5/6 of them; some scores exist already.
    assert 0 < scored <= (2 * ROWS - PIECE if phase == "check" else ROWS)
    assert sorted(os.listdir()) == ["big.tsv", "no", "out", "rules.toml", "tmp"]
    kept, rejected = (len(lines_of(Path(name).read_bytes())) for name in ("out", "no"))
    assert kept + rejected == ROWS
    whole = miner("filter", "big.tsv", *words.split()[2:-2], "-o", "whole")
    assert whole[0] == 0 and Path("whole").read_bytes() == Path("out").read_bytes()
