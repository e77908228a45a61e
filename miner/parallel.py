"""Work on a stream by several threads: results in order, memory bounded."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

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
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                if len(pending) > threads * AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:  # else the pool would work on what nobody waits for
            for future in pending:
                future.cancel()
