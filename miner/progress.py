"""`Reporter`: type of the functions that receive progress."""

from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

T = TypeVar("T")

# ``report(stage, done, total)``: ``done`` of ``total`` units of this stage; None if unknown.
Reporter = Callable[[str, int, int | None], None]


def silent(*what: object) -> None:
    """Ignore progress, a line for the user, or a result."""


def counted(stage: str, items: Collection[T], report: Reporter) -> Iterator[T]:
    """Yield each item; report the number of items done before it, and the total at the end."""
    for done, item in enumerate(items):
        report(stage, done, len(items))
        yield item
    report(stage, len(items), len(items))
