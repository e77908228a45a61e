"""Sums of table rows on a GPU, by torch: the averaging encoder's other half, and nothing else.

Only function bodies import torch, since a CPU does not need it.
"""

import importlib
import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from miner.errors import DependencyError, ResourceError

# One of these exists wherever an NVIDIA driver serves a GPU (the second within WSL). Importing
# torch to learn that there is none would take seconds.
DRIVERS = ("/dev/nvidiactl", "/dev/dxg")


def resolve_device(device: str) -> str:
    """``auto``, ``cpu`` or ``cuda`` to the device to encode and to search on.

    Raises :class:`~miner.errors.ResourceError` where cuda is asked for and torch sees no GPU,
    :class:`~miner.errors.DependencyError` where torch is missing.
    """
    if device == "cpu":
        return device
    present = any(map(os.path.exists, DRIVERS))
    if device == "auto":
        try:
            return "cuda" if present and _torch().cuda.is_available() else "cpu"
        except DependencyError:
            return "cpu"
    if not present or not _torch().cuda.is_available():
        raise ResourceError(
            "--device cuda: there is no GPU here that torch can use; use --device cpu, or install "
            "a torch with CUDA where there is one"
        )
    return device


def pool(table: np.ndarray, device: str) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """What :func:`miner.kernels.pool.mean_pool` does, on a torch ``device``, over its own copy of
    ``table (V, d) float32``: a function of ``ids``, ``offsets`` and ``out``, float32 or float16.

    Rows are added in the order of ids, and squares by the kernel's own order, so that a vector
    depends on nothing but its sentence.
    """
    torch = _torch()
    weights = torch.from_numpy(table).to(device)

    def run(ids: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
        with torch.inference_mode():
            vectors = torch.nn.functional.embedding_bag(
                torch.from_numpy(ids).to(device, torch.int64),
                weights,
                torch.from_numpy(offsets).to(device),
                mode="sum",
                include_last_offset=True,
            )
            vectors = vectors * _inverse_length(torch, vectors)
            # Rounded over there: half of the bytes to bring back.
            dtype = torch.float16 if out.dtype == np.float16 else torch.float32
            torch.from_numpy(out).copy_(vectors.to(dtype))

    return run


def _inverse_length(torch: Any, vectors: Any) -> Any:
    """``(n, 1) float32``: 1 over the length of each of ``vectors (n, d)``, 0 for zero rows.

    torch's own sum changes its order with n; this one is the kernel's.
    """
    squares = vectors.double().square()
    while squares.shape[1] > 1:
        half = (squares.shape[1] + 1) // 2
        folded = squares[:, :half].clone()
        folded[:, : squares.shape[1] - half] += squares[:, half:]
        squares = folded
    return torch.where(squares > 0, 1.0 / squares.sqrt(), 0.0).float()


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise DependencyError(
            '--device cuda needs torch; run: pip install "bitext-miner[gpu]"'
        ) from None
