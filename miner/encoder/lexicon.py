"""Translation probabilities between token ids: a ragged table, and the lexicon of two languages."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Translations:
    """Translation probabilities of V token ids. Raises ValueError if the arrays contradict.

    A ragged array: token id ``x`` is translated by ``pieces[offsets[x]:offsets[x + 1]]`` (``offsets
    (V + 1,) int64``, ``pieces (t,) int32`` ascending) with ``probability (t,) float32`` in (0, 1];
    improbable translations are omitted.
    """

    offsets: np.ndarray
    pieces: np.ndarray
    probability: np.ndarray

    def __post_init__(self) -> None:
        good = (
            len(self.offsets)
            and len(self.pieces) == len(self.probability)
            and self.offsets[0] == 0
            and self.offsets[-1] == len(self.pieces)
            and (np.diff(self.offsets) >= 0).all()
            and (not len(self.pieces) or 0 <= self.pieces.min() <= self.pieces.max() < self.size)
            and ((self.probability > 0) & (self.probability <= 1)).all()
        )
        self.check(bool(good))

    @property
    def size(self) -> int:
        """Number of token ids, V."""
        return len(self.offsets) - 1

    @property
    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays, as kernels take them."""
        return self.offsets, self.pieces, self.probability

    def check(self, good: bool) -> None:
        """Raise ValueError unless ``good``."""
        if not good:
            raise ValueError("the tables of the lexicon contradict each other")

    def translations(self, piece: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the token ids that translate ``piece``, and their probabilities."""
        span = slice(self.offsets[piece], self.offsets[piece + 1])
        return self.pieces[span], self.probability[span]


@dataclass(frozen=True, eq=False)
class Lexicon(Translations):
    """Translations in both directions, for the two languages in hand.

    ``frequency (V,) float32`` is each id's share of all tokens, in (0, 1).
    """

    frequency: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        inside = ((self.frequency > 0) & (self.frequency < 1)).all()
        self.check(len(self.frequency) == self.size and bool(inside))
