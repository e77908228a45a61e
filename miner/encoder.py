"""Sentences to unit vectors: SentencePiece pieces, averaged (P19, section 3)."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from miner import model as models
from miner.errors import ArtifactError
from miner.flat import offsets_of
from miner.machine import thread_count

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
        arrays = self.processor.encode(list(sentences), return_type="numpy", num_threads=1)
        lengths = np.fromiter(map(len, arrays), dtype=np.int64, count=len(arrays))
        ids = np.concatenate(arrays) if arrays else np.empty(0, np.int32)
        keep = self.meaningful[ids]
        if keep.all():
            kept = lengths
        else:
            sentence = np.repeat(np.arange(len(arrays)), lengths)
            kept = np.bincount(sentence[keep], minlength=len(arrays))
            ids = ids[keep]
        return ids, offsets_of(kept)

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

    >>> Encoder.load("default").encode(["Guten Morgen!", "Good morning!"]).shape
    (2, 512)
    """

    def __init__(self, model: models.Model, threads: int | None = None):
        self.model = model
        self.threads = thread_count(threads)
        self.tokenizer = Tokenizer(model.vocabulary, str(model.path or "model"))
        if self.tokenizer.size != len(model.weights):
            raise ArtifactError(
                f"{model.path}: {len(model.weights)} embeddings for a vocabulary of "
                f"{self.tokenizer.size} pieces; the files are of two models"
            )
        self._table = model.table()

    @classmethod
    def load(cls, path: str | Path = "default", threads: int | None = None) -> "Encoder":
        """Open a model directory; ``default`` is the model that ships with the package.

        Raises :class:`~miner.errors.ArtifactError` for anything wrong with it.
        """
        return cls(models.load(path), threads)

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
        from miner.kernels.pool import mean_pool

        if isinstance(sentences, str):
            raise TypeError("encode takes a list of sentences, not one string")

        out = np.empty((len(sentences), self.dimension), dtype=np.float32)

        def work(start: int) -> None:
            ids, offsets = self.tokenizer(sentences[start : start + CHUNK])
            mean_pool(self._table, ids, offsets, out[start : start + CHUNK])

        starts = range(0, len(sentences), CHUNK)
        if self.threads == 1 or len(starts) < 2:
            for start in starts:
                work(start)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(work, starts))
        return out
