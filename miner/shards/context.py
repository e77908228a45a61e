"""Context of a task: the plan, the model, and the results of other tasks by memory map."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.loading import Loading
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MismatchError
from miner.index.index import META, Index
from miner.index.joined import part_texts
from miner.index.sentence_file import Texts
from miner.knn.engines import Engine, Float32Engine, Int8Engine, choose_engine
from miner.knn.knn_search import use_threads
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.mining.decoys import Decoys
from miner.names import SIDES
from miner.scoring.languages import Identified
from miner.scoring.margin import Candidates
from miner.scoring.pair_features import PreparedText
from miner.scoring.verifier import Verifier
from miner.shards.object_store import result_directory
from miner.shards.shard_plan import Plan, cut
from miner.shards.task import record

TEXT = tuple(field.name for field in fields(PreparedText))
# File of the decoys' sentences. A record is read by every task that follows, and stays small.
SENTENCES = "sentences.json"


@dataclass(frozen=True)
class EncodedSpan:
    """The task that encoded a span of a side, and the first of its rows."""

    task: str
    first: int


@dataclass(frozen=True)
class Context:
    """A plan at work in the directory ``work``, with the means of one worker.

    ``memory`` are the bytes that a search may allocate, ``threads`` those of one task. ``lent`` is
    the encoder of the source side where this process has it already.
    """

    work: Path
    plan: Plan
    memory: int
    threads: int
    lent: SentenceEncoder | None = None

    @property
    def settings(self) -> SearchSettings:
        return replace(self.plan.settings, memory=self.memory, threads=self.threads)

    def directory(self, task: str) -> Path:
        """Return the directory of a task's result."""
        return result_directory(self.work, task)

    def array(self, task: str, name: str) -> np.ndarray:
        """Map an array of a task's result into memory."""
        return load(self.directory(task) / f"{name}.npy")

    def result(self, task: str) -> dict[str, Any]:
        """Return what a task's record says of its result."""
        found: dict[str, Any] = record(self.work, task)["result"]
        return found

    def encoder(self, side: int) -> SentenceEncoder:
        """Return the encoder of a side."""
        entry = self.plan.entries[0]
        lent: Any = self.lent  # encoders are compared by identity
        if lent is None:
            device = "cpu" if self.plan.settings.device == "cpu" else "auto"
            loading = Loading(**entry.get("loading", {}))
            lent = _encoder(entry["name"], entry["fingerprint"], self.threads, device, loading)
        found: SentenceEncoder = _on_side(lent, SIDES[side])
        return found

    @property
    def verifier(self) -> Verifier:
        """The verifier for the languages of both sides."""
        left, right = self.languages
        encoder: Any = self.encoder(0)
        return _verifier(encoder, (left.code, right.code))

    @property
    def languages(self) -> tuple[Identified, Identified]:
        """The languages of both sides."""
        left, right = (
            Identified(tuple((code, share) for code, share in shares), given, characters)
            for shares, given, characters in self.result("probe/all")["languages"]
        )
        return left, right

    def index(self, side: int) -> Index:
        """Open the index of a side."""
        place = self.directory(f"index/{SIDES[side]}")
        return _index(place, (place / META).stat().st_mtime_ns)

    def spans(self, side: int) -> list[EncodedSpan]:
        """Return the encoded spans of a side, in order."""
        found = []
        first = 0
        for number, size in enumerate(self.plan.rows(self.work)[side]):
            for part, (start, _) in enumerate(cut(size, self.plan.shard_lines)):
                name = f"encode/{SIDES[side]}-{number:04}-{part:04}"
                found.append(EncodedSpan(name, first + start))
            first += size
        return found

    def sentence_of(self, side: int) -> Callable[[int], str]:
        """Return a function that looks up a sentence of a side, before there is an index."""
        firsts = np.cumsum([0, *self.plan.rows(self.work)[side]])

        def look_up(row: int) -> str:
            # Of files without sentences, which begin where the next does, the last is meant.
            number = int(np.searchsorted(firsts, row, side="right")) - 1
            texts = _part_texts(self.directory(f"read/{SIDES[side]}-{number:04}"))
            return texts[row - int(firsts[number])]

        return look_up

    def vectors(self, side: int) -> VectorSet:
        """Return the vectors of a side that take part in the search."""
        return VectorSet(self.index(side).store.vectors, self.array(f"index/{SIDES[side]}", "rows"))

    def part(self, side: int, start: int, end: int) -> tuple[VectorSet, int]:
        """Return the vectors of rows ``start`` to ``end``, and the position of the first of them.

        Rows count from ``start``.
        """
        whole = self.vectors(side)
        first, last = np.searchsorted(whole.rows, [start, end]).tolist()
        rows = np.asarray(whole.rows[first:last]) - start
        return VectorSet(whole.vectors[start:end], rows), first

    def engine(self, name: str) -> Engine:
        """Return the engine that a probe has chosen."""
        device = name.partition(" ")[2]
        engine: Engine
        if name == Int8Engine.name:
            engine = Int8Engine(self.threads)
        elif name == Float32Engine.name:
            engine = Float32Engine(self.threads)
        else:
            engine = choose_engine(name.partition(" ")[0], device, False, self.threads)
        use_threads(self.threads, engine)
        return engine

    def text(self, side: int, start: int = 0, end: int | None = None) -> PreparedText:
        """Return the token ids of rows ``start`` to ``end`` of a side, by memory map."""
        whole = load_text(self.directory(f"index/{SIDES[side]}"))
        if (start, end) in ((0, None), (0, len(whole))):
            return whole
        rows = slice(start, end)
        ids, offsets = _lists(whole.ids, whole.offsets, start, end)
        numbers, number_offsets = _lists(whole.numbers, whole.number_offsets, start, end)
        return PreparedText(ids, offsets, whole.characters[rows], numbers, number_offsets)

    def neighbors(self, tasks: Sequence[str]) -> Neighbors:
        """Return the neighbour lists of one task, or the joined ones of several."""
        parts = [[self.array(task, name) for task in tasks] for name in ("similarity", "row")]
        similarity, row = (np.concatenate(p) if len(p) > 1 else p[0] for p in parts)
        return Neighbors(similarity, row)

    @cached_property
    def decoys(self) -> Decoys:
        """The decoys of the plan; none where there are too few."""
        if not self.plan.estimating or "error" in self.result("decoys/all"):
            return Decoys([], PreparedText(*(np.empty(0),) * 5), [], 0.0)
        found = self.result("decoys/all")
        draws = np.split(self.array("decoys/all", "draws"), np.cumsum(found["sizes"])[:-1])
        place = self.directory("decoys/all")
        text = load_text(place)
        sentences = json.loads((place / SENTENCES).read_text("utf-8"))
        return Decoys(sentences, text, draws, found["alike"])

    def decoy_set(self, draw: int) -> VectorSet:
        """Return the vectors of the decoys of one draw."""
        vectors = np.asarray(self.array("decoys/all", f"vectors-{draw}"))
        return VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))


def save(directory: Path, **arrays: np.ndarray) -> None:
    """Write arrays, each into a file of its name."""
    for name, array in arrays.items():
        np.save(directory / f"{name.replace('_', '-')}.npy", array)


def load(path: Path) -> np.ndarray:
    """Map an array into memory. Its pages are copied if they are written to, the file is not."""
    array = np.load(path, mmap_mode="c", allow_pickle=False)
    assert isinstance(array, np.ndarray)
    return array


def save_text(directory: Path, text: PreparedText) -> None:
    """Write prepared text."""
    save(directory, **{f"text-{name}": getattr(text, name) for name in TEXT})


def load_text(directory: Path) -> PreparedText:
    """Map prepared text into memory."""
    return PreparedText(*(load(directory / f"text-{name.replace('_', '-')}.npy") for name in TEXT))


def save_candidates(directory: Path, name: str, found: Candidates) -> None:
    """Write the columns of candidates as one array of records."""
    kinds = [(field.name, getattr(found, field.name).dtype) for field in fields(found)]
    rows = np.empty(len(found), dtype=kinds)
    for field in fields(found):
        rows[field.name] = getattr(found, field.name)
    save(directory, **{name: rows})


def load_candidates(rows: np.ndarray) -> Candidates:
    """Return the candidates that :func:`save_candidates` wrote."""
    return Candidates(*(np.ascontiguousarray(rows[field.name]) for field in fields(Candidates)))


def _lists(
    values: np.ndarray, offsets: np.ndarray, start: int, end: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists ``start`` to ``end`` of a ragged array."""
    own = offsets[start : len(offsets) if end is None else end + 1]
    return values[own[0] : own[-1]], own - own[0]


@lru_cache(maxsize=64)
def _part_texts(part: Path) -> Texts:
    return part_texts(part)


@lru_cache(maxsize=2)
def _index(place: Path, changed: int) -> Index:
    return Index.open(place)


@lru_cache(maxsize=1)
def _encoder(
    name: str, fingerprint: str, threads: int, device: str, loading: Loading
) -> SentenceEncoder:
    found = open_encoder(name, threads, device, SIDES[0], loading)
    if found.fingerprint != fingerprint:
        raise MismatchError(
            f"{name}: replaced since the plan was made ({found.fingerprint}, not {fingerprint}); "
            "put the model back, or name another --work"
        )
    return found


@lru_cache(maxsize=2)
def _on_side(encoder: SentenceEncoder, side: str) -> SentenceEncoder:
    return encoder.on_side(side)


@lru_cache(maxsize=1)
def _verifier(encoder: SentenceEncoder, languages: tuple[str | None, str | None]) -> Verifier:
    return Verifier(encoder).of(languages)
