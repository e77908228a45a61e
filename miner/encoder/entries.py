"""Entries of encoders: what finds an encoder again, from another process or on another machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from miner.encoder.loading import USUAL, Loading
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MismatchError


@dataclass(frozen=True)
class Entry:
    """Name and fingerprint of an encoder, the ``side`` that it reads, and how it is loaded."""

    name: str
    fingerprint: str
    side: str | None = None
    loading: Loading = USUAL
    device: str = field(default="auto", metadata={"decides": False})

    @classmethod
    def of(cls, encoder: SentenceEncoder, device: str = "auto") -> Entry:
        """Return the entry of an encoder, to be opened on ``device`` elsewhere."""
        return cls(encoder.address, encoder.fingerprint, encoder.side, encoder.loading, device)

    def as_dict(self) -> dict[str, Any]:
        """Return what ``meta.json`` of an index says about the model."""
        model: dict[str, Any] = {"name": self.name, "fingerprint": self.fingerprint}
        if self.side is not None:
            model["side"] = self.side
        if loading := self.loading.as_dict():
            model["loading"] = loading
        return model

    def open(self, threads: int | None = None) -> SentenceEncoder:
        """Return the encoder: a lent one, or one that this process opens once and keeps.

        Raises ArtifactError, and MismatchError for one that has been replaced.
        """
        for side in (self.side, None):
            if (self.fingerprint, side) in _lent:
                return _lent[self.fingerprint, side]
        found = _opened(self.name, threads, self.device, self.loading, self.side)
        if found.fingerprint != self.fingerprint:
            raise MismatchError(
                f"{self.name}: replaced since the plan was made ({found.fingerprint}, not "
                f"{self.fingerprint}); put the model back, or name another --work"
            )
        return found


# Encoders of this process by fingerprint and side, for tasks that it does itself.
_lent: dict[tuple[str, str | None], SentenceEncoder] = {}


@contextmanager
def lent(*encoders: SentenceEncoder) -> Iterator[None]:
    """Let :meth:`Entry.open` return these encoders during the block."""
    before = dict(_lent)
    _lent.update({(encoder.fingerprint, encoder.side): encoder for encoder in encoders})
    try:
        yield
    finally:
        _lent.clear()
        _lent.update(before)


@lru_cache(maxsize=2)
def _opened(
    name: str, threads: int | None, device: str, loading: Loading, side: str | None
) -> SentenceEncoder:
    return open_encoder(name, threads, device, side, loading)
