"""The exchange between tasks: each part receives its records of all tasks, in order."""

from typing import Any

import numpy as np
import pytest

from miner.tasks.exchange import part_of, received, send, send_back
from miner.tasks.run import Call, RunOptions, open_run
from miner.tasks.task import Job, Result

FIRSTS = [0, 4, 4, 9]  # a part may be empty
SENT = [[8, 3, 12, 4, 8], [], [0, 11, 5]]


def deal(job: Job, rows: list[int]) -> None:
    records = np.array(rows, dtype=np.int64)
    send(job, "rows", records, part_of(records, FIRSTS), len(FIRSTS))


def answer(job: Job, sent: list[Result], part: int) -> dict[str, Any]:
    own = received(sent, "rows", part)
    send_back(job, "doubled", 2 * np.concatenate(own), own)
    return {"rows": [rows.tolist() for rows in own]}


@pytest.mark.parametrize("kept", [True, False])
def test_records_there_and_back(tmp_path, kept):
    with open_run(RunOptions(tmp_path / "work" if kept else None), "testing", {}) as run:
        sent = run.stage("deal", deal, {f"{n}": Call({"rows": own}) for n, own in enumerate(SENT)})
        calls = {f"{part}": Call({"part": part}) for part in range(len(FIRSTS))}
        answers = run.stage("answer", answer, calls, sent=sent)
        run.wait(last=True)
        found = [task.value["rows"] for task in answers]
        assert found == [[[3], [], [0]], [[], [], []], [[8, 4, 8], [], [5]], [[12], [], [11]]]
        back = [np.concatenate(received(answers, "doubled", n)).tolist() for n in range(len(SENT))]
    # In the order of sending, by part.
    assert back == [[6, 16, 8, 16, 24], [], [0, 10, 22]]
