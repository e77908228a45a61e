"""Opening of encoders by name: models of this program and of other libraries."""

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.foreign_encoder import ForeignEncoder
from miner.encoder.loading import USUAL, Loading, split_name
from miner.encoder.model import Model, load
from miner.encoder.pretrained import open_pretrained
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, MismatchError


def open_encoder(
    name: str | Path = "default",
    threads: int | None = None,
    device: str = "cpu",
    side: str | None = None,
    loading: Loading = USUAL,
) -> SentenceEncoder:
    """Open a model directory, ``default``, ``hf:PLACE`` or ``model2vec:PLACE``.

    ``loading`` are settings of encoders of other libraries. Raises ArtifactError, DependencyError
    and ResourceError.
    """
    if split_name(name) is not None:
        return open_pretrained(str(name), loading, threads, device, side)
    if loading != USUAL:
        raise ArtifactError(
            f"{name}: prompts and --runtime are for encoders of other libraries (hf:NAME)"
        )
    model = load(name)
    if model.vectors is not None:
        return FittedEncoder(model, threads, device, side)
    return Encoder(model, threads, device, side)


class FittedEncoder(Encoder):
    """Model of ``miner fit``: vectors of another library's encoder, verified by our model.

    The other encoder is opened on first use, unless ``foreign`` is passed. Raises ArtifactError
    then if it is missing, and MismatchError if it has changed.
    """

    def __init__(
        self,
        model: Model,
        threads: int | None = None,
        device: str = "cpu",
        side: str | None = None,
        foreign: ForeignEncoder | None = None,
    ):
        assert model.vectors is not None
        super().__init__(model, threads)
        self._vectors = model.vectors
        self._opening = threads, device
        source_prompt, target_prompt = model.vectors.prompts
        self.side = side if source_prompt != target_prompt else None
        self._given = foreign

    @property
    def foreign(self) -> ForeignEncoder:
        """Encoder that computes the vectors."""
        if self._given is None:
            vectors = self._vectors
            self._given = open_pretrained(
                vectors.address, vectors.loading, *self._opening, self.side
            )
            if self._given.fingerprint != vectors.fingerprint:
                raise MismatchError(
                    f"{self.name} was fitted to {vectors.address} ({vectors.fingerprint}), which "
                    f"has changed since ({self._given.fingerprint}); run 'miner fit' again"
                )
        return self._given

    @property
    def dimension(self) -> int:
        return self._vectors.dimension

    @property
    def averages(self) -> bool:
        return False

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self.foreign.encode(sentences)

    def encode_pieces(
        self, ids: np.ndarray, offsets: np.ndarray, sentences: Sequence[str]
    ) -> np.ndarray:
        return self.foreign.encode(sentences)

    def stream(
        self, blocks: Iterable[Sequence[str]], dtype: Any = np.float32
    ) -> Generator[np.ndarray, None, None]:
        return self.foreign.stream(blocks, dtype)

    def on_side(self, side: str | None) -> "FittedEncoder":
        if self.side is None or side in (None, self.side):
            return self
        return FittedEncoder(self.model, *self._opening, side, self.foreign.on_side(side))

    def facts(self) -> list[str]:
        return self.foreign.facts()

    def warnings(self) -> list[str]:
        return [] if self._given is None else self._given.warnings()
