"""Encoder: sentences to unit vectors.

The vector is the mean of the embeddings of pieces (P19, section 2), words or trigrams, the output
of a recurrent network over them, or a combination of several of these (P18).
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from miner.device import resolve_device
from miner.encoder import gpu
from miner.encoder import model as models
from miner.encoder.architecture import ENCODERS
from miner.encoder.loading import USUAL, Loading
from miner.encoder.part import EncoderPart
from miner.encoder.tokenizer import Tokenizer, open_tokenizer
from miner.errors import ArtifactError
from miner.libraries import library
from miner.machine import thread_count
from miner.parallel import in_order

# Pooling function (ids, offsets, out): fills out (n, d), float32 or float16, with unit vectors.
Pool = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class Means(Protocol):
    """Protocol of the parts of a model: token ids to vectors that are not normalised."""

    dimension: int

    def __call__(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return ``(n, dimension) float32``; a list without ids has the zero row."""
        ...


# Sentences of a thread's task: few enough to spread a short file over all cores, and enough to make
# Python's overhead negligible.
CHUNK = 2000


class Encoder:
    """A model ready to encode.

    ``threads`` tokenise. They also pool the embeddings, unless ``device`` is cuda; auto is cuda if
    torch can use a GPU. The vectors are the same on both, except for the last bits of recurrent
    encoders. ``side``, "source" or "target", selects the column of a model with separate
    vocabularies; other models ignore it. With ``unit`` False, vectors are means without
    normalisation, computed on the CPU.

    Raises :class:`~miner.errors.ArtifactError` if the files of the model do not fit each other or
    the model needs a side, and ResourceError or DependencyError if a requested GPU is missing.

    >>> Encoder.load("default").encode(["Guten Morgen!", "Good morning!"]).shape
    (2, 512)
    """

    def __init__(
        self,
        model: models.Model,
        threads: int | None = None,
        device: str = "cpu",
        side: str | None = None,
        unit: bool = True,
    ):
        self.model = model
        self._unit = unit
        self.threads = thread_count(threads)
        self.device = resolve_device(device)
        architecture, name = model.architecture, self.name
        if architecture.separate and side is None:
            raise ArtifactError(
                f"{name}: has a vocabulary for each column of its training text; say which of the "
                "two this text is in, source or target (--side)"
            )
        # None for a model with one vocabulary for both sides.
        self.side = side if architecture.separate else None
        self.tokenizers = {units: _tokenizer(model, units, side) for units in architecture.units}
        # Units that verification compares.
        self.tokenizer = self.tokenizers[architecture.units[0]]
        for encoder, part in zip(architecture.encoders, model.parts, strict=True):
            size = self.tokenizers[ENCODERS[encoder].units].size
            if size != len(part.weights):
                raise ArtifactError(
                    f"{name}: {len(part.weights)} embeddings for a vocabulary of {size}; the files "
                    "belong to different models"
                )
        self._recurrent = any(ENCODERS[encoder].network for encoder in architecture.encoders)
        self._average: Pool | None = None
        self._pools: list[tuple[str, Means]] = []
        if self._recurrent or len(model.parts) > 1:
            self._pools = [
                (ENCODERS[encoder].units, self._mean_of(encoder, part))
                for encoder, part in zip(architecture.encoders, model.parts, strict=True)
            ]
        elif self.device != "cpu" and unit:
            average, self.device = gpu.checked(
                self._average_on, self._encode_few, len(model.parts[0].weights), self.device
            )
            self._average = average
        else:
            self._average = _cpu_pool(model.parts[0], unit)
        sizes = [pool.dimension for _, pool in self._pools] or [model.parts[0].dimension]
        added = architecture.combine == "add"
        if model.dimension != (sizes[0] if added else sum(sizes)) or (added and len({*sizes}) > 1):
            raise ArtifactError(
                f"{name}: its parts have {' and '.join(map(str, sizes))} dimensions, not "
                f"{model.dimension}; copy or train the model again"
            )

    @classmethod
    def load(
        cls,
        path: str | Path = "default",
        threads: int | None = None,
        device: str = "cpu",
        side: str | None = None,
    ) -> "Encoder":
        """Open a model directory; ``default`` is the model that ships with the package.

        Raises :class:`~miner.errors.ArtifactError` if it is damaged.
        """
        model = models.load(path)
        if model.vectors is not None and cls is Encoder:
            raise ArtifactError(
                f"{path}: has the vectors of {model.vectors.address}; open it with open_encoder"
            )
        return cls(model, threads, device, side)

    @property
    def dimension(self) -> int:
        return self.model.dimension

    @property
    def name(self) -> str:
        """Name of the model in messages: its directory."""
        return str(self.model.path or "unsaved model")

    @property
    def address(self) -> str:
        """Absolute path of the model directory, because an index may be searched from elsewhere."""
        return str(self.model.path.resolve()) if self.model.path else self.name

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    @property
    def loading(self) -> Loading:
        return USUAL

    def on_side(self, side: str | None) -> "Encoder":
        """Return the encoder of the other column; this encoder if the vocabulary is shared."""
        if self.side is None or side in (None, self.side):
            return self
        return Encoder(self.model, self.threads, self.device, side)

    def facts(self) -> list[str]:
        return []

    def warnings(self) -> list[str]:
        return []

    @property
    def averages(self) -> bool:
        """True if a vector is the mean of embeddings of one kind of unit."""
        return self._average is not None

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Encode ``sentences``: ``(n, d) float32``, rows of unit length (unless ``unit`` is False).

        A sentence without a known unit has the zero row. Vectors depend neither on the number of
        threads nor on the other sentences of the call, bit for bit.
        """
        if isinstance(sentences, str):
            raise TypeError("encode takes a list of sentences, not one string")

        def encode(start: int, out: np.ndarray) -> None:
            self._encode(sentences[start : start + len(out)], out)

        with self._own_threads():
            return self._in_chunks(len(sentences), encode)

    def encode_pieces(
        self, ids: np.ndarray, offsets: np.ndarray, sentences: Sequence[str]
    ) -> np.ndarray:
        """Encode as :meth:`encode` does; ``ids`` and ``offsets`` are from :attr:`tokenizer`.

        That saves most of the work if the model is an average of these units only.
        """
        average = self._average
        if average is None:
            return self.encode(sentences)

        def pool(start: int, out: np.ndarray) -> None:
            bounds = offsets[start : start + len(out) + 1]
            average(ids[bounds[0] : bounds[-1]], bounds - bounds[0], out)

        return self._in_chunks(len(offsets) - 1, pool)

    def _in_chunks(self, count: int, fill: Callable[[int, np.ndarray], None]) -> np.ndarray:
        """Fill vectors ``(count, d) float32`` in chunks by several threads; ``fill`` gets the
        first row.
        """
        out = np.empty((count, self.dimension), dtype=np.float32)
        starts = range(0, count, CHUNK)

        def work(start: int) -> None:
            fill(start, out[start : start + CHUNK])

        for _ in in_order(work, starts, min(self.threads, max(1, len(starts)))):
            pass
        return out

    def stream(
        self, blocks: Iterable[Sequence[str]], dtype: Any = np.float32
    ) -> Generator[np.ndarray, None, None]:
        """Encode each block of sentences, in order: yield ``(len(block), d)`` of ``dtype``.

        For text of any length: the caller's thread reads ``blocks`` while other threads encode, and
        stays at most a few blocks per thread ahead. A block is the task of one thread, and should
        have about :data:`CHUNK` sentences. ``dtype`` is float32 or float16. Exceptions of
        ``blocks`` are raised here.
        """

        def work(block: Sequence[str]) -> np.ndarray:
            out = np.empty((len(block), self.dimension), dtype=dtype)
            self._encode(block, out)
            return out

        with self._own_threads():
            yield from in_order(work, blocks, self.threads)

    def _encode(self, sentences: Sequence[str], out: np.ndarray) -> None:
        tokens = {units: tokenizer(sentences) for units, tokenizer in self.tokenizers.items()}
        if self._average is not None:
            self._average(*tokens[self.model.architecture.units[0]], out)
            return
        from miner.kernels.pool import normalise_rows

        vectors = [pool(*tokens[units]) for units, pool in self._pools]
        if len(vectors) == 1:
            joined = vectors[0]
        elif self.model.architecture.combine == "add":
            joined = sum(vectors[1:], start=vectors[0])
        else:
            joined = np.concatenate(vectors, axis=1)
        if self._unit:
            normalise_rows(joined)
        out[...] = joined

    def _mean_of(self, encoder: str, part: EncoderPart) -> Means:
        """Open one part of the model. Raises DependencyError if it needs torch."""
        if ENCODERS[encoder].network is None:
            return _MeanPool(part)
        library("torch", f"{self.name}: {encoder}", "train")
        from miner.encoder.recurrent import RecurrentPool

        def on(device: str) -> Means:
            return RecurrentPool(encoder, part, self.model.architecture, device, self.name)

        if self.device == "cpu":
            return on("cpu")
        pool, _ = gpu.checked(
            on, lambda pool, *tokens: pool(*tokens), len(part.weights), self.device
        )
        return pool

    def _average_on(self, device: str) -> Pool:
        part = self.model.parts[0]
        return _cpu_pool(part) if device == "cpu" else gpu.pool(part.table(), device)

    def _encode_few(self, pool: Pool, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        out = np.empty((len(offsets) - 1, self.model.dimension), dtype=np.float32)
        pool(ids, offsets, out)
        return out

    def _own_threads(self) -> AbstractContextManager[None]:
        """Return a context in which torch, if the model needs it, uses a single thread."""
        if not self._recurrent:
            return nullcontext()
        from miner.encoder.recurrent import single_threaded

        return single_threaded()


def _tokenizer(model: models.Model, units: str, side: str | None) -> Tokenizer:
    """Open the tokenizer of one kind of unit."""
    directory = model.path or Path("model")
    return open_tokenizer(units, model.vocabularies, model.architecture, side, directory)


def _stored(part: EncoderPart) -> tuple[np.ndarray, np.ndarray]:
    """Return a part's embeddings and scales, as :func:`miner.kernels.pool.mean_pool` takes them."""
    if part.scales is None:
        return part.table(), np.ones(len(part.weights), dtype=np.float32)
    return np.asarray(part.weights), part.scales


def _cpu_pool(part: EncoderPart, unit: bool = True) -> Pool:
    """Return the kernel that pools and, for unit vectors, normalises in one pass."""
    table, scales = _stored(part)

    def pool(ids: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
        from miner.kernels.pool import mean_pool, mean_pool_half, mean_rows

        if not unit:
            mean_rows(table, scales, ids, offsets, out)
        elif out.dtype == np.float16:
            mean_pool_half(table, scales, ids, offsets, out.view(np.uint16))
        else:
            mean_pool(table, scales, ids, offsets, out)

    return pool


class _MeanPool:
    """Means of embeddings, not normalised."""

    def __init__(self, part: EncoderPart):
        self.table, self.scales = _stored(part)
        self.dimension = part.dimension

    def __call__(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from miner.kernels.pool import mean_rows

        out = np.empty((len(offsets) - 1, self.dimension), dtype=np.float32)
        mean_rows(self.table, self.scales, ids, offsets, out)
        return out
