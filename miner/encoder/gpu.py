"""Mean pooling on a GPU, by torch, and the check that a GPU encodes as the CPU does."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from miner.device import import_torch
from miner.errors import MinerError, reason
from miner.ragged import offsets_of

# Number of sentences in the check, tokens of the longest, and accepted difference relative to the
# largest component.
SENTENCES, LONGEST, TOLERANCE = 24, 16, 1e-3

P = TypeVar("P")


def checked(
    make: Callable[[str], P],
    encode: Callable[[P, np.ndarray, np.ndarray], np.ndarray],
    vocabulary: int,
    device: str = "cuda",
) -> tuple[P, str]:
    """Return ``make(device)`` and ``device``, if it encodes random sentences as the CPU does.

    Otherwise a warning says why, and ``make("cpu")`` and ``cpu`` are returned. ``encode`` takes the
    result of ``make``, token ids ``(t,) int32`` below ``vocabulary`` and offsets ``(n + 1,)
    int64``.
    """
    generator = np.random.default_rng(1)
    offsets = offsets_of(generator.integers(0, LONGEST + 1, SENTENCES))
    ids = generator.integers(vocabulary, size=offsets[-1]).astype(np.int32)
    on_cpu = make("cpu")
    wanted = encode(on_cpu, ids, offsets)
    try:
        on_gpu = make(device)
        vectors = encode(on_gpu, ids, offsets)
        if np.abs(vectors - wanted).max() <= TOLERANCE * np.abs(wanted).max():
            return on_gpu, device
        why = "its vectors differ from the CPU's"
    except (MinerError, KeyboardInterrupt):
        raise
    except Exception as error:  # an error of the driver or the library
        why = reason(error)
    warnings.warn(
        f"the GPU is not used for encoding: {why}; the CPU encodes", RuntimeWarning, stacklevel=2
    )
    return on_cpu, "cpu"


def pool(table: np.ndarray, device: str) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """Return :func:`miner.kernels.pool.mean_pool` on a torch ``device``.

    ``table (V, d) float32`` is copied there. The returned function takes token ids ``(t,) int32``,
    ``offsets (n + 1,) int64`` and ``out (n, d)``, float32 or float16, which it fills with unit
    vectors. Rows are added in the order of the ids and squares in the kernel's order, so that a
    vector does not depend on the batch.
    """
    torch = import_torch()
    weights = torch.from_numpy(table).to(device)

    def run(ids: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
        with torch.inference_mode():
            vectors = torch.nn.functional.embedding_bag(
                torch.from_numpy(ids).to(device, torch.int64),
                weights,
                torch.from_numpy(offsets).to(device),
                mode="sum",
                include_last_offset=True,
            )  # (n, d)
            vectors = vectors * _inverse_length(torch, vectors)
            # Rounded on the device: float16 halves the transfer.
            dtype = torch.float16 if out.dtype == np.float16 else torch.float32
            torch.from_numpy(out).copy_(vectors.to(dtype))

    return run


def _inverse_length(torch: Any, vectors: Any) -> Any:
    """Return ``(n, 1) float32``: reciprocal length of each of ``vectors (n, d)``, 0 for zero rows.

    Squares are added in the kernel's order, because the order of ``torch.sum`` depends on n.
    """
    squares = vectors.double().square()
    while squares.shape[1] > 1:
        half = (squares.shape[1] + 1) // 2
        folded = squares[:, :half].clone()
        folded[:, : squares.shape[1] - half] += squares[:, half:]
        squares = folded
    return torch.where(squares > 0, 1.0 / squares.sqrt(), 0.0).float()
