"""Sentences to unit vectors: SentencePiece pieces, averaged (P19, section 3)."""

from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from miner import gpu
from miner import model as models
from miner.errors import ArtifactError
from miner.machine import thread_count
from miner.parallel import in_order
from miner.tokenizer import PieceTokenizer

# (ids, offsets, out): writes a unit vector for each list of ids into out, float32 or float16.
Pool = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

# Sentences a thread takes at a time: small enough to spread a short file over all cores, large
# enough that Python's share of the work does not show.
CHUNK = 2000


class Encoder:
    """A model ready to encode.

    ``threads`` tokenise and, with the ``device`` cpu, add up; with cuda a GPU adds up, and auto is
    cuda where torch sees a GPU. The vectors are the same. Raises
    :class:`~miner.errors.ArtifactError` for a model whose files do not fit each other, and
    ResourceError or DependencyError for a GPU that is asked for and not there.

    >>> Encoder.load("default").encode(["Guten Morgen!", "Good morning!"]).shape
    (2, 512)
    """

    def __init__(self, model: models.Model, threads: int | None = None, device: str = "cpu"):
        self.model = model
        self.threads = thread_count(threads)
        self.device = gpu.resolve_device(device)
        self.tokenizer = PieceTokenizer(model.vocabulary, str(model.path or "model"))
        if self.tokenizer.size != len(model.weights):
            raise ArtifactError(
                f"{model.path}: {len(model.weights)} embeddings for a vocabulary of "
                f"{self.tokenizer.size} pieces; the files are of two models"
            )
        if self.device == "cuda":
            self._pool: Pool = gpu.pool(model.table(), "cuda")
        else:
            self._pool = _cpu_pool(model)

    @classmethod
    def load(
        cls, path: str | Path = "default", threads: int | None = None, device: str = "cpu"
    ) -> "Encoder":
        """Open a model directory; ``default`` is the model that ships with the package.

        Raises :class:`~miner.errors.ArtifactError` for anything wrong with it.
        """
        return cls(models.load(path), threads, device)

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

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """Vectors of ``sentences``: ``(n, d) float32``, each of unit length.

        A sentence without a known piece has the zero row. The vectors do not depend on the number
        of threads or on what else is encoded in the same call, bit for bit.
        """
        if isinstance(sentences, str):
            raise TypeError("encode takes a list of sentences, not one string")
        out = np.empty((len(sentences), self.dimension), dtype=np.float32)

        def work(start: int) -> None:
            self._encode(sentences[start : start + CHUNK], out[start : start + CHUNK])

        starts = range(0, len(sentences), CHUNK)
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

        return in_order(work, blocks, self.threads)

    def _encode(self, sentences: Sequence[str], out: np.ndarray) -> None:
        self._pool(*self.tokenizer(sentences), out)


def _cpu_pool(model: models.Model) -> Pool:
    """The kernel over the table as the model has it, or over float32 for a float16 model."""
    if model.scales is None:
        table, scales = model.table(), np.ones(len(model.weights), dtype=np.float32)
    else:
        # A copy: the kernel is compiled once for arrays that can be written to, not for maps too.
        table, scales = np.array(model.weights, order="C"), model.scales

    def pool(ids: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
        from miner.kernels.pool import mean_pool, mean_pool_half

        if out.dtype == np.float16:
            mean_pool_half(table, scales, ids, offsets, out.view(np.uint16))
        else:
            mean_pool(table, scales, ids, offsets, out)

    return pool
