"""miner filter: checkpoints of runs that fail or are killed. Signals: test_filter_stopped."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.commands import MINER
from support.filtered import (  # noqa: F401 (fixtures)
    COLUMNS,
    RULES,
    clean,
    config,
    filters,
    noisy,
    place,
    read,
    read_text,
)
from support.raw_lines import put

from miner.cleaning import worker


def test_a_checkpoint_is_kept_where_it_is_asked_for(clean, noisy: Path, monkeypatch) -> None:
    expected, _ = clean(noisy, *COLUMNS)
    clean(noisy, *COLUMNS, "-o", "out", "--checkpoint", "deep/scores", "--scores-jsonl", "scores")
    assert Path("deep/scores/checkpoint.json").exists() and read("out") == read_text(expected)
    # Scores are reused: nothing may be scored again.
    monkeypatch.setattr(worker, "Scoring", None)
    values = [json.loads(line)["quality"] or 0 for line in read("scores")]
    bound = sorted(values)[-50]
    clean(noisy, *COLUMNS, "-o", "again", "--checkpoint", "deep/scores", "--threshold", bound)
    assert 0 < len(read("again")) < len(read("out"))
    assert Path("deep/scores/checkpoint.json").exists()


def test_no_checkpoint_beside_a_device_or_a_pipe(clean, noisy: Path) -> None:
    os.mkfifo("pipe")
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.append(Path("pipe").read_bytes()))
    reader.start()
    clean(noisy, *COLUMNS, "-o", "pipe", "--rejected", "/dev/null", "--scores-jsonl", "/dev/null")
    reader.join(timeout=30)
    assert lines[0].count(b"\n") > 40 and not Path("pipe.checkpoint").exists()
    assert sorted(os.listdir()) == ["noisy.tsv", "pipe", "rules.toml"]


def test_a_run_that_fails_to_write_goes_on(clean, miner, knowing_model, noisy: Path) -> None:
    """The run fails at its last step; its scores are reused when it is repeated."""
    expected, _ = clean(noisy, *COLUMNS)
    Path("kept").mkdir()  # in the place of a file
    rules = config("rules.toml", *RULES)
    code, _, err = miner("filter", noisy, *COLUMNS, "--config", rules, "--model", knowing_model,
                         "--threads", 1, "-o", "kept", "--checkpoint", "scores")  # fmt: skip
    assert code == 1 and err.startswith("miner: error: kept: cannot be written: it is a directory")
    Path("kept").rmdir()
    clean(noisy, *COLUMNS, "-o", "kept", "--checkpoint", "scores")
    assert read("kept") == read_text(expected)


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(clean, german, english, knowing_model, place) -> None:
    """A real kill, half-way through tens of thousands of rows in two processes."""
    generator = np.random.default_rng(2)
    rows = generator.integers(0, 60, (20_000, 2)).tolist()
    lines = [f"{german[i]} {n}\t{english[i if n % 3 else j]} {n}" for n, (i, j) in enumerate(rows)]
    put(place / "big.tsv", "".join(f"{line}\n" for line in lines).encode())
    rules = ({"name": "length", "maximum": 12}, {"name": "quality", "minimum": 0.5})
    clean("big.tsv", "-o", "whole", "--rejected", "whole.bad", rules=rules)
    words = f"filter big.tsv --config rules.toml --threads 2 --model {knowing_model} -o out"
    running = subprocess.Popen([*MINER, *words.split()], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    while not any(path.stat().st_size for path in place.glob("out.checkpoint/model*.bin")):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    running.kill()
    running.communicate()
    left = sorted(os.listdir())
    assert left == [
        ".out.checkpoint.lock", "big.tsv", "out.checkpoint", "rules.toml", "whole", "whole.bad"
    ]  # fmt: skip
    assert Path("out.checkpoint/local.sums").exists()
    done = sum(path.stat().st_size for path in place.glob("out.checkpoint/model*.bin"))
    assert 0 < done < 4 * 20_000
    _, err = clean("big.tsv", "-o", "out", "--rejected", "out.bad", rules=rules)
    assert "anew" not in err and 1000 < len(read("out")) < 19_000
    for name in ("", ".bad"):
        assert Path(f"out{name}").read_bytes() == Path(f"whole{name}").read_bytes()
    assert not Path("out.checkpoint").exists() and not Path(".out.checkpoint.lock").exists()
