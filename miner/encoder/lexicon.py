"""Lexicon: translation probabilities between token ids, for the two languages in hand."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Translation probabilities in both directions. Raises ValueError if they contradict.

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
