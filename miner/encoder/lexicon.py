"""Lexicon: translation probabilities between token ids, in both directions."""

import io
import zipfile
from dataclasses import dataclass

import numpy as np

from miner.errors import ArtifactError


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Probabilities of IBM Model 1, learned from bitext. Raises ValueError if they contradict.

    A ragged array: token id ``x`` is translated by ``pieces[offsets[x]:offsets[x + 1]]``
    (``offsets (V + 1,) int64``, ``pieces (t,) int32`` ascending) with ``probability (t,) float32``
    in (0, 1]; improbable translations are left out. Token ids of both languages share the table.
    ``frequency (V,) float32`` is each id's share of all tokens, in (0, 1).
    """

    offsets: np.ndarray
    pieces: np.ndarray
    probability: np.ndarray
    frequency: np.ndarray

    def __post_init__(self) -> None:
        size = len(self.frequency)
        good = (
            is_table(self.offsets, self.pieces, self.probability, size)
            and ((self.frequency > 0) & (self.frequency < 1)).all()
        )
        if not good:
            raise ValueError("the lexicon's tables contradict each other")

    def translations(self, piece: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the token ids that translate ``piece``, and their probabilities."""
        span = slice(self.offsets[piece], self.offsets[piece + 1])
        return self.pieces[span], self.probability[span]

    def to_bytes(self) -> bytes:
        """Serialise as ``.npz``, with float16 probabilities. Equal tables give equal bytes."""
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
        """Read :meth:`to_bytes`. Raises ArtifactError, naming the file ``name``."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as tables:
                return cls(
                    tables["offsets"].astype(np.int64),
                    tables["pieces"].astype(np.int32),
                    tables["probability"].astype(np.float32),
                    tables["frequency"].astype(np.float32),
                )
        # MemoryError: of a header that claims more than there is.
        except (
            OSError,
            EOFError,
            ValueError,
            KeyError,
            IndexError,
            MemoryError,
            zipfile.BadZipFile,
        ) as error:
            raise ArtifactError(f"{name}: not a lexicon ({error}); copy the model again") from None


def is_table(offsets: np.ndarray, pieces: np.ndarray, values: np.ndarray, size: int) -> bool:
    """Tell if these arrays are a ragged table of probabilities of ``size`` token ids."""
    return bool(
        len(offsets) == size + 1
        and len(pieces) == len(values)
        and offsets[0] == 0
        and offsets[-1] == len(pieces)
        and (np.diff(offsets) >= 0).all()
        and (not len(pieces) or 0 <= pieces.min() <= pieces.max() < size)
        and ((values > 0) & (values <= 1)).all()
    )
