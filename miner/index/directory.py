"""Index directory: opening, sentences and ids, and ``meta.json``.

It holds a store (:mod:`miner.index.columns`), ``meta.json`` and, for a compressed index,
``faiss.index`` over the distinct rows. ``meta.json`` lists size and SHA-256 of every other file,
and a digest of itself. Opening compares sizes and that digest; :meth:`StoredIndex.verify`, which a
search calls first, compares the content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miner.encoder.loading import Loading
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, MismatchError
from miner.index import columns, faiss
from miner.index.sources import Source
from miner.json_files import read_json
from miner.progress import Reporter
from miner.text.file_digests import file_sha256

if TYPE_CHECKING:
    from typing_extensions import Self

FORMAT = "bitext-miner index"
VERSION = 1
META = "meta.json"
ANN = "faiss.index"
FLAT = "flat"
EXTERNAL = "external"
# Keys of meta.json: size and SHA-256 of the other files, and SHA-256 of the other keys.
FILES, DIGEST = "files", "digest"
# Key of meta.json: rows at which text was added, so that a search compares only the new blocks.
GROWN = "grown"


class StoredIndex:
    """Sentences of a corpus with their vectors, ready to be searched.

    ``sources`` lists the files of the corpus. ``fingerprint`` identifies the model of the vectors,
    and ``side`` the column that it read, for a model with separate vocabularies; ``loading`` are
    the settings of another library's encoder. ``factory`` is the FAISS factory string, or ``flat``.
    ``distinct`` counts the sentences that a search compares: each text once, without texts of
    unknown units.
    """

    def __init__(self, path: Path, meta: dict[str, Any]):
        self.path = path
        self.meta = meta
        self._verified = False
        if meta[DIGEST] != digest(meta):
            raise ArtifactError(f"{path / META}: altered (its digest differs); build it again")
        for name, entry in meta[FILES].items():
            size = (path / name).stat().st_size if (path / name).is_file() else None
            if size != entry["bytes"]:
                fault = "missing" if size is None else f"{size} bytes, not {entry['bytes']}"
                raise ArtifactError(f"{path / name}: {fault}; build the index again")
        self.store = columns.Store(path)
        self.fingerprint: str = meta["model"]["fingerprint"]
        self.model_name: str = meta["model"]["name"]
        self.side: str | None = meta["model"].get("side")
        self.loading = Loading(**meta["model"].get("loading", {}))
        self.factory: str = meta["index"]
        self.distinct: int = meta["distinct"]
        self.sources = [Source(**entry) for entry in meta["sources"]]
        if len(self.store) != meta["sentences"] or self.dimension != meta["dimension"]:
            raise ArtifactError(f"{path}: {META} and {columns.EMBEDDINGS} disagree; build it again")

    def __len__(self) -> int:
        return len(self.store)

    def with_names(self, names: Sequence[object]) -> Self:
        """Return this index with other names of its files, as the user typed them."""
        other = copy(self)
        pairs = zip(self.sources, names, strict=True)
        other.sources = [replace(source, path=str(name)) for source, name in pairs]
        return other

    @property
    def compressed(self) -> bool:
        """True if neighbours come from a compressed FAISS index, which may miss some."""
        return self.factory != FLAT

    @property
    def external(self) -> bool:
        """True if the vectors come from another program."""
        return self.fingerprint.startswith(EXTERNAL)

    @property
    def different(self) -> int:
        """Number of distinct texts, including texts of unknown units."""
        first = self.store.first
        return int(np.count_nonzero(first == np.arange(len(first))))

    @property
    def dimension(self) -> int:
        return int(self.store.vectors.shape[1])

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an index directory. Raises :class:`~miner.errors.ArtifactError`."""
        path = Path(path)
        if not path.is_dir():
            raise ArtifactError(
                f"{path}: no such index directory; build it with 'miner index', or mine text files "
                "with 'miner mine'"
            )
        try:
            meta = read_json(path / META)
        except FileNotFoundError:
            raise ArtifactError(
                f"{path}: not an index directory (no {META}); name one that 'miner index' made"
            ) from None
        except (OSError, ValueError) as error:
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
        except (KeyError, TypeError, AttributeError) as error:
            raise ArtifactError(f"{path / META}: incomplete ({error}); build it again") from None

    def check_encoder(self, encoder: SentenceEncoder) -> None:
        """Raise MismatchError for an encoder that did not build this index."""
        if self.external:
            raise MismatchError(
                f"{self.path} was built of vectors from another program; add the vectors of the "
                "text, too (--embeddings)"
            )
        self.check_model(encoder)
        if encoder.side != self.side:
            raise MismatchError(
                f"{self.path} was built with --side {self.side}, not with {encoder.side}"
            )

    def check_model(self, encoder: SentenceEncoder, instead: str = "") -> None:
        """Raise MismatchError for an encoder of another model; ``instead`` completes the advice."""
        if encoder.fingerprint == self.fingerprint:
            return
        built = f"{self.path} was built by {self.model_name} ({self.fingerprint})"
        if encoder.address == self.model_name:
            raise MismatchError(
                f"{built}, which has changed since ({encoder.fingerprint}); build the index again"
                + instead
            )
        raise MismatchError(
            f"{built}, not by {encoder.name} ({encoder.fingerprint}); give the model that built it "
            f"(--model {self.model_name})" + instead
        )

    @classmethod
    def built(cls, path: str | Path) -> Self:
        """Open an index that was just written; its checksums come from the data in memory."""
        index = cls.open(path)
        index._verified = True
        return index

    def verify(self) -> Self:
        """Compare the content of all files with their SHA-256, once; return the index.

        Takes about a second for a gigabyte, which a million sentences need. Raises
        :class:`~miner.errors.ArtifactError`, naming the file that differs.
        """
        if not self._verified:
            for name, entry in self.meta[FILES].items():
                if _sha256(self.path / name) != entry["sha256"]:
                    raise ArtifactError(
                        f"{self.path / name}: altered (its checksum differs); build the index again"
                    )
            self._verified = True
        return self

    def ids(self, rows: np.ndarray) -> list[str]:
        """Return the ids of ``rows``: ids of the corpus, or line numbers.

        With several files, a line number is preceded by its file's name.
        """
        ids = self.store.ids(rows)
        if len(self.sources) == 1:
            return ids
        prefix = ["" if source.own_ids else f"{source.path}:" for source in self.sources]
        files = self.store.file[rows].tolist()
        return [f"{prefix[file]}{name}" for file, name in zip(files, ids, strict=True)]

    def sentences(self, rows: np.ndarray) -> list[str]:
        """Return the sentences of ``rows``."""
        texts = self.store.texts
        return [texts[row] for row in rows.tolist()]

    def ann(self) -> Any:
        """Open the FAISS index over the distinct rows; None for a flat index."""
        if not self.compressed:
            return None
        return faiss.read(self.path / ANN)


def finish(
    directory: Path,
    model: dict[str, Any],
    sources: Sequence[Source],
    index: str,
    report: Reporter,
    before: StoredIndex | None = None,
    device: str = "cpu",
) -> None:
    """Write the FAISS index of a compressed index, then ``meta.json``, into a sealed store.

    ``before`` is the index that text was added to; a FAISS index is trained on ``device``.
    """
    opened = columns.Store(directory)
    rows = opened.distinct()
    if index != FLAT:
        report(f"building {index}", 0, len(rows))
        faiss.build(directory / ANN, opened.vectors, rows, index, device)
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "model": model,
        "dimension": int(opened.vectors.shape[1]),
        "sentences": len(opened),
        "distinct": len(rows),
        "index": index,
        "sources": [vars(entry) for entry in sources],
        **({} if before is None else {GROWN: [*before.meta.get(GROWN, ()), len(before)]}),
        FILES: {
            path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}
            for path in sorted(directory.iterdir())
        },
    }
    meta[DIGEST] = digest(meta)
    write_meta(directory, meta)


def write_meta(directory: Path, meta: dict[str, Any]) -> None:
    """Write ``meta.json``."""
    (directory / META).write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error.strerror})") from None


def digest(meta: dict[str, Any]) -> str:
    """Return the SHA-256 of all keys of ``meta.json`` except its digest."""
    content = {key: value for key, value in meta.items() if key != DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
