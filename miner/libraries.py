"""Libraries that a few functions need, imported when those run."""

from importlib import import_module
from typing import Any

from miner.errors import DependencyError


def library(name: str, user: str, extra: str | None = None) -> Any:
    """Import a library. Raises DependencyError, which names its ``user``, if it is missing.

    ``extra`` is the extra of this package that brings it.
    """
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        brought = package if extra is None else f'"bitext-miner[{extra}]"'
        raise DependencyError(f"{user} needs {package}; run: pip install {brought}") from None
