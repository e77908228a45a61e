"""miner.parallel: in order, bounded, and nothing left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from miner.parallel import AHEAD, in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_results_come_in_order(threads: int, n: int) -> None:
    def work(item: int) -> int:
        time.sleep(0.002 * (item % 3 == 0))  # the first of three is done last
        return item * item

    assert list(in_order(work, range(n), threads)) == [item * item for item in range(n)]


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_items_are_drawn_as_results_are_taken(threads: int) -> None:
    drawn = 0

    def items() -> Iterator[int]:
        nonlocal drawn
        for item in range(1000):
            drawn += 1
            yield item

    for taken, _ in enumerate(in_order(str, items(), threads), start=1):
        assert drawn <= taken + threads * AHEAD


def test_items_are_drawn_in_the_callers_thread_and_work_is_done_in_others() -> None:
    here = threading.get_ident()
    drawn_in: set[int] = set()

    def items() -> Iterator[int]:
        for item in range(20):
            drawn_in.add(threading.get_ident())
            yield item

    worked_in = set(in_order(lambda _: threading.get_ident(), items(), 3))
    assert drawn_in == {here} and here not in worked_in
    assert set(in_order(lambda _: threading.get_ident(), items(), 1)) == {here}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("guilty", ["items", "function"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_is_raised_comes_out_and_no_thread_stays(
    threads: int, guilty: str, error: type[BaseException]
) -> None:
    def items() -> Iterator[int]:
        yield from range(30)
        if guilty == "items":
            raise error("here")
        yield from range(30)

    def work(item: int) -> int:
        if guilty == "function" and item == 17:
            raise error("here")
        return item

    before = threading.active_count()
    with pytest.raises(error, match="here"):
        list(in_order(work, items(), threads))
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 3])
def test_closed_early_it_stops(threads: int) -> None:
    started = []

    def work(item: int) -> int:
        started.append(item)
        time.sleep(0.01)
        return item

    before = threading.active_count()
    results = in_order(work, range(1000), threads)
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before
    assert len(started) <= 1 + threads * AHEAD + 1
