"""Sentences to unit vectors: SentencePiece pieces, averaged (P19, section 3)."""

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner import gpu
from miner import model as models
from miner.errors import ArtifactError
from miner.flat import offsets_of
from miner.machine import thread_count
from miner.parallel import in_order

# (ids, offsets, out): writes a unit vector for each list of ids into out, float32 or float16.
Pool = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

# Sentences a thread takes at a time: small enough to spread a short file over all cores, large
# enough that Python's share of the work does not show.
CHUNK = 2000


class Tokenizer:
    """SentencePiece ids without those that carry no meaning.

    Unknown pieces are dropped (``methods.md`` calls for it), control pieces never occur, and so is
    the bare word-boundary mark, which SentencePiece puts before an unknown word: with it, every
    sentence in a script that the model does not know would have one and the same vector.
    """

    def __init__(self, vocabulary: bytes, name: str = "sp.model"):
        import sentencepiece

        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.LoadFromSerializedProto(vocabulary)
        except Exception as error:  # sentencepiece raises several undocumented types
            raise ArtifactError(f"{name}: not a SentencePiece model ({error})") from None
        self.size: int = self.processor.get_piece_size()
        self.meaningful = np.ones(self.size, dtype=bool)
        for piece in range(self.size):
            if self.processor.is_unknown(piece) or self.processor.is_control(piece):
                self.meaningful[piece] = False
        bare = self.processor.piece_to_id("\u2581")
        self.meaningful[bare] = False

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """``ids (t,) int32`` of all sentences in a row and ``offsets (n + 1,) int64`` into them."""
        # Lists of numbers: an array for each sentence, the only other kind that is offered, takes
        # a third longer.
        lists = self.processor.encode(list(sentences), num_threads=1)
        offsets = offsets_of(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
        ids = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=offsets[-1])
        keep = self.meaningful[ids]
        if not keep.all():
            # How many are kept before each piece, and so before each sentence.
            offsets = offsets_of(keep)[offsets]
            ids = ids[keep]
        return ids, offsets

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """The pieces of one sentence as text, and their ids ``(t,) int32``, unknown ones included.

        Joined, the text is the sentence as the model reads it: normalised, with its case folded
        where the model was trained so.
        """
        pieces = self.processor.encode(sentence, out_type=str)
        ids = np.array(self.processor.encode(sentence, out_type=int), dtype=np.int32)
        return [piece.replace("\u2581", " ") for piece in pieces], ids


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
        self.tokenizer = Tokenizer(model.vocabulary, str(model.path or "model"))
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
