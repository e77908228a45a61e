"""Optional libraries, imported when a function needs them."""

import importlib
import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from miner.errors import DependencyError

# Names of packages that differ from the name of their library.
PACKAGES = {"sklearn": "scikit-learn", "yaml": "pyyaml"}
# Device files of NVIDIA drivers; one of them exists if there is a GPU (the second within WSL).
DRIVERS = ("/dev/nvidiactl", "/dev/dxg")
# Extras that install torch, and PyTorch's index of CPU builds.
BRING_TORCH = ("train", "hf")
CPU_TORCH = "https://download.pytorch.org/whl/cpu"


def library(name: str, user: str, extra: str | None = None) -> Any:
    """Import a library, or a module of it, for a ``user`` named in errors.

    ``extra`` is the extra of this package that installs the library. Raises DependencyError with
    the reason if the library is missing or unusable.
    """
    top = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        reason = None if isinstance(error, ModuleNotFoundError) and error.name == top else error
        raise _lacking(user, [top], extra, reason) from None


def require(names: list[str], user: str, extra: str | None = None) -> None:
    """Raise the error of :func:`library` if one of these libraries is missing.

    They are located, not imported: scikit-learn takes two seconds, and not every user of an extra
    needs all of it.
    """
    if any(importlib.util.find_spec(name) is None for name in names):
        raise _lacking(user, names, extra)


def installed_version(name: str) -> str | None:
    """Return the version of an installed library, None without it.

    pip names a folder by it. Importing importlib.metadata takes as long as a small command.
    """
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin is not None:
        beside = [*Path(spec.origin).parent.parent.glob(f"{name}-*.dist-info")]
        if len(beside) == 1:
            return beside[0].name.removeprefix(f"{name}-").removesuffix(".dist-info")
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def has_driver() -> bool:
    """Return True if a driver serves an NVIDIA GPU. Importing torch to find out would take
    seconds.
    """
    return any(map(os.path.exists, DRIVERS))


def pip() -> str:
    """Return the pip command of this Python; the pip on the path may belong to another."""
    python = Path(sys.executable)
    if shutil.which("pip") in [str(python.with_name(name)) for name in ("pip", "pip.exe")]:
        return "pip"
    here = os.path.join(os.getcwd(), "")
    return f"{shlex.quote(str(python).removeprefix(here))} -m pip"


def install_line(*packages: str, extra: str | None = None) -> str:
    """Return the command that installs packages, or an extra of this package, for this Python.

    On PyPI, builds of torch for Linux bring 6 GB of CUDA. If torch is needed and there is no
    driver, the command names the index of CPU builds.
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
