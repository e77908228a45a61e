"""Optional libraries of the filters, which the extra ``filter`` installs."""

from importlib import import_module
from typing import Any

from miner.errors import DependencyError


def library(name: str, user: str) -> Any:
    """Import a library. Raises DependencyError, which names its ``user``, if it is missing."""
    try:
        return import_module(name)
    except ImportError:
        raise DependencyError(
            f'{user} needs {name.partition(".")[0]}; run: pip install "bitext-miner[filter]"'
        ) from None
