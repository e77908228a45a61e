"""Progress lines of the stages of a training."""

import time

import miner_train.stages
from miner_train.stages import stage


def test_a_long_stage_says_that_it_runs(monkeypatch):
    monkeypatch.setattr(miner_train.stages, "EVERY", 0.01)
    lines = []
    with stage("learning", lines.append):
        while len(lines) < 3:
            time.sleep(0.01)
    assert lines[0] == "learning" and all(" s so far" in line for line in lines[1:-1])
    assert lines[-1].startswith("learning: ") and "so far" not in lines[-1]
    said = list(lines)
    time.sleep(0.05)
    assert lines == said
