"""Progress of long work: the type of everything that reports it."""

from collections.abc import Callable

# ``report(stage, done, total)``: ``done`` of ``total`` units of this stage; None: not known.
Reporter = Callable[[str, int, int | None], None]


def silent(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""
