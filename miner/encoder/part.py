"""`EncoderPart`: embeddings of one kind of unit, as stored, and the network over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

# Largest 4-bit number, and the step sizes to try, as shares of the step at which no number is
# clipped: many small errors cost more than a few large ones.
NIBBLE = 7
SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
# Rows quantised at a time, so that they stay in the processor's cache.
ROWS = 512


@dataclass(frozen=True)
class EncoderPart:
    """One encoder of a model: the embeddings of its units, and the network over them.

    ``weights (V, d)`` are float16, float32 or int8; for int4 they are ``(V, d / 2) uint8``
    (:func:`miner.kernels.pool.packed`). ``scales (V,) float32`` belong to int8 and int4 and are
    None otherwise. ``network`` has the float32 arrays of
    :class:`miner.encoder.recurrent.RecurrentNetwork` by name, and is empty for an average.
    ``digest`` identifies the files of weights and scales; it is empty for a part without files.
    """

    weights: np.ndarray
    scales: np.ndarray | None = None
    network: Mapping[str, np.ndarray] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def of(
        cls, table: np.ndarray, dtype: str, network: Mapping[str, np.ndarray] | None = None
    ) -> "EncoderPart":
        """Store ``table (V, d) float32`` as a type of :data:`miner.encoder.architecture.DTYPES`.

        ``d`` must be even for int4.
        """
        network = network or {}
        if dtype == "int8":
            return cls(*quantise(table), network)
        if dtype == "int4":
            from miner.kernels.pool import packed

            numbers, scales = quantise_to_4_bits(table)
            return cls(packed(numbers), scales, network)
        return cls(table.astype(dtype), None, network)

    @property
    def dtype(self) -> str:
        return "int4" if self.weights.dtype == np.uint8 else str(self.weights.dtype)

    @property
    def dimension(self) -> int:
        return int(self.weights.shape[1]) * (2 if self.dtype == "int4" else 1)

    def numbers(self) -> np.ndarray:
        """Return ``(V, d)`` numbers, without their scales: int8 for int4."""
        if self.dtype != "int4":
            return np.asarray(self.weights)
        from miner.kernels.pool import unpacked

        return unpacked(np.asarray(self.weights))

    def table(self) -> np.ndarray:
        """Return the embeddings as ``(V, d) float32``, in memory."""
        table = np.array(self.numbers(), dtype=np.float32)
        if self.scales is not None:
            table *= self.scales[:, None]
        return table


def quantise(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise ``(V, d) float32`` to int8 in [-127, 127] and ``(V,) float32`` scales.

    The scale of a zero row is 0.
    """
    scales = (np.abs(table).max(axis=1, initial=0.0) / 127.0).astype(np.float32)
    safe = np.where(scales > 0, scales, 1.0)[:, None]
    return np.rint(table / safe).clip(-127, 127).astype(np.int8), scales


def quantise_to_4_bits(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise ``(V, d) float32`` to int8 in [-7, 7] and ``(V,) float32`` scales.

    Each row gets the rounding with the least sum of squared errors among several. The scale of a
    zero row is 0.
    """
    numbers, scales = np.zeros(table.shape, np.int8), np.zeros(len(table), np.float32)
    for start in range(0, len(table), ROWS):
        rows = table[start : start + ROWS]
        largest = np.abs(rows).max(axis=1, initial=0.0).astype(np.float32) / np.float32(NIBBLE)
        least = np.full(len(rows), np.inf)
        for share in SHARES:
            scale = largest * np.float32(share)
            safe = np.where(scale > 0, scale, np.float32(1))[:, None]
            rounded = np.rint(rows / safe).clip(-NIBBLE, NIBBLE)
            squares = np.square(rounded).sum(axis=1)
            scale = (rounded * rows).sum(axis=1) / np.maximum(squares, 1)  # least squares
            error = np.square(rows - rounded * scale[:, None]).sum(axis=1)
            better = error < least
            least[better] = error[better]
            numbers[start : start + ROWS][better] = rounded[better]
            scales[start : start + ROWS][better] = scale[better]
    return numbers, scales
