"""Exchange of records between the tasks of two stages, grouped by destination.

Each task of the first stage saves records with :func:`send`. Each task of the second reads the
slices for its part with :func:`received`.
"""

from collections.abc import Sequence

import numpy as np

from miner.ragged import offsets_of
from miner.tasks.task import Job, Result


def part_of(rows: np.ndarray, firsts: Sequence[int]) -> np.ndarray:
    """Return the part of each row, from the first rows of the parts, which ascend."""
    return np.searchsorted(np.asarray(firsts, dtype=np.int64), rows, side="right") - 1


def send(job: Job, name: str, records: np.ndarray, part: np.ndarray, parts: int) -> None:
    """Save ``records (m, ...)`` grouped by their ``part (m,)``; there are ``parts``."""
    order = np.argsort(part.astype(np.min_scalar_type(parts)), kind="stable")
    starts = offsets_of(np.bincount(part, minlength=parts))
    job.save(**{name: records[order], f"{name}-starts": starts})


def send_back(job: Job, name: str, answers: np.ndarray, asked: Sequence[np.ndarray]) -> None:
    """Save an answer to each record of all tasks that ``asked``, in the order of the records."""
    job.save(**{name: answers, f"{name}-starts": offsets_of(np.array([*map(len, asked)], int))})


def received(tasks: Sequence[Result], name: str, part: int) -> list[np.ndarray]:
    """Return the records that each task sent to a part."""
    records = []
    for task in tasks:
        starts = task.array(f"{name}-starts")
        records.append(task.array(name)[starts[part] : starts[part + 1]])
    return records
