"""Lines about the stages of a training: one at the start, one with the seconds at the end."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Takes a line to print.
Report = Callable[[str], None]


@contextmanager
def stage(name: str, report: Report) -> Iterator[None]:
    """Report the start of a stage, and its end with the seconds that it took."""
    report(name)
    begun = time.monotonic()
    yield
    report(f"{name}: {time.monotonic() - begun:.1f} s")
