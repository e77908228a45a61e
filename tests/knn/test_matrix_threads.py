"""Threads over strips of a matrix."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.knn.matrix_threads import cut, run_crosswise


@pytest.mark.parametrize(("size", "number"), [(0, 3), (1, 3), (7, 3), (9, 3), (5, 1), (100, 64)])
def test_cut(size: int, number: int) -> None:
    parts = cut(size, number)
    assert [at for part in parts for at in range(*part)] == list(range(size))
    assert len(parts) == max(1, min(number, size))
    lengths = [end - start for start, end in parts]
    assert max(lengths) - min(lengths) <= 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 6))
def test_every_pair_runs_once_and_shares_no_strip(rows: int, columns: int, threads: int) -> None:
    seen = np.zeros((rows, columns), np.int64)
    busy: set[tuple[str, int]] = set()
    lock, most = threading.Lock(), [0, 0]

    def work(part: tuple[int, int], other: tuple[int, int]) -> None:
        mine = {("row", at) for at in range(*part)} | {("column", at) for at in range(*other)}
        with lock:
            assert not mine & busy
            busy.update(mine)
            most[0] += 1
            most[1] = max(most)
        time.sleep(0)
        seen[slice(*part), slice(*other)] += 1
        with lock:
            busy.difference_update(mine)
            most[0] -= 1

    run_crosswise(rows, columns, threads, work)
    assert (seen == 1).all() and most[1] <= threads


@pytest.mark.parametrize("threads", [2, 4])
def test_an_error_in_a_thread_stops_the_others(threads: int) -> None:
    done: list[object] = []

    def work(part: tuple[int, int], other: tuple[int, int]) -> None:
        if len(done) == 2:
            raise ValueError("the third")
        done.append((part, other))
        time.sleep(0.01)

    before = threading.active_count()
    with pytest.raises(ValueError, match="the third"):
        run_crosswise(1000, 1000, threads, work)
    assert len(done) <= 2 + threads < 36 and threading.active_count() == before


def test_a_signal_stops_all_threads() -> None:
    done: list[object] = []

    def work(part: tuple[int, int], other: tuple[int, int]) -> None:
        done.append((part, other))
        if len(done) == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)

    def stop(*_: object) -> None:
        raise InterruptedError("stopped")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(InterruptedError):
            run_crosswise(1000, 1000, 4, work)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(done) < 36
