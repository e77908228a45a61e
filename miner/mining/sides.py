"""Sides of a search: participating rows, their parts, and token ids."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.encoder_ref import EncoderRef
from miner.index.build import cut
from miner.index.columns import BLOCK
from miner.index.directory import GROWN, META
from miner.index.index import Index
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages
from miner.option_values import SIDES, Languages
from miner.ragged import offsets_of
from miner.scoring.pair_features import TokenizedText
from miner.scoring.verification import prepare_texts
from miner.scoring.verifier import Verifier, verifier_of
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints
from miner.text.near_copies import copy_key

TEXT = tuple(field.name for field in fields(TokenizedText))
Span = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """Reference to the index of a side, with its digest: its directory, or the task that built
    it.
    """

    index: Result | str = field(metadata={"decides": False})
    digest: str

    def open(self) -> Index:
        """Open the index, once in each process."""
        path = Path(self.index) if isinstance(self.index, str) else self.index.path
        return _index(path, (path / META).stat().st_mtime_ns)

    def sentences(self, rows: np.ndarray) -> Sequence[str]:
        """Return the sentences of ``rows``."""
        return self.open().sentences(rows)


@dataclass(frozen=True)
class Scorer:
    """Reference to the model that verifies candidates, and the languages of both sides."""

    model: EncoderRef
    languages: Languages

    def open(self, threads: int) -> Verifier:
        return verifier_of(self.model.open(threads), self.languages)


@dataclass(frozen=True)
class Part:
    """Rows ``span`` of a side: part ``number``, or the whole side.

    ``first``: position of the first vector; ``size``: number of vectors. ``digest``: of the
    participating rows and their vectors, so that ``place`` and ``rows`` do not enter fingerprints.
    ``text``: token ids of all rows; None without verification.
    """

    number: int
    span: Span
    first: int
    size: int
    digest: str
    text: Result | None
    place: Place = field(metadata={"decides": False})
    rows: Result = field(metadata={"decides": False})

    @property
    def without_text(self) -> Part:
        """Return the part for tasks that read only vectors."""
        return replace(self, text=None)

    def vectors(self, *, compressed: bool = False) -> VectorSet:
        """Map the participating vectors; their rows count from the start of the span.

        ``compressed``: with the FAISS index, if the side has one.
        """
        return _vectors(self.place, self.rows, self.span, compressed=compressed)

    def tokens(self) -> TokenizedText:
        """Map the token ids of all rows."""
        assert self.text is not None
        return load_text(self.text)


@dataclass(frozen=True)
class Side:
    """Side of a search: all its rows, and the parts that they are cut into."""

    whole: Part
    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.whole.span[1]

    @property
    def firsts(self) -> list[int]:
        """First row of each part."""
        return [part.span[0] for part in self.parts]

    @property
    def without_text(self) -> Side:
        return Side(self.whole.without_text, tuple(part.without_text for part in self.parts))


def each(
    side: Side, cost: float = 1.0, prefix: str = "", **of_each: Sequence[Any]
) -> dict[str, Call]:
    """Return a call for each part of a side, with its item of each list in ``of_each``.

    ``cost``: units per vector.
    """
    return {
        f"{prefix}{part.number:04}": Call(
            {"part": part, **{name: items[part.number] for name, items in of_each.items()}},
            part.size * cost,
            part.size,
        )
        for part in side.parts
    }


def cross(
    sides: tuple[Side, Side],
    cost: Callable[[int, int], float],
    **of_both: Sequence[Sequence[Result]],
) -> dict[str, Call]:
    """Return a call for each block, part x part, that reads only vectors.

    ``cost``: function of the sizes to units. ``of_both``: results of both parts; none for an empty
    list.
    """
    lefts, rights = (side.without_text.parts for side in sides)
    return {
        f"{left.number:04}-{right.number:04}": Call(
            {
                "parts": (left, right),
                **{
                    name: [
                        results[part.number]
                        for results, part in zip(both, (left, right), strict=True)
                    ]
                    for name, both in of_both.items()
                    if both
                },
            },
            cost(left.size, right.size),
            max(left.size, right.size),
        )
        for left in lefts
        for right in rights
    }


def prepare(
    run: Run,
    indexes: Sequence[tuple[Index, Result | None]],
    scorer: Scorer | None,
    lines: int,
    *,
    whole: bool,
) -> tuple[Side, Side]:
    """Find the participating rows of both sides, cut them into parts, and tokenise their text.

    ``indexes`` are opened, each with the task that built it, if any. The model of the ``scorer``
    tokenises; without it text is not tokenised. ``whole``: a side is a single part. Waits for the
    tasks.
    """
    model = None if scorer is None else scorer.model
    sides = []
    for name, (index, built) in zip(SIDES, indexes, strict=True):
        place = Place(built or str(index.path.absolute()), str(index.meta["digest"]))
        rows = run.task("rows", find_rows, name, units=len(index), place=place)
        spans = _spans(index, None if whole else lines)
        calls = {
            f"{name}-{number:04}": Call({"span": span}, span[1] - span[0])
            for number, span in enumerate(spans)
        }
        tasks = run.stage("part", describe_part, calls, place=place, rows=rows, model=model)
        text = None if model is None else tasks[0]
        if model is not None and len(tasks) > 1:
            text = run.task("text", join_text, name, units=len(index), parts=tasks)
        sides.append((place, rows, spans, tasks, text))
    run.wait()
    left, right = (_side(*fields) for fields in sides)
    return left, right


def _side(
    place: Place, rows: Result, spans: list[Span], tasks: list[Result], text: Result | None
) -> Side:
    """Return a side from the results of its parts' tasks."""
    parts: list[Part] = []
    first = 0
    for number, (span, task) in enumerate(zip(spans, tasks, strict=True)):
        size, digest = task.value["size"], task.value["digest"]
        own_text = None if text is None else task
        parts.append(Part(number, span, first, size, digest, own_text, place, rows))
        first += size
    digest = hashlib.blake2b("".join(part.digest for part in parts).encode(), digest_size=16)
    whole = Part(0, (0, spans[-1][1]), 0, first, digest.hexdigest(), text, place, rows)
    return Side(whole, tuple(parts))


def _spans(index: Index, lines: int | None) -> list[Span]:
    """Cut the rows of an index into spans; text that was added begins a new span."""
    if lines is None:
        return [(0, len(index))]
    edges = [0, *(int(end) for end in index.meta.get(GROWN, ())), len(index)]
    spans = [
        (start + low, start + high)
        for start, end in zip(edges, edges[1:], strict=False)
        for low, high in cut(end - start, lines)
    ]
    return spans or [(0, 0)]


def _vectors(place: Place, rows: Result, span: Span, *, compressed: bool = False) -> VectorSet:
    """Map the participating vectors of a span."""
    index, known = place.open(), rows.array("rows")
    first, last = np.searchsorted(known, span).tolist()
    span_rows = np.asarray(known[first:last]) - span[0] if span[0] else known[first:last]
    ann = index.ann() if compressed else None
    return VectorSet(index.store.vectors[slice(*span)], span_rows, ann)


@hints(seconds=1e-6, memory=32)
def find_rows(job: Job, place: Place) -> dict[str, Any]:
    """Find the rows of an index that take part in a search: each text once."""
    rows = place.open().store.distinct()
    job.save(rows=rows)
    return {"distinct": len(rows)}


@hints(seconds=1e-5, memory=100)
def describe_part(
    job: Job, place: Place, rows: Result, span: Span, model: EncoderRef | None
) -> dict[str, Any]:
    """Compute the digest of a span's participating vectors, and tokenise its text with
    ``model``.
    """
    part = _vectors(place, rows, span)
    digest = hashlib.blake2b(digest_size=16)
    for first in range(0, len(part), BLOCK):
        part_rows = np.ascontiguousarray(part.rows[first : first + BLOCK], dtype=np.int64)
        digest.update(part_rows.tobytes())
        digest.update(np.ascontiguousarray(part.block(first, first + BLOCK)).tobytes())
    if model is not None:
        encoder = model.open(job.threads)
        assert isinstance(encoder, Encoder)
        texts = place.open().store.texts.part(*span)
        save_text(job, prepare_texts(texts, encoder.tokenizer, job.threads, job.memory))
    return {"size": len(part), "digest": digest.hexdigest()}


@hints(seconds=1e-6, memory=16)
def join_text(job: Job, parts: list[Result]) -> None:
    """Join the tokenised text of all parts. Offsets take 8 bytes per sentence."""
    for name in TEXT:
        file = f"text-{name.replace('_', '-')}"
        arrays = [part.array(file) for part in parts]
        if name.endswith("offsets"):
            counts = [np.diff(offsets) for offsets in arrays]
            arrays = [offsets_of(np.concatenate(counts))]
        job.join(file, _released(arrays))


@hints(seconds=1e-5, memory=32)
def find_copies(job: Job, places: Sequence[Place]) -> dict[str, Any]:
    """Number the sentences of both sides by their letters, ``(n,) int32``; 0: only on one side."""
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
    numbered = []
    for keys in sides:
        at = np.minimum(np.searchsorted(both, keys), max(len(both) - 1, 0))
        numbered.append(np.where(both[at] == keys, at + 1, 0) if len(both) else np.zeros_like(keys))
    job.save(
        **{
            name: side_numbers.astype(np.int32)
            for name, side_numbers in zip(SIDES, numbered, strict=True)
        }
    )
    return {"copies": int(np.count_nonzero(numbered[1]))}


def _released(arrays: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield mapped arrays, releasing their pages once they are written."""
    for array in arrays:
        yield array
        release_pages(array)


def save_text(job: Job, text: TokenizedText) -> None:
    job.save(**{f"text-{name}": getattr(text, name) for name in TEXT})


def load_text(task: Result) -> TokenizedText:
    """Map the tokenised text of a task into memory."""
    return TokenizedText(*(task.array(f"text-{name.replace('_', '-')}") for name in TEXT))


@lru_cache(maxsize=4)
def _index(path: Path, changed: int) -> Index:
    return Index.open(path)
