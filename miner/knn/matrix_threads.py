"""Threads over a matrix cut into strips of rows and of columns.

Strips in work at the same time never share a row or a column, so that threads can change the lists
of both sides in place.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

Strip = tuple[int, int]


def cut(size: int, number: int) -> list[Strip]:
    """Cut ``size`` items into at most ``number`` strips (start, end) of nearly equal length.

    No strip is empty, except the only one of ``size`` 0.
    """
    number = max(1, min(number, size))
    edges = [size * part // number for part in range(number + 1)]
    return list(zip(edges, edges[1:], strict=False))


def strips_per_side(threads: int) -> int:
    """Return the number of strips per side.

    It exceeds the number of threads a little, so that a thread finds free strips while another is
    late.
    """
    return 1 if threads == 1 else threads + threads // 2


def run_strips(size: int, threads: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(start, end)`` for strips of ``size`` items, one per thread."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda strip: work(*strip), cut(size, threads)))


def run_crosswise(
    rows: int, columns: int, threads: int, work: Callable[[Strip, Strip], None]
) -> None:
    """Call ``work(strip of rows, strip of columns)`` for every pair of strips of a matrix.

    Calls run on ``threads`` threads. Concurrent calls share neither rows nor columns. The first
    exception of ``work`` stops the other threads and is raised, as does one in the waiting thread,
    such as that of a signal.
    """
    number = strips_per_side(threads)
    waiting = {(row, column): None for row in cut(rows, number) for column in cut(columns, number)}
    busy: set[tuple[str, Strip]] = set()
    change = threading.Condition()
    failed = False

    def worker() -> None:
        nonlocal failed
        while True:
            with change:
                while True:
                    if failed or not waiting:
                        return
                    free = (
                        (row, column)
                        for row, column in waiting
                        if ("row", row) not in busy and ("column", column) not in busy
                    )
                    job = next(free, None)
                    if job is not None:
                        break
                    change.wait()
                del waiting[job]
                mine = {("row", job[0]), ("column", job[1])}
                busy.update(mine)
            try:
                work(*job)
            except BaseException:
                failed = True
                raise
            finally:
                with change:
                    busy.difference_update(mine)
                    change.notify_all()

    if threads == 1:
        worker()
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            for future in [pool.submit(worker) for _ in range(threads)]:
                future.result()
        finally:
            failed = True  # ends threads that still work after an exception
