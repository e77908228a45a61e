"""Protocol of the encoders: sentences to unit vectors, by models of this program and of others."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from miner.encoder.loading import Loading
from miner.encoder.model import Model


class SentenceEncoder(Protocol):
    """Protocol: sentences to unit vectors.

    ``name`` is for messages, ``address`` finds the encoder again from any directory
    (:func:`miner.encoder.open_encoder.open_encoder`), with the settings ``loading``.
    ``fingerprint`` identifies the vectors: indexes of one fingerprint can be searched against each
    other. ``side`` is the column that this encoder reads, None if both are read alike. ``model`` is
    the opened model of this program; None for encoders of other libraries, which have no verifier.
    :class:`~miner.encoder.encoder.Encoder` and
    :class:`~miner.encoder.foreign_encoder.ForeignEncoder` implement it.
    """

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def side(self) -> str | None: ...
    @property
    def loading(self) -> Loading: ...
    @property
    def model(self) -> Model | None: ...

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Return ``(n, d) float32``, unit rows; zero rows for sentences without known units."""
        ...

    def stream(
        self, blocks: Iterable[Sequence[str]], dtype: Any = np.float32
    ) -> Generator[np.ndarray, None, None]:
        """Yield the vectors of each block, in order, as float32 or float16."""
        ...

    def on_side(self, side: str | None) -> "SentenceEncoder":
        """Return the encoder for a column, ``side``; this encoder if both columns share it."""
        ...

    def facts(self) -> list[str]:
        """Lines to show before encoding: licence and prompts of an external encoder."""
        ...

    def warnings(self) -> list[str]:
        """Lines to show after encoding: the number of sentences that were cut."""
        ...
