"""Choice between CPU and GPU, for encoding, training and search. torch is imported on demand."""

from collections.abc import Callable
from typing import Any

from miner.errors import DependencyError, ResourceError
from miner.libraries import has_driver, library


def resolve_device(
    device: str, count_gpus: Callable[[], int] | None = None, library: str = "torch"
) -> str:
    """Resolve ``auto``, ``cpu`` or ``cuda`` to the device to use, ``cpu`` or ``cuda``.

    ``count_gpus`` returns the number of GPUs that ``library`` can use; by default torch is asked.
    ``auto`` is ``cuda`` if there is one. Raises :class:`~miner.errors.ResourceError` for ``cuda``
    without a GPU, :class:`~miner.errors.DependencyError` for ``cuda`` without the library.
    """
    if device == "cpu":
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
            f"--device {device}: {library} finds no GPU here; use --device cpu, or install "
            '"bitext-miner[gpu]" where there is one'
        )
    return device


def torch_gpus() -> int:
    """Count the GPUs that torch can use. Does not import torch if there is no driver."""
    if not has_driver():
        return 0
    cuda = import_torch().cuda
    return cuda.device_count() if cuda.is_available() else 0


def import_torch() -> Any:
    """Import torch. Raises :class:`~miner.errors.DependencyError` if it is missing."""
    return library("torch", "--device cuda", "gpu")
