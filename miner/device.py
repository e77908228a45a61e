"""Choice between CPU and GPUs, for encoding, training and search. torch is imported on demand."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from miner.errors import DependencyError, ResourceError, reason
from miner.libraries import has_driver, library
from miner.option_values import device_name

# Error texts of libraries for exhausted GPU memory. "Illegal memory access" is a fault.
_NO_MEMORY = re.compile(r"out of memory|alloc fail|failed to allocate|bad_alloc", re.IGNORECASE)


def resolve_device(
    device: str, count_gpus: Callable[[], int] | None = None, library: str = "torch"
) -> str:
    """Return the device of a name: ``cpu``, ``cuda`` or ``cuda:N``; resolve ``auto``.

    ``cuda`` is all GPUs for a search, the first GPU for other work; ``auto`` is ``cuda`` if there
    is a GPU. ``count_gpus`` returns the number of GPUs that ``library`` can use, by default torch.
    Raises ValueError for another name, :class:`~miner.errors.ResourceError` for a missing GPU,
    :class:`~miner.errors.DependencyError` for ``cuda`` without the library.
    """
    if device_name(device) == "cpu":
        return device
    try:
        gpus = (count_gpus or torch_gpus)()
    except DependencyError:
        if device == "auto":
            return "cpu"
        raise
    if device == "auto":
        return "cuda" if gpus else "cpu"
    if not gpus:
        raise ResourceError(
            f"--device {device}: no GPU here that {library} finds; use --device cpu, or install "
            '"bitext-miner[gpu]" where there is one'
        )
    if gpu_ids(device, gpus)[-1] >= gpus:
        raise ResourceError(
            f"--device {device}: {library} finds {gpus} GPU{'s' * (gpus > 1)} here, the last is "
            f"cuda:{gpus - 1}"
        )
    return device


def gpu_ids(device: str, count: int) -> list[int]:
    """Return the numbers of the GPUs that ``device`` names, of ``count``; none for ``cpu``."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return []
    return [int(number)] if number else list(range(count))


def torch_gpus() -> int:
    """Count the GPUs that torch can use, without importing torch if there is no driver."""
    if not has_driver():
        return 0
    cuda = import_torch().cuda
    return cuda.device_count() if cuda.is_available() else 0


def import_torch() -> Any:
    """Import torch. Raises :class:`~miner.errors.DependencyError` if it is missing."""
    return library("torch", "--device cuda", "gpu")


@contextmanager
def gpu_errors() -> Iterator[None]:
    """Convert RuntimeErrors of FAISS and torch to MemoryError, or to ResourceError with the
    reason.
    """
    try:
        yield
    except NotImplementedError:
        raise
    except RuntimeError as error:
        if _NO_MEMORY.search(str(error)):
            raise MemoryError(reason(error)) from error
        raise ResourceError(f"the GPU failed ({reason(error)}); give --device cpu") from error


def warn_no_gpu(work: str, why: str) -> None:
    """Warn that the CPU does some work because a GPU cannot be used."""
    warnings.warn(
        f"the GPU is not used for {work}: {why}; the CPU does it", RuntimeWarning, stacklevel=3
    )
