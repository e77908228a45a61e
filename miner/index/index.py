"""`Index`: an index directory that is built, extended and opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MismatchError
from miner.index import faiss
from miner.index.build import index_texts, indexing
from miner.index.directory import EXTERNAL, FLAT, META, StoredIndex, finish
from miner.index.parts import copy_index, join_vectors
from miner.index.vectors import open_vectors
from miner.progress import Reporter, silent
from miner.tasks.run import RunOptions
from miner.tasks.workers import Workers
from miner.text.artifacts import atomic_directory, replaceable
from miner.text.corpus import Reading
from miner.text.in_memory import Corpus, named
from miner.text.locks import lock

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Index(StoredIndex):
    """Index of one corpus: sentences with their vectors, ready to be searched.

    See :class:`~miner.index.directory.StoredIndex` for its attributes.
    """

    @classmethod
    def build(
        cls,
        encoder: SentenceEncoder | Any,
        corpus: Corpus,
        path: str | Path,
        *,
        index: str = FLAT,
        work: str | Path | None = None,
        workers: Workers = Workers(),
        report: Reporter = silent,
        note: Callable[[str], None] = silent,
        **reading: Unpack[Reading],
    ) -> Self:
        """Encode a corpus, files or texts, into the index directory ``path``.

        ``encoder`` as in :func:`miner.encoder.foreign_encoder.as_encoder`; ``corpus`` as in
        :func:`miner.mining.mine.mine`. ``index`` is ``flat`` (exact) or a FAISS factory string,
        e.g. ``IVF1024,PQ64x8``. ``work`` is a directory that keeps the results of the tasks. An
        older index at ``path`` is replaced once the new one is complete. Raises the errors of
        :class:`~miner.text.corpus.CorpusReader`, ArtifactError, ResourceError.
        """
        if index != FLAT:
            faiss.faiss()  # fail before the work if the library is missing
        replaceable(path, META)
        encoder, names = as_encoder(encoder), named(corpus, "corpus")
        options = RunOptions(work, path, workers, report, note)
        with indexing(encoder, names, reading, options) as (run, text):
            [result] = index_texts(run, [text], reading, index)
            run.wait(last=True)
            copy_index(StoredIndex.open(result.path), path, names)
        return cls.built(path)

    @classmethod
    def build_from_vectors(
        cls,
        vectors: str | Path,
        corpus: str | Path,
        path: str | Path,
        *,
        dimension: int | None = None,
        index: str = FLAT,
        report: Reporter = silent,
        **reading: Unpack[Reading],
    ) -> Self:
        """Build an index from vectors of another program.

        ``vectors`` is a file for :func:`miner.index.vectors.open_vectors`, with a row for every
        record of the corpus; rows are normalised. Two indexes of external vectors can be searched
        against each other if their dimensions agree: only the user can know whether the same
        encoder computed both.
        """
        array = open_vectors(vectors, dimension)
        if index != FLAT:
            faiss.faiss()
        with atomic_directory(path, marker=META) as directory:
            sources = join_vectors(directory, corpus, array, vectors, reading, report)
            kind = f"{EXTERNAL}, {array.shape[1]} dimensions"
            finish(directory, {"name": kind, "fingerprint": kind}, sources, index, report)
        return cls.built(path)

    def add(
        self,
        encoder: SentenceEncoder | Any,
        corpus: Corpus,
        *,
        report: Reporter = silent,
        **reading: Unpack[Reading],
    ) -> Self:
        """Append text to the index in place, and open it again.

        Old rows keep their numbers. With several files, ids that are line numbers are preceded by
        the file's name. The directory changes only at the end. It is locked meanwhile and reopened
        first, so that text added by another process is kept. Raises
        :class:`~miner.errors.MismatchError` if ``encoder`` is not the model of this index, and
        :class:`~miner.errors.ResourceError` while another process adds to it.
        """
        encoder, names = as_encoder(encoder), named(corpus, "corpus")
        self.check_encoder(encoder)
        with (
            lock(self.path),
            indexing(encoder, names, reading, RunOptions(report=report)) as (run, text),
        ):
            current = self.open(self.path)  # another process may have added text
            current.check_encoder(encoder)
            [result] = index_texts(run, [text], reading, current.factory, current)
            run.wait(last=True)
            old = [source.path for source in current.sources]
            copy_index(StoredIndex.open(result.path), self.path, [*old, *map(str, names)])
        return self.built(self.path)

    def add_vectors(
        self,
        vectors: str | Path,
        corpus: str | Path,
        *,
        dimension: int | None = None,
        report: Reporter = silent,
        **reading: Unpack[Reading],
    ) -> Self:
        """Append text and its vectors to an index of external vectors, like :meth:`add`.

        Files are as in :meth:`build_from_vectors`. Only the user can know whether the same encoder
        computed the old and the new vectors. Raises MismatchError for an index that a model built,
        for another dimension, and for different numbers of lines and vectors.
        """
        array = open_vectors(vectors, dimension)
        self._check_vectors(array, vectors)
        with lock(self.path):
            current = self.open(self.path).verify()
            current._check_vectors(array, vectors)
            with atomic_directory(self.path, marker=META) as directory:
                sources = join_vectors(directory, corpus, array, vectors, reading, report, current)
                finish(directory, current.meta["model"], sources, current.factory, report, current)
        return self.built(self.path)

    def _check_vectors(self, array: np.ndarray, name: str | Path) -> None:
        """Raise MismatchError for vectors that cannot be appended to this index."""
        if not self.external:
            raise MismatchError(
                f"{self.path} was built by {self.model_name}; add text with it (--model "
                f"{self.model_name}), without --embeddings"
            )
        if array.shape[1] != self.dimension:
            raise MismatchError(
                f"{name} has vectors of {array.shape[1]} dimensions, {self.path} of "
                f"{self.dimension}; add vectors of the encoder that made those"
            )
