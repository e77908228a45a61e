"""Progress lines of the stages of a training: at the start, once a minute, and at the end."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Receiver of lines to print.
Report = Callable[[str], None]


# Seconds between two lines about a stage.
EVERY = 60.0


@contextmanager
def stage(name: str, report: Report, silent: bool = False) -> Iterator[None]:
    """Report the start of a stage, and its end with the seconds that it took.

    A long stage reports once a minute from another thread. ``silent``: it does not, because the
    stage reports its progress itself.
    """
    report(name)
    begun, ended = time.monotonic(), threading.Event()

    def tell() -> None:
        while not ended.wait(EVERY):
            report(f"{name}: {time.monotonic() - begun:.0f} s so far")

    teller = threading.Thread(target=tell, daemon=True)
    if not silent:
        teller.start()
    try:
        yield
    finally:
        ended.set()
        if not silent:
            teller.join()
    report(f"{name}: {time.monotonic() - begun:.1f} s")
