"""Libraries that a few functions need, imported when those run."""

import importlib
import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from miner.errors import DependencyError

# Packages by the library they hold, where pip knows them by another name.
PACKAGES = {"sklearn": "scikit-learn", "yaml": "pyyaml"}
# One of these exists if an NVIDIA driver serves a GPU (the second within WSL).
DRIVERS = ("/dev/nvidiactl", "/dev/dxg")
# Extras that bring torch, wherever it runs, and PyTorch's index of builds for CPUs.
BRING_TORCH = ("train", "hf")
CPU_TORCH = "https://download.pytorch.org/whl/cpu"


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


def has_driver() -> bool:
    """Return whether a driver serves an NVIDIA GPU. Importing torch to learn it takes seconds."""
    return any(map(os.path.exists, DRIVERS))


def pip() -> str:
    """Return the command that is pip for this Python; the pip on the path may be another's."""
    place = Path(sys.executable)
    if shutil.which("pip") in [str(place.with_name(name)) for name in ("pip", "pip.exe")]:
        return "pip"
    here = os.path.join(os.getcwd(), "")
    return f"{shlex.quote(str(place).removeprefix(here))} -m pip"


def install_line(*packages: str, extra: str | None = None) -> str:
    """Return the command that installs packages, or an extra of this one, for this Python.

    On PyPI, builds of torch for Linux bring 6 GB of CUDA. Where torch is to come and no driver is
    there, the command names the index of builds for CPUs.
    """
    brought = " ".join(packages) if extra is None else f'"bitext-miner[{extra}]"'
    torch = extra in BRING_TORCH and importlib.util.find_spec("torch") is None
    if torch and sys.platform == "linux" and not has_driver():
        brought += f" --extra-index-url {CPU_TORCH}"
    return f"{pip()} install {brought}"


def _lacking(
    user: str, names: list[str], extra: str | None, reason: ImportError | None = None
) -> DependencyError:
    packages = [PACKAGES.get(name, name) for name in names]
    cause = f" ({reason})" if reason else ""
    command = install_line(*packages, extra=extra)
    return DependencyError(f"{user} needs {' and '.join(packages)}{cause}; run: {command}")
