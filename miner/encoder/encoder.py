"""Sentences to unit vectors: the mean of their pieces (P19, section 3), or what else a model has.

Of words or trigrams, of recurrent networks over them, or of several of these together (P18).
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from miner.device import resolve_device
from miner.encoder import gpu
from miner.encoder import model as models
from miner.encoder.architecture import ENCODERS, VOCABULARIES
from miner.encoder.model import Part
from miner.encoder.tokenizer import Tokenizer, open_tokenizer
from miner.errors import ArtifactError, DependencyError
from miner.machine import thread_count
from miner.parallel import in_order

# (ids, offsets, out): writes a unit vector for each list of ids into out, float32 or float16.
Pool = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


class Means(Protocol):
    """What makes a vector of one part of a model: of each list of ids, not normalised."""

    dimension: int

    def __call__(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """``(n, dimension) float32``."""
        ...


# Sentences a thread takes at a time: small enough to spread a short file over all cores, large
# enough that Python's share of the work does not show.
CHUNK = 2000


class Encoder:
    """A model ready to encode.

    ``threads`` tokenise and, with the ``device`` cpu, add up; with cuda a GPU adds up, and auto is
    cuda where torch sees a GPU. The vectors are the same (those of recurrent encoders differ in
    their last bits). ``side``, "source" or "target", says which column of its training text a
    model with separate vocabularies is to read, and does nothing to others. ``unit`` says whether
    vectors get unit length; without, they are means as they come, added up by the CPU. Raises
    :class:`~miner.errors.ArtifactError` for a model whose files do not fit each other or that
    wants a side, and ResourceError or DependencyError for a GPU that is asked for and not there.

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
        # None for a model that does not tell sides apart.
        self.side = side if architecture.separate else None
        self.tokenizers = {units: _tokenizer(model, units, side) for units in architecture.units}
        # What a second look compares, where there is one.
        self.tokenizer = self.tokenizers[architecture.units[0]]
        for encoder, part in zip(architecture.encoders, model.parts, strict=True):
            size = self.tokenizers[ENCODERS[encoder].units].size
            if size != len(part.weights):
                raise ArtifactError(
                    f"{name}: {len(part.weights)} embeddings for a vocabulary of {size}; the files "
                    "are of two models"
                )
        self._recurrent = any(ENCODERS[encoder].network for encoder in architecture.encoders)
        self._average: Pool | None = None
        self._pools: list[tuple[str, Means]] = []
        if self._recurrent or len(model.parts) > 1 or not unit:
            self._pools = [
                (ENCODERS[encoder].units, self._mean_of(encoder, part))
                for encoder, part in zip(architecture.encoders, model.parts, strict=True)
            ]
        elif self.device == "cuda":
            self._average = gpu.pool(model.parts[0].table(), "cuda")
        else:
            self._average = _cpu_pool(model.parts[0])
        sizes = [pool.dimension for _, pool in self._pools] or [model.parts[0].weights.shape[1]]
        added = architecture.combine == "add"
        if model.dimension != (sizes[0] if added else sum(sizes)) or (added and len({*sizes}) > 1):
            raise ArtifactError(
                f"{name}: its parts have vectors of {' and '.join(map(str, sizes))} numbers, not "
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

        Raises :class:`~miner.errors.ArtifactError` for anything wrong with it.
        """
        return cls(models.load(path), threads, device, side)

    @property
    def dimension(self) -> int:
        return self.model.dimension

    @property
    def name(self) -> str:
        """What to call the model in a message: its directory."""
        return str(self.model.path or "unsaved model")

    @property
    def fingerprint(self) -> str:
        return self.model.fingerprint

    @property
    def averages(self) -> bool:
        """Whether vectors are means of embeddings of one kind, and nothing else."""
        return self._average is not None

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Vectors of ``sentences``: ``(n, d) float32``, each of unit length (but see ``unit``).

        A sentence without a known piece has the zero row. The vectors do not depend on the number
        of threads or on what else is encoded in the same call, bit for bit.
        """
        if isinstance(sentences, str):
            raise TypeError("encode takes a list of sentences, not one string")
        out = np.empty((len(sentences), self.dimension), dtype=np.float32)

        def work(start: int) -> None:
            self._encode(sentences[start : start + CHUNK], out[start : start + CHUNK])

        starts = range(0, len(sentences), CHUNK)
        with self._own_threads():
            for _ in in_order(work, starts, min(self.threads, max(1, len(starts)))):
                pass
        return out

    def encode_pieces(
        self, ids: np.ndarray, offsets: np.ndarray, sentences: Sequence[str]
    ) -> np.ndarray:
        """As :meth:`encode`, of sentences that :attr:`tokenizer` has cut already.

        That saves most of the work where the model is an average of those alone.
        """
        average = self._average
        if average is None:
            return self.encode(sentences)
        out = np.empty((len(offsets) - 1, self.dimension), dtype=np.float32)
        starts = range(0, len(out), CHUNK)

        def work(start: int) -> None:
            part = out[start : start + CHUNK]
            own = offsets[start : start + len(part) + 1]
            average(ids[own[0] : own[-1]], own - own[0], part)

        for _ in in_order(work, starts, min(self.threads, max(1, len(starts)))):
            pass
        return out

    def stream(
        self, blocks: Iterable[Sequence[str]], dtype: Any = np.float32
    ) -> Generator[np.ndarray, None, None]:
        """Vectors of each block of sentences, in order: ``(len(block), d)`` float32 or float16.

        As :meth:`encode`, for text of any length: ``blocks`` is drawn from in the caller's thread
        while other threads encode, a few blocks for each thread and no more. A block is one
        thread's work: some :data:`CHUNK` sentences are right. What drawing a block raises comes
        out here.
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

    def _mean_of(self, encoder: str, part: Part) -> Means:
        """What gives the vectors of one part, not normalised."""
        if ENCODERS[encoder].network is None:
            return _MeanPool(part)
        try:
            from miner.encoder.recurrent import RecurrentPool
        except ImportError:
            raise DependencyError(
                f'{self.name}: {encoder} needs torch; run: pip install "bitext-miner[train]"'
            ) from None
        return RecurrentPool(encoder, part, self.model.architecture, self.device, self.name)

    def _own_threads(self) -> AbstractContextManager[None]:
        """Keeps torch, where it takes part, from starting threads beside ours."""
        if not self._recurrent:
            return nullcontext()
        from miner.encoder.recurrent import single_threaded

        return single_threaded()


def _tokenizer(model: models.Model, units: str, side: str | None) -> Tokenizer:
    """What cuts text into a model's pieces, words or trigrams."""
    vocabulary, name = model.vocabularies[units], VOCABULARIES[units]
    path = str((model.path or Path("model")) / name)
    return open_tokenizer(units, vocabulary, model.architecture, model.segmentation, side, path)


def _stored(part: Part) -> tuple[np.ndarray, np.ndarray]:
    """The table as a part has it, or in float32 for float16, and a scale for each row."""
    if part.scales is None:
        return part.table(), np.ones(len(part.weights), dtype=np.float32)
    # A copy: the kernel is compiled once for arrays that can be written to, not for maps too.
    return np.array(part.weights, order="C"), part.scales


def _cpu_pool(part: Part) -> Pool:
    """The kernel that does all of an averaging encoder's work in one go."""
    table, scales = _stored(part)

    def pool(ids: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
        from miner.kernels.pool import mean_pool, mean_pool_half

        if out.dtype == np.float16:
            mean_pool_half(table, scales, ids, offsets, out.view(np.uint16))
        else:
            mean_pool(table, scales, ids, offsets, out)

    return pool


class _MeanPool:
    """The means of an averaging part, not normalised."""

    def __init__(self, part: Part):
        self.table, self.scales = _stored(part)
        self.dimension: int = self.table.shape[1]

    def __call__(self, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from miner.kernels.pool import mean_rows

        out = np.empty((len(offsets) - 1, self.dimension), dtype=np.float32)
        mean_rows(self.table, self.scales, ids, offsets, out)
        return out
