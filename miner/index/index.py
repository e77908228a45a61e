"""The index directory: a corpus and its vectors, ready to be searched.

An index holds the sentences of a corpus, their vectors (:mod:`miner.index.store`), ``meta.json`` and,
where a compressed index was asked for, ``faiss.index`` over the distinct rows.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.encoder import CHUNK, Encoder
from miner.errors import ArtifactError, CorpusError, MismatchError
from miner.index import faiss, store
from miner.index.vectors import open_vectors, unit_blocks
from miner.progress import Reporter, silent
from miner.text.corpus import Reader
from miner.text.output import atomic_directory

FORMAT = "bitext-miner index"
VERSION = 1
META = "meta.json"
ANN = "faiss.index"
FLAT = "flat"
EXTERNAL = "external"

# (what is being done, rows done, rows in all or None)


@dataclass(frozen=True)
class Source:
    """One file of a corpus.

    ``records`` seen; of them ``empty`` and ``undecodable`` gave no sentence, and in ``replaced``
    bytes were replaced. ``own_ids``: whether it has ids other than line numbers. Size and SHA-256
    are None for what can be read only once.
    """

    path: str
    records: int
    empty: int
    undecodable: int
    replaced: int
    own_ids: bool
    bytes: int | None
    sha256: str | None


class Index:
    """Sentences of one corpus with their vectors, ready to be searched.

    ``sources`` the files it was built from; ``fingerprint`` of the model that made the vectors;
    ``factory`` the FAISS factory string, or ``flat``; ``distinct`` the sentences that a search
    looks at: each text once, and none without a known piece.
    """

    def __init__(self, path: Path, meta: dict[str, Any]):
        self.path = path
        self.meta = meta
        self.store = store.Store(path)
        self.fingerprint: str = meta["model"]["fingerprint"]
        self.model_name: str = meta["model"]["name"]
        # Of a model with separate vocabularies.
        self.side: str | None = meta["model"].get("side")
        self.factory: str = meta["index"]
        self.distinct: int = meta["distinct"]
        self.sources = [Source(**entry) for entry in meta["sources"]]
        if len(self.store) != meta["sentences"] or self.dimension != meta["dimension"]:
            raise ArtifactError(f"{path}: {META} and {store.EMBEDDINGS} disagree; build it again")

    def __len__(self) -> int:
        return len(self.store)

    @property
    def external(self) -> bool:
        """Whether the vectors come from elsewhere, and not from a model of ours."""
        return self.fingerprint.startswith(EXTERNAL)

    @property
    def different(self) -> int:
        """Sentences that are no repeat of another, whether or not the model knows a piece."""
        first = self.store.first
        return int(np.count_nonzero(first == np.arange(len(first))))

    @property
    def dimension(self) -> int:
        return int(self.store.vectors.shape[1])

    @classmethod
    def open(cls, path: str | Path) -> "Index":
        """Open an index directory. Raises :class:`~miner.errors.ArtifactError`."""
        path = Path(path)
        if not path.is_dir():
            raise ArtifactError(f"{path}: no such index; build it with 'miner index'")
        try:
            meta = json.loads((path / META).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise ArtifactError(f"{path}: not an index directory (no {META})") from None
        except (OSError, ValueError, RecursionError) as error:
            raise ArtifactError(f"{path / META}: cannot be read ({error})") from None
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise ArtifactError(f"{path / META}: does not describe a {FORMAT}")
        if meta.get("version") != VERSION:
            raise ArtifactError(
                f"{path / META}: format version {meta.get('version')}, this program reads "
                f"{VERSION}; build the index again"
            )
        try:
            return cls(path, meta)
        except (KeyError, TypeError) as error:
            raise ArtifactError(f"{path / META}: incomplete ({error}); build it again") from None

    @classmethod
    def build(
        cls,
        encoder: Encoder,
        corpus: str | Path | Sequence[str | Path],
        path: str | Path,
        *,
        index: str = FLAT,
        report: Reporter = silent,
        **reading: Any,
    ) -> "Index":
        """Encode a corpus (one file or several) into the index directory ``path``.

        ``index`` is ``flat`` (exact) or a FAISS factory string such as ``IVF1024,PQ64x8``;
        ``reading`` goes to :class:`miner.text.corpus.Reader`. An older index at ``path`` is replaced,
        once the new one is whole. Raises the errors of Reader, ArtifactError, ResourceError.
        """
        if index != FLAT:
            faiss.faiss()  # before the work, not after it
        with atomic_directory(path, marker=META) as directory:
            writer = store.TextWriter(directory)
            sources = _read(writer, _paths(corpus), 0, reading, report)
            total = writer.close(encoder.dimension)
            _encode(directory, encoder, total, 0, report)
            # Absolute: the index may be searched from elsewhere.
            name = str(Path(encoder.name).resolve()) if encoder.model.path else encoder.name
            model = {"name": name, "fingerprint": encoder.fingerprint}
            if encoder.side is not None:
                model["side"] = encoder.side
            _finish(directory, model, sources, index, report)
        return cls.open(path)

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
        **reading: Any,
    ) -> "Index":
        """As :meth:`build`, with vectors from elsewhere: one for every record of the corpus.

        ``vectors`` is a file of :func:`miner.index.vectors.open_vectors`; they are normalised. Indexes
        of foreign vectors can be searched against each other when their dimensions agree: that
        they come from one encoder, nobody but the user can know.
        """
        array = open_vectors(vectors, dimension)
        if index != FLAT:
            faiss.faiss()
        with atomic_directory(path, marker=META) as directory:
            writer = store.TextWriter(directory)
            sources = _read(writer, [corpus], 0, reading, report)
            if len(array) != sources[0].records:
                raise MismatchError(
                    f"{vectors} has {len(array)} vectors but {corpus} has {sources[0].records} "
                    "lines; there must be one vector for every line, empty lines included"
                )
            # Vector i is of record i; a header is a line but no record.
            header = bool(reading.get("header")) and Reader(corpus, **reading).format == "tsv"
            records = writer.lines() - 1 - header
            total = writer.close(array.shape[1])
            output = store.VectorWriter(directory)
            try:
                done = 0
                for block in unit_blocks(array, records, str(vectors)):
                    output.append(block)
                    done += len(block)
                    report("copying vectors", done, total)
                output.seal()
            finally:
                output.close()
            kind = f"{EXTERNAL}, {array.shape[1]} dimensions"
            _finish(directory, {"name": kind, "fingerprint": kind}, sources, index, report)
        return cls.open(path)

    def add(
        self,
        encoder: Encoder,
        corpus: str | Path | Sequence[str | Path],
        *,
        report: Reporter = silent,
        **reading: Any,
    ) -> "Index":
        """The index with more text appended, in the same place; returns it opened anew.

        Old rows keep their numbers; line numbers as ids get their file's name, now that there are
        several. The directory changes only when all is done. Raises
        :class:`~miner.errors.MismatchError` where ``encoder`` is not the model of this index.
        """
        if encoder.fingerprint != self.fingerprint:
            raise MismatchError(
                f"{self.path} was built by {self.model_name} ({self.fingerprint}), not by "
                f"{encoder.name} ({encoder.fingerprint}); add with the model that built it "
                f"(--model {self.model_name})"
            )
        if encoder.side != self.side:
            raise MismatchError(
                f"{self.path} was built with --side {self.side}, not with {encoder.side}"
            )
        with atomic_directory(self.path, marker=META) as directory:
            writer = store.TextWriter(directory)
            writer.append_store(self.store)
            more = _read(writer, _paths(corpus), len(self.sources), reading, report)
            total = writer.close(self.dimension)
            _encode(directory, encoder, total, len(self), report, self.store.vectors)
            model = self.meta["model"]
            _finish(directory, model, [*self.sources, *more], self.factory, report)
        return Index.open(self.path)

    def ids(self, rows: np.ndarray) -> list[str]:
        """Ids of ``rows``: the corpus's own; else line numbers, with the file where several."""
        ids = self.store.ids(rows)
        if len(self.sources) == 1:
            return ids
        prefix = ["" if source.own_ids else f"{source.path}:" for source in self.sources]
        files = self.store.file[rows].tolist()
        return [f"{prefix[file]}{name}" for file, name in zip(files, ids, strict=True)]

    def sentences(self, rows: np.ndarray) -> list[str]:
        """The text of ``rows``."""
        texts = self.store.texts
        return [texts[row] for row in rows.tolist()]

    def ann(self) -> Any:
        """The FAISS index over the distinct rows, or None for a flat one."""
        if self.factory == FLAT:
            return None
        return faiss.read(self.path / ANN)


def _paths(corpus: str | Path | Sequence[str | Path]) -> list[str | Path]:
    return [corpus] if isinstance(corpus, str | Path) else list(corpus)


def _read(
    writer: store.TextWriter,
    paths: list[str | Path],
    number: int,
    reading: dict[str, Any],
    report: Reporter,
) -> list[Source]:
    """All text of ``paths`` into ``writer``; files are numbered from ``number``."""
    sources = []
    for file, path in enumerate(paths, start=number):
        reader = Reader(path, **reading)
        before = _stamp(path)
        own_ids = False
        for block in reader:
            own_ids |= writer.append(block.sentences, block.ids, block.lines, file)
            report(f"reading {path}", reader.lines, None)
        size, digest = _hash(path)
        if _stamp(path) != before:
            raise CorpusError(f"{path}: changed while it was read; run again once it is complete")
        counts = (reader.lines, reader.empty, reader.undecodable, reader.replaced)
        sources.append(Source(str(path), *counts, own_ids, size, digest))
    return sources


def _encode(
    directory: Path,
    encoder: Encoder,
    total: int,
    done: int,
    report: Reporter,
    old: np.ndarray | None = None,
) -> None:
    """Vectors of all sentences in ``directory``; the first ``done`` are copied from ``old``."""
    output = store.VectorWriter(directory)
    try:
        if old is not None:
            for start in range(0, done, store.BLOCK):
                output.append(old[start : start + store.BLOCK])
        for vectors in encoder.stream(_new_sentences(directory, done), np.float16):
            output.append(vectors)
            done += len(vectors)
            report("encoding", done, total)
        output.seal()
    finally:
        output.close()


def _new_sentences(directory: Path, start: int) -> Iterator[list[str]]:
    texts = store.unsealed_texts(directory)
    for first in range(start, len(texts), CHUNK):
        yield texts.slice(first, min(first + CHUNK, len(texts)))


def _finish(
    directory: Path,
    model: dict[str, str],
    sources: Sequence[Source],
    index: str,
    report: Reporter,
) -> None:
    """The FAISS index where one is asked for, then ``meta.json``."""
    opened = store.Store(directory)
    rows = opened.distinct()
    if index != FLAT:
        report(f"building {index}", 0, len(rows))
        faiss.build(directory / ANN, opened.vectors, rows, index)
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "model": model,
        "dimension": int(opened.vectors.shape[1]),
        "sentences": len(opened),
        "distinct": len(rows),
        "index": index,
        "sources": [vars(entry) for entry in sources],
    }
    (directory / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")


def _stamp(path: str | Path) -> tuple[int, int] | None:
    """What changes when a file is written to; None for what is no file."""
    if str(path) == "-" or not Path(path).is_file():
        return None
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def _hash(path: str | Path) -> tuple[int | None, str | None]:
    """Size and SHA-256 of a source file; nothing for what can be read only once."""
    if str(path) == "-" or not Path(path).is_file():
        return None, None
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Path(path).stat().st_size, digest
