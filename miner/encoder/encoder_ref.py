"""References to encoders: name and fingerprint, by which another process or machine opens them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from miner.encoder.loading import USUAL, Loading
from miner.encoder.model_files import model_digest
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MismatchError


@dataclass(frozen=True)
class EncoderRef:
    """Reference to an encoder: name, fingerprint, the ``side`` that it reads, and loading settings.

    ``scoring`` is the digest of all files of its model, for results that its verifier or quality
    function affects too; None if only the vectors matter.
    """

    name: str
    fingerprint: str
    side: str | None = None
    loading: Loading = USUAL
    device: str = field(default="auto", metadata={"decides": False})
    scoring: str | None = None

    @classmethod
    def of(cls, encoder: SentenceEncoder, device: str = "auto") -> EncoderRef:
        """Return the reference to an encoder, to be opened on ``device`` elsewhere."""
        return cls(encoder.address, encoder.fingerprint, encoder.side, encoder.loading, device)

    @classmethod
    def of_scorer(cls, encoder: SentenceEncoder) -> EncoderRef:
        """Return the reference to an encoder whose model also scores pairs."""
        path = None if encoder.model is None else encoder.model.path
        return replace(cls.of(encoder), scoring=None if path is None else model_digest(path))

    def as_dict(self) -> dict[str, Any]:
        """Return the description of the model for ``meta.json`` of an index."""
        model: dict[str, Any] = {"name": self.name, "fingerprint": self.fingerprint}
        if self.side is not None:
            model["side"] = self.side
        if loading := self.loading.as_dict():
            model["loading"] = loading
        return model

    def open(self, threads: int | None = None) -> SentenceEncoder:
        """Return the encoder: a registered one (`lent`), or one that this process opens once.

        Raises ArtifactError, and MismatchError for an encoder that has been replaced.
        """
        for side in (self.side, None):
            if (self.fingerprint, side) in _lent:
                return _lent[self.fingerprint, side]
        encoder = _opened(self.name, threads, self.device, self.loading, self.side, self.scoring)
        wanted, there = self.fingerprint, encoder.fingerprint
        if wanted == there and self.scoring is not None:
            wanted, there = self.scoring, str(self.of_scorer(encoder).scoring)
        if wanted != there:
            raise MismatchError(
                f"{self.name}: replaced since the plan was made ({there[:16]}, not "
                f"{wanted[:16]}); put the model back, or name another --work"
            )
        return encoder


# Registered encoders of this process by fingerprint and side.
_lent: dict[tuple[str, str | None], SentenceEncoder] = {}


@contextmanager
def lent(*encoders: SentenceEncoder) -> Iterator[None]:
    """Register encoders that :meth:`EncoderRef.open` returns during the block."""
    before = dict(_lent)
    _lent.update({(encoder.fingerprint, encoder.side): encoder for encoder in encoders})
    try:
        yield
    finally:
        _lent.clear()
        _lent.update(before)


@lru_cache(maxsize=2)
def _opened(
    name: str,
    threads: int | None,
    device: str,
    loading: Loading,
    side: str | None,
    scoring: str | None,
) -> SentenceEncoder:
    """Open an encoder, cached by its arguments; another digest ``scoring`` opens it again."""
    return open_encoder(name, threads, device, side, loading)
