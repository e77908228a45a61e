"""Sides of a search as its tasks read them: rows that take part, parts of them, prepared text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.entries import Entry
from miner.index.build import cut
from miner.index.columns import BLOCK
from miner.index.directory import GROWN, META
from miner.index.index import Index
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages
from miner.names import SIDES, Languages
from miner.ragged import offsets_of
from miner.scoring.pair_features import PreparedText
from miner.scoring.verification import prepare_texts
from miner.scoring.verifier import Verifier, verifier_of
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints
from miner.text.near_copies import copy_key

TEXT = tuple(field.name for field in fields(PreparedText))
Span = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """Where the index of a side is: its directory, or the task that made it."""

    index: Result | str

    @property
    def path(self) -> Path:
        return Path(self.index) if isinstance(self.index, str) else self.index.path

    def open(self) -> Index:
        """Open the index; once in each process."""
        return _index(self.path, (self.path / META).stat().st_mtime_ns)

    def sentences(self, rows: np.ndarray) -> Sequence[str]:
        """Return the sentences of some rows."""
        return self.open().sentences(rows)


@dataclass(frozen=True)
class Scorer:
    """Model that verifies candidates, and the languages of both sides."""

    model: Entry
    languages: Languages

    def open(self, threads: int) -> Verifier:
        return verifier_of(self.model.open(threads), self.languages)


@dataclass(frozen=True)
class Part:
    """Rows ``span`` of a side: shard ``number``. ``first`` is the position of the first vector.

    ``digest`` is of the rows that take part and of their vectors, ``size`` the number of them.
    ``text`` has the token ids of all rows; None without verification.
    """

    number: int
    span: Span
    first: int
    size: int
    digest: str
    text: Result | None

    @property
    def bare(self) -> Part:
        """The part without its text, for tasks that read vectors only."""
        return replace(self, text=None)


@dataclass(frozen=True)
class Side:
    """One side of a search: its index, the rows that take part, and the parts it is cut into.

    ``text`` has the token ids of all sentences; None without verification.
    """

    place: Place
    rows: Result
    parts: tuple[Part, ...]
    text: Result | None

    @property
    def size(self) -> int:
        return self.parts[-1].span[1]

    @property
    def digests(self) -> list[str]:
        """Digests of all parts: of the vectors of the whole side."""
        return [part.digest for part in self.parts]

    @property
    def spans(self) -> list[Span]:
        return [part.span for part in self.parts]

    @property
    def unread(self) -> Vectors:
        """The vectors, for a task whose other arguments have the digests of what it reads."""
        index = self.place.index
        place = index if isinstance(index, str) else index.place()
        return Vectors(Place(place), self.rows.place())

    def prepared(self) -> PreparedText:
        """Map the token ids of all sentences."""
        assert self.text is not None
        return load_text(self.text)


@dataclass(frozen=True)
class Vectors:
    """Vectors of a side that take part in a search."""

    place: Place
    rows: Result

    def all(self, *, compressed: bool = False) -> VectorSet:
        """Return all of them; ``compressed``: with the FAISS index, if there is one."""
        index = self.place.open()
        ann = index.ann() if compressed else None
        return VectorSet(index.store.vectors, self.rows.array("rows"), ann)

    def part(self, span: Span) -> VectorSet:
        """Return the vectors of a span of rows, which count from its start."""
        start, end = span
        whole = self.all()
        first, last = np.searchsorted(whole.rows, [start, end]).tolist()
        rows = np.asarray(whole.rows[first:last]) - start
        return VectorSet(whole.vectors[start:end], rows)


def prepare(
    run: Run,
    indexes: Sequence[tuple[Index, Result | None]],
    scorer: Scorer | None,
    lines: int,
    *,
    whole: bool,
) -> tuple[Side, Side]:
    """Find the rows of both sides that take part, cut them into parts, and tokenise their text.

    ``indexes`` are the opened indexes, each with the task that made it, if any. The model of the
    ``scorer`` tokenises; without it no text is prepared. ``whole``: a side is one part. Waits for
    all of it.
    """
    model = None if scorer is None else scorer.model
    found = []
    for name, (index, made) in zip(SIDES, indexes, strict=True):
        place = Place(made or str(index.path.absolute()))
        rows = run.task("rows", find_rows, name, units=len(index), place=place, of=_digest(index))
        spans = _spans(index, None if whole else lines)
        tasks = run.stage(
            "part",
            describe_part,
            {
                f"{name}-{number:04}": Call({"span": span}, span[1] - span[0])
                for number, span in enumerate(spans)
            },
            place=place,
            rows=rows,
            model=model,
        )
        text = tasks[0]
        if model is not None and len(tasks) > 1:
            text = run.task("text", join_text, name, units=len(index), parts=tasks)
        found.append((place, rows, spans, tasks, None if model is None else text))
    run.wait()
    left, right = (
        Side(place, rows, _parts(spans, tasks, verified=text is not None), text)
        for place, rows, spans, tasks, text in found
    )
    return left, right


def _parts(spans: list[Span], tasks: list[Result], *, verified: bool) -> tuple[Part, ...]:
    """Return the parts of a side by what their tasks have found."""
    parts = []
    first = 0
    for number, (span, task) in enumerate(zip(spans, tasks, strict=True)):
        size, digest = task.value["size"], task.value["digest"]
        parts.append(Part(number, span, first, size, digest, task if verified else None))
        first += size
    return tuple(parts)


def _spans(index: Index, lines: int | None) -> list[Span]:
    """Cut the rows of an index into spans: text that was added begins a new one."""
    edges = [0, *(int(end) for end in index.meta.get(GROWN, ())), len(index)]
    found = [
        (start + low, start + high)
        for start, end in zip(edges, edges[1:], strict=False)
        for low, high in cut(end - start, lines or max(1, len(index)))
    ]
    if lines is None:
        found = [(0, len(index))]
    return found or [(0, 0)]


def _digest(index: Index) -> str:
    return str(index.meta["digest"])


@hints(seconds=1e-6, memory=32)
def find_rows(job: Job, place: Place, of: str) -> dict[str, Any]:
    """Find the rows of an index that take part in a search: each text once. ``of``: its digest."""
    rows = place.open().store.distinct()
    job.save(rows=rows)
    return {"distinct": len(rows)}


@hints(seconds=1e-5, memory=100)
def describe_part(
    job: Job, place: Place, rows: Result, span: Span, model: Entry | None
) -> dict[str, Any]:
    """Digest the vectors of a span of rows that take part, and tokenise its text by ``model``."""
    start, end = span
    part = Vectors(place, rows).part((start, end))
    digest = hashlib.blake2b(digest_size=16)
    for first in range(0, len(part), BLOCK):
        own = np.ascontiguousarray(part.rows[first : first + BLOCK], dtype=np.int64)
        digest.update(own.tobytes())
        digest.update(np.ascontiguousarray(part.block(first, first + BLOCK)).tobytes())
    if model is not None:
        encoder = model.open(job.threads)
        assert isinstance(encoder, Encoder)
        texts = place.open().store.texts.part(start, end)
        text = prepare_texts(texts, encoder.tokenizer, job.threads, job.memory)
        save_text(job, text)
    return {"size": len(part), "digest": digest.hexdigest()}


@hints(seconds=1e-6, memory=16)
def join_text(job: Job, parts: list[Result]) -> None:
    """Join the prepared text of all parts. Offsets take 8 bytes a sentence."""
    for name in TEXT:
        file = f"text-{name.replace('_', '-')}"
        found = [part.array(file) for part in parts]
        if name.endswith("offsets"):
            counts = [np.diff(offsets) for offsets in found]
            found = [offsets_of(np.concatenate(counts))]
        job.join(file, _released(found))


@hints(seconds=1e-5, memory=32)
def find_copies(job: Job, places: Sequence[Place], of: Sequence[str]) -> dict[str, Any]:
    """Number the sentences of both sides by their letters, ``(n,) int32``; 0: only on one side.

    ``of`` are the digests of the indexes.
    """
    sides = []
    for place in places:
        index = place.open()
        keys = np.zeros(len(index), np.uint64)
        for start in range(0, len(index), BLOCK):
            texts = index.store.texts.slice(start, min(start + BLOCK, len(index)))
            keys[start : start + BLOCK] = np.array(list(map(copy_key, texts)), np.uint64)
        sides.append(keys)
    both = np.intersect1d(sides[0], sides[1])
    both = both[both > 0]
    found = []
    for keys in sides:
        at = np.minimum(np.searchsorted(both, keys), max(len(both) - 1, 0))
        found.append(np.where(both[at] == keys, at + 1, 0) if len(both) else np.zeros_like(keys))
    job.save(**{name: own.astype(np.int32) for name, own in zip(SIDES, found, strict=True)})
    return {"copies": int(np.count_nonzero(found[1]))}


def _released(arrays: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield mapped arrays, whose pages go once they are written."""
    for array in arrays:
        yield array
        release_pages(array)


def save_text(job: Job, text: PreparedText) -> None:
    job.save(**{f"text-{name}": getattr(text, name) for name in TEXT})


def load_text(task: Result) -> PreparedText:
    """Map the prepared text of a task into memory."""
    return PreparedText(*(task.array(f"text-{name.replace('_', '-')}") for name in TEXT))


@lru_cache(maxsize=4)
def _index(place: Path, changed: int) -> Index:
    return Index.open(place)
