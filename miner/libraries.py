"""Libraries that a few functions need, imported when those run."""

import importlib
import importlib.util
from typing import Any

from miner.errors import DependencyError

# Packages by the library they hold, where pip knows them by another name.
PACKAGES = {"sklearn": "scikit-learn"}


def library(name: str, user: str, extra: str | None = None) -> Any:
    """Import a library, or a module of one, for a ``user``, which an error names.

    ``extra`` is the extra of this package that brings the library. Raises DependencyError if the
    library is missing, or there but unusable, with the reason.
    """
    top = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        reason = None if isinstance(error, ModuleNotFoundError) and error.name == top else error
        raise _lacking(user, [top], extra, reason) from None


def require(names: list[str], user: str, extra: str | None = None) -> None:
    """Raise the error of :func:`library` if one of these libraries is missing.

    They are found, not imported: scikit-learn takes two seconds, and not every user of an extra
    needs all of it.
    """
    if any(importlib.util.find_spec(name) is None for name in names):
        raise _lacking(user, names, extra)


def _lacking(
    user: str, names: list[str], extra: str | None, reason: ImportError | None = None
) -> DependencyError:
    packages = [PACKAGES.get(name, name) for name in names]
    brought = " ".join(packages) if extra is None else f'"bitext-miner[{extra}]"'
    cause = f" ({reason})" if reason else ""
    return DependencyError(
        f"{user} needs {' and '.join(packages)}{cause}; run: pip install {brought}"
    )
