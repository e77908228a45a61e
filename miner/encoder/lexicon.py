"""Translation probabilities between pieces, in both directions at once."""

import io
import zipfile
from dataclasses import dataclass

import numpy as np

from miner.errors import ArtifactError


@dataclass(frozen=True, eq=False)
class Lexicon:
    """How likely a piece is translated by another: IBM Model 1, learned from bitext.

    ``offsets (V + 1,) int64``: piece ``x`` is translated by ``pieces[offsets[x]:offsets[x + 1]]``
    (int32, ascending) with ``probability`` (float32 in (0, 1]; what is unlikely is left out).
    Languages are not told apart: a piece of either side has the other side's pieces.
    ``frequency (V,) float32`` in (0, 1): share of all piece occurrences.
    """

    offsets: np.ndarray
    pieces: np.ndarray
    probability: np.ndarray
    frequency: np.ndarray

    def __post_init__(self) -> None:
        size = len(self.frequency)
        good = (
            len(self.offsets) == size + 1
            and len(self.pieces) == len(self.probability)
            and self.offsets[0] == 0
            and self.offsets[-1] == len(self.pieces)
            and (np.diff(self.offsets) >= 0).all()
            and (not len(self.pieces) or 0 <= self.pieces.min() <= self.pieces.max() < size)
            and ((self.frequency > 0) & (self.frequency < 1)).all()
            and ((self.probability > 0) & (self.probability <= 1)).all()
        )
        if not good:
            raise ValueError("the lexicon's tables contradict each other")

    def translations(self, piece: int) -> tuple[np.ndarray, np.ndarray]:
        """The pieces that translate this one, and their probabilities."""
        span = slice(self.offsets[piece], self.offsets[piece + 1])
        return self.pieces[span], self.probability[span]

    def to_bytes(self) -> bytes:
        """The tables as a compressed ``.npz`` (float16; the same tables give the same bytes)."""
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            offsets=self.offsets,
            pieces=self.pieces.astype(np.uint16 if len(self.frequency) <= 1 << 16 else np.int32),
            probability=self.probability.astype(np.float16),
            frequency=self.frequency,
        )
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> "Lexicon":
        """The inverse; raises :class:`~miner.errors.ArtifactError`, naming ``name``."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as tables:
                return cls(
                    tables["offsets"].astype(np.int64),
                    tables["pieces"].astype(np.int32),
                    tables["probability"].astype(np.float32),
                    tables["frequency"].astype(np.float32),
                )
        except (OSError, ValueError, KeyError, IndexError, zipfile.BadZipFile) as error:
            raise ArtifactError(f"{name}: not a lexicon ({error}); copy the model again") from None
