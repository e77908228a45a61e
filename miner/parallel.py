"""Work on a stream by several threads or processes: results in order, memory bounded."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from miner.errors import ResourceError

Item = TypeVar("Item")
Result = TypeVar("Result")

# Items that wait or are done, for each thread, while the oldest is worked on: enough that no thread
# idles when the caller takes its time over a result, and few enough to fit into memory.
AHEAD = 2


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result, None, None]:
    """``function(item)`` of each item, in the order of ``items``, by several threads.

    Items are drawn in the caller's thread, while the others work, and never more than
    ``threads * AHEAD`` of them beyond the result that is waited for. What ``items`` or
    ``function`` raises comes out here. However the iteration ends, and also when it is closed
    early, no thread is left. With one thread all is done in the caller's.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from _drawn(lambda item: pool.submit(function, item), items, threads * AHEAD)


@contextmanager
def processes(count: int, prepare: Callable[..., Any], *arguments: Any) -> Iterator["Processes"]:
    """Processes for work that holds Python's lock; each calls ``prepare(*arguments)`` once.

    ``prepare`` and the functions to be run are of the top level of a module that can be imported,
    and what goes to and fro can be pickled. With a count of 1 all is done in this process. They end
    with the block, and also with this process, however it ends; Ctrl-C is this process's affair
    alone. What ``prepare`` raises comes out where results are waited for.
    """
    if count == 1:
        prepare(*arguments)
        yield Processes(None, 1)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, _begin, (prepare, arguments))
    try:
        yield Processes(pool, count)
    except BrokenProcessPool:
        raise ResourceError(
            f"one of {count} processes was killed, probably for want of memory; give fewer "
            "--threads"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


class Processes:
    """What :func:`processes` yields."""

    def __init__(self, pool: Executor | None, count: int):
        self._pool, self._count = pool, count

    def in_order(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """As :func:`in_order`, by the processes."""
        if self._pool is None:
            yield from map(function, items)
        else:
            yield from _drawn(partial(_submit, self._pool, function), items, self._count * AHEAD)


def _submit(pool: Executor, function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """Submit an item, which may start a process.

    A process would run the user's script once more, to know what it defines, and a script that
    does not ask for its ``__name__`` would do all its work again there, this work too. What is to
    be run is never the script's, so that the script is hidden meanwhile. So is Ctrl-C, until the
    process can look after itself.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    blocked = {signal.SIGINT} if hasattr(signal, "pthread_sigmask") else set()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked) if blocked else set()
    try:
        return pool.submit(_run, function, item)
    finally:
        sys.modules["__main__"] = main
        if blocked:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


# What `prepare` raised in this process: a pool whose initializer raises does not tell why.
_failure: Exception | None = None


def _run(function: Callable[[Item], Result], item: Item) -> Result:
    if _failure is not None:
        raise _failure
    return function(item)


def _begin(prepare: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _failure
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A process that was killed cannot stop its children, which would wait for work for ever.
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    try:
        prepare(*arguments)
    except Exception as error:
        _failure = error


def _drawn(
    submit: Callable[[Item], Future[Result]], items: Iterable[Item], ahead: int
) -> Generator[Result, None, None]:
    """Results in order, with at most ``ahead`` items waiting or done beyond the oldest."""
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(submit(item))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:  # else the pool would work on what nobody waits for
        for future in pending:
            future.cancel()
