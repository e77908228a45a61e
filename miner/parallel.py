"""Parallel map over a stream, by threads or processes: ordered results, bounded memory."""

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from types import ModuleType
from typing import Any, TypeVar

from miner.errors import ResourceError
from miner.machine import thread_count

Item = TypeVar("Item")
Result = TypeVar("Result")

# Items per thread that may wait or be finished while the oldest is in work: enough to keep threads
# busy while the caller handles a result, and few enough to fit into memory.
AHEAD = 2


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """Yield ``function(item)`` of each item, in the order of ``items``, by several threads.

    The caller's thread reads ``items`` while the others work, at most ``threads * AHEAD`` items
    ahead of the next result. Exceptions of ``items`` and ``function`` are raised here. All threads
    end with the iteration, also if it is closed early. With one thread, the caller's thread does
    all work.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from _drawn(lambda item: pool.submit(function, item), items, threads * AHEAD)


class _Loops(threading.local):
    """Thread-local number of threads of compiled loops; None for the default."""

    threads: int | None = None


_loops = _Loops()


def loop_threads() -> int:
    """Return the number of threads of compiled loops that this thread calls.

    It is set by :func:`use_loop_threads`; by default all cores of this process.
    """
    return _loops.threads or thread_count()


def use_loop_threads(threads: int | None) -> int | None:
    """Set :func:`loop_threads` of this thread, None for the default; return the previous value."""
    before, _loops.threads = _loops.threads, threads
    return before


def in_ranges(loop: Callable[[int, int], None], count: int, size: int) -> None:
    """Call ``loop(first, last)`` for ranges of ``size`` items that make up ``range(count)``.

    The ranges are shared among :func:`loop_threads`; a single thread gets all items at once. The
    loop must release Python's lock, and its result must not depend on the ranges.
    """
    threads = min(loop_threads(), -(-count // size))
    if threads <= 1:
        loop(0, count)
        return
    starts = iter(range(0, count, size))  # shared by all threads

    def work() -> None:
        for start in starts:
            loop(start, min(count, start + size))

    others = [_pool().submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        for other in others:
            if not other.cancel():
                other.result()


def in_lanes(loop: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls ``loop(lane, lanes, ...)`` for each lane, one per thread.

    A lane has the items ``range(lane, count, lanes)``, so that its scratch is allocated once.
    """

    def call(*arguments: Any) -> None:
        lanes = loop_threads()
        in_ranges(lambda lane, _: loop(lane, lanes, *arguments), lanes, 1)

    return call


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread pool of compiled loops, cached because a loop can be over before threads
    start.
    """
    return ThreadPoolExecutor(64)


@contextmanager
def processes(count: int, prepare: Callable[..., Any], *arguments: Any) -> Iterator["ProcessPool"]:
    """Start processes for work that holds Python's lock; each calls ``prepare(*arguments)`` once.

    ``prepare`` and the functions to run must be top-level functions of importable modules, and
    their arguments and results must be picklable. With a count of 1, this process does the work.
    The processes end with the block, and with this process if it is killed. They ignore Ctrl-C,
    which this process handles. An exception of ``prepare`` is raised when results are awaited, and
    ResourceError if a process was killed.
    """
    if count == 1:
        prepare(*arguments)
        yield ProcessPool(None, 1)
        return
    # Here, because small commands need no processes.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (prepare, arguments))
    try:
        yield ProcessPool(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)


class ProcessPool:
    """Pool of processes that :func:`processes` yields."""

    def __init__(self, pool: Executor | None, count: int):
        self._pool, self._count = pool, count

    def in_order(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Map as :func:`in_order` does, by the processes."""
        if self._pool is None:
            yield from map(function, items)
            return
        try:
            yield from _drawn(partial(submit, self._pool, function), items, self._count * AHEAD)
        except BrokenExecutor:
            raise ResourceError(
                f"one of {self._count} processes was killed, probably because memory ran out; use "
                "fewer --threads"
            ) from None


_hiding = threading.Lock()


def submit(pool: Executor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Submit an item, which may start a process.

    A new process imports the user's script, and a script without a ``__name__`` guard would repeat
    all its work there. The submitted functions never belong to the script, so the script is hidden
    while a process starts. Ctrl-C is blocked until the process ignores it.
    """
    blocked = {signal.SIGINT} if hasattr(signal, "pthread_sigmask") else set()
    with _hiding:  # another thread would mistake the empty module for the script
        main = sys.modules["__main__"]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if blocked else set()
        try:
            if blocked:  # raises KeyboardInterrupt for a Ctrl-C that came just before
                signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
            sys.modules["__main__"] = ModuleType("__main__")
            return pool.submit(_run, function, item)
        finally:
            sys.modules["__main__"] = main
            if blocked:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Exception of `prepare` in this process, because a pool whose initializer raises does not report
# it.
_failure: Exception | None = None


def _run(function: Callable[[Item], Result], item: Item) -> Result:
    if _failure is not None:
        raise _failure
    return function(item)


def end_with_parent() -> None:
    """Let a new process ignore Ctrl-C, which its parent handles, and end when its parent dies.

    A killed parent cannot stop its children, which would wait for work for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _begin(prepare: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _failure
    end_with_parent()
    try:
        prepare(*arguments)
    except Exception as error:
        _failure = error


def _drawn(
    submit: Callable[[Item], Future[Result]], items: Iterable[Item], ahead: int
) -> Generator[Result, None, None]:
    """Yield results in order, with at most ``ahead`` items submitted beyond the oldest."""
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(submit(item))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # otherwise the pool would compute results that nobody uses
        for future in pending:
            future.cancel()
