"""Libraries that a few functions need, imported when those run."""

from importlib import import_module
from typing import Any

from miner.errors import DependencyError


def library(name: str, user: str) -> Any:
    """Import a library. Raises DependencyError, which names its ``user``, if it is missing."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise DependencyError(f"{user} needs {package}; run: pip install {package}") from None
