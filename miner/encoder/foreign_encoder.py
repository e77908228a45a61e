"""Adapters that give encoders of other libraries, and objects with ``encode``, our protocol."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np

from miner.arrays import within_range
from miner.encoder.loading import USUAL
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError
from miner.option_values import SIDES
from miner.text.text_format import is_blank
from miner.text_table import quoted

# Sentences encoded once to learn an encoder's dimension, and its fingerprint if it has none.
PROBES = ("Good morning!", "The train arrives at six.", "Где находится вокзал?", "图书馆在哪里？")


class ForeignEncoder(ABC):
    """Encoder of another library, whose vectors are checked and normalised here.

    A subclass sets the attributes and defines :meth:`library_vectors`. ``prompts`` are for source
    and target; ``licence`` comes from its card. ``side`` is "source" or "target" and matters only
    if their prompts differ. Raises :class:`~miner.errors.ArtifactError` for an encoder with
    unusable vectors, and for a missing side that is needed. Vectors may differ in their last bits
    with the batch.
    """

    model = None
    name: str
    fingerprint: str
    licence: str | None = None
    prompts = ("", "")
    loading = USUAL

    def __init__(self, side: str | None = None):
        source_prompt, target_prompt = self.prompts
        if source_prompt != target_prompt and side is None:
            raise ArtifactError(
                f"{self.name}: has a prompt for each side; say which of the two this text is, "
                "source or target (--side)"
            )
        self.side = side if source_prompt != target_prompt else None
        self.dimension = 0
        self.dimension = int(self._rows(list(PROBES[:1])).shape[1])

    @abstractmethod
    def library_vectors(self, sentences: list[str], prompt: str) -> Any:
        """Return ``(n, d)`` numbers, rows of any length; ``prompt`` precedes each sentence."""

    @property
    def address(self) -> str:
        return self.name

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode ``sentences``: ``(n, d) float32``, rows of unit length; blank ones are zero.

        Raises ArtifactError for NaN or infinity, a changed dimension, or another number of rows.
        """
        if isinstance(sentences, str):
            raise TypeError("encode takes a list of sentences, not one string")
        out = np.zeros((len(sentences), self.dimension), dtype=np.float32)
        known = [row for row, sentence in enumerate(sentences) if not is_blank(sentence)]
        if known:
            out[known] = self._rows([sentences[row] for row in known])
        return out

    def stream(
        self, blocks: Iterable[Sequence[str]], dtype: Any = np.float32
    ) -> Generator[np.ndarray, None, None]:
        """Encode each block of sentences, in order: yield ``(len(block), d)`` of ``dtype``."""
        for block in blocks:
            yield self.encode(block).astype(dtype)

    def on_side(self, side: str | None) -> "ForeignEncoder":
        if self.side is None or side in (None, self.side):
            return self
        other = copy(self)
        other.side = side
        return other

    def facts(self) -> list[str]:
        licence, (source_prompt, target_prompt) = self.licence, self.prompts
        facts = [] if licence is None else [f"licence {licence}"]
        if source_prompt == target_prompt != "":
            facts.append(f"prompt {source_prompt!r}")
        elif source_prompt != target_prompt:
            facts.append(
                f"prompts {source_prompt!r} for the source, {target_prompt!r} for the target"
            )
        return [f"{self.name}: {', '.join(facts)}"] if facts else []

    def warnings(self) -> list[str]:
        return []

    def _rows(self, sentences: list[str]) -> np.ndarray:
        """Encode sentences that are not blank: ``(n, d) float32``, checked and normalised."""
        prompt = self.prompts[SIDES.index(self.side or SIDES[0])]
        output = self.library_vectors(sentences, prompt)
        try:
            rows = np.asarray(output)
            rows = rows.astype(np.float64 if rows.dtype == np.float64 else np.float32, copy=False)
        except (TypeError, ValueError, RuntimeError):
            raise ArtifactError(
                f"{self.name}: encode returned {type(output).__name__}, not rows of numbers"
            ) from None
        if rows.ndim != 2 or len(rows) != len(sentences) or not rows.shape[1]:
            raise ArtifactError(
                f"{self.name}: encode returned shape {rows.shape} for {len(sentences)} sentences; "
                "it must return one row for each"
            )
        if self.dimension and rows.shape[1] != self.dimension:
            raise ArtifactError(
                f"{self.name}: encode returned vectors of {rows.shape[1]} dimensions, and "
                f"{self.dimension} before"
            )
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            bad = sentences[int(np.argmin(finite))]
            raise ArtifactError(
                f"{self.name}: encode returned NaN or infinity for {quoted(bad)}; mend the encoder"
            )
        rows = within_range(rows)
        length = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


class _Object(ForeignEncoder):
    """Adapter of any object with ``encode(sentences) -> (n, d)``.

    Its attributes ``name``, ``fingerprint`` and ``licence`` are used if it has them. Otherwise the
    fingerprint is a digest of the vectors of a few sentences.
    """

    def __init__(self, encoder: Any):
        self.encoder = encoder
        kind = type(encoder)
        self.name = str(getattr(encoder, "name", None) or f"{kind.__module__}.{kind.__qualname__}")
        self.licence = getattr(encoder, "licence", None)
        self.fingerprint = str(getattr(encoder, "fingerprint", None) or self._digest())
        super().__init__()

    def library_vectors(self, sentences: list[str], prompt: str) -> Any:
        return self.encoder.encode(sentences)

    def _digest(self) -> str:
        rows = np.asarray(self.encoder.encode(list(PROBES)), dtype=np.float16)
        return hashlib.sha256(rows.tobytes()).hexdigest()[:16]


def as_encoder(encoder: Any) -> SentenceEncoder:
    """Return an encoder unchanged, or adapt any object with ``encode(sentences) -> (n, d)``.

    Raises TypeError for an object without ``encode``, ArtifactError for faulty vectors.
    """
    if hasattr(encoder, "on_side") and hasattr(encoder, "stream"):
        return encoder
    if not callable(getattr(encoder, "encode", None)):
        raise TypeError(f"{type(encoder).__name__} has no method encode(sentences)")
    return _Object(encoder)
