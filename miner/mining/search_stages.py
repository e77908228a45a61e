"""Stages of the neighbour search: probe, search, merge, lists; and decoys against the sources."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from miner.errors import MinerError
from miner.json_files import read_json
from miner.knn.engines import Engine, Float32Engine, Int8Engine, choose_engine
from miner.knn.gpu_check import ENGINES as GPU_ENGINES
from miner.knn.knn_search import BlockSearch, engine_for, refine_part, use_threads
from miner.knn.lists import Lists
from miner.knn.neighbors import Neighbors
from miner.knn.recall import int8_suffices
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages
from miner.mining.sides import Part, Scorer, load_text, save_text
from miner.precision import decoys as choice
from miner.precision.decoys import Decoys
from miner.scoring.context_features import two_nearest
from miner.scoring.margin import list_places, neighborhood_mean
from miner.scoring.pair_features import TokenizedText
from miner.tasks.exchange import part_of, send
from miner.tasks.task import Job, Result, hints

# Rows of lists joined at a time.
BLOCK = 1 << 16
# Slot of a list on disk: a similarity and a position.
PLACE = np.dtype([("similarity", np.float32), ("position", np.int32)])
# Name of the exchange in which `merge` sends entries of targets' lists to the parts of sources.
LISTED = "listed"
# File of the decoys' sentences, separate because every later task reads the record, which should be
# small.
SENTENCES = "sentences.json"


def decoy_text(decoys: Result, draw: int) -> TokenizedText:
    """Return the token ids of the decoys in a draw."""
    return load_text(decoys).take(_draws(decoys)[draw])


def decoy_vectors(decoys: Result, draw: int) -> VectorSet:
    """Return the vectors of the decoys in a draw."""
    vectors = np.asarray(decoys.array(f"vectors-{draw}"))
    return VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))


def load_decoys(decoys: Result) -> Decoys:
    """Read the decoys of all draws, with their sentences."""
    sentences = read_json(decoys.path / SENTENCES)
    return Decoys(sentences, load_text(decoys), _draws(decoys), decoys.value["alike"])


def _draws(decoys: Result) -> list[np.ndarray]:
    return np.split(decoys.array("draws"), np.cumsum(decoys.value["sizes"])[:-1])


def settings_of(job: Job, settings: SearchSettings) -> SearchSettings:
    """Return settings with the memory and the threads of a task."""
    return replace(settings, memory=job.memory, threads=job.threads)


def open_engine(name: str, threads: int) -> Engine:
    """Return the engine chosen by :func:`probe`."""
    kind, _, device = name.partition(" ")
    engine: Engine
    if device:
        engine = GPU_ENGINES[kind](device, threads)
    elif name == Int8Engine.name:
        engine = Int8Engine(threads)
    elif name == Float32Engine.name:
        engine = Float32Engine(threads)
    else:
        engine = choose_engine(kind, False, threads)
    use_threads(threads, engine)
    return engine


@hints(seconds=1.0, gpu=True)
def probe(
    job: Job,
    sides: tuple[Part, Part],
    settings: SearchSettings,
    hybrid_from: int | None,
) -> dict[str, Any]:
    """Choose the engine of a search.

    It is hybrid from ``hybrid_from`` pairs of sentences on, if int8 suffices; never if that is
    None.
    """
    source, target = (side.vectors(compressed=True) for side in sides)
    engine = choose_engine("hybrid", False, job.threads)
    hybrid = (
        hybrid_from is not None
        and len(source) * len(target) >= hybrid_from
        and isinstance(engine, Int8Engine)
        and int8_suffices(source, target, settings.neighbors)
    )
    if not hybrid:
        engine = engine_for(source, target, settings_of(job, settings))
    return {"engine": _name(engine), "hybrid": hybrid}


@hints(seconds=6e-5, memory=9, gpu=True)
def decoys(
    job: Job,
    sides: tuple[Part, Part],
    scorer: Scorer,
    given: list[str] | None,
    settings: SearchSettings,
) -> dict[str, Any]:
    """Choose and encode the decoys; if there are too few, return the reason as ``error``."""
    verifier = scorer.open(job.threads)
    targets, rows = sides[1].tokens(), sides[1].vectors().rows
    tokenizer = verifier.encoder.tokenizer
    try:
        pool = list(dict.fromkeys(choice.of_model(verifier) if given is None else given))
        choices = choice.choose_among(
            pool, targets, rows, tokenizer, job.threads, resembling=given is None
        )
    except MinerError as error:
        return {"error": str(error)}
    source, engine = sides[0].vectors(), None
    for number, chosen in enumerate(choices.draws):
        vectors = choice.encoded(choices, chosen, verifier).astype(source.vectors.dtype)
        job.save(**{f"vectors-{number}": vectors})
        if engine is None:  # the same for all draws, whose sizes differ by at most one decoy
            drawn = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
            engine = _name(engine_for(source, drawn, settings_of(job, settings)))
    save_text(job, choices.text)
    job.save(draws=np.concatenate(choices.draws))
    (job.out / SENTENCES).write_text(json.dumps(choices.sentences), encoding="utf-8")
    return {
        "alike": choices.alike,
        "sizes": [len(chosen) for chosen in choices.draws],
        "engine": engine,
    }


@hints(seconds=8e-9, memory=700, searches=True, gpu=True)
def search(job: Job, parts: tuple[Part, Part], k: int, engine: str) -> None:
    """Search a block of the similarity matrix, once for both directions."""
    left, right = (part.vectors(compressed=True) for part in parts)
    opened = open_engine(engine, job.threads)
    forward, backward = BlockSearch(left, right, k, job.memory, opened, job.report).candidates()
    save_lists(job, "forward", forward, parts[1].first)
    save_lists(job, "backward", backward, parts[0].first)


@hints(seconds=2e-5, memory=700)
def merge(
    job: Job,
    part: Part,
    side: int,
    other: Part,
    blocks: list[Result],
    k: int,
    engine: str,
    complete: bool,
    firsts: list[int] | None = None,
) -> None:
    """Merge the candidates of a part from all blocks, and rank them exactly.

    ``other``: the other side. Lists of targets are sent to the parts of the sources, which begin at
    the rows ``firsts``. Not ``complete``: the search skipped pairs, so that no row is in doubt.
    """
    name = ("forward", "backward")[side]
    named = [block.array(name) for block in blocks]
    opened = open_engine(engine, job.threads)
    ranked = _refined(job, part.vectors(), other.vectors(), named, k, opened, complete=complete)
    save_neighbors(job, "", ranked)
    if firsts is not None:
        places = list_places(ranked, other.span, part.span[0])
        send(job, LISTED, places, part_of(places["source"], firsts), len(firsts))


@hints(seconds=1e-8, memory=700, searches=True, gpu=True)
def decoy_search(job: Job, part: Part, decoys: Result, k: int, engine: str) -> None:
    """Search a part of the sources against the decoys, once for both directions."""
    queries, opened = part.vectors(), open_engine(engine, job.threads)
    for draw in range(len(decoys.value["sizes"])):
        base = decoy_vectors(decoys, draw)
        forward, backward = BlockSearch(queries, base, k, job.memory, opened).candidates()
        ranked = refine_part(queries, base, forward, k, job.memory, opened)
        save_neighbors(job, f"{draw}-", ranked)
        save_lists(job, f"{draw}-backward", backward, part.first)


@hints(seconds=2e-5)
def lists(job: Job, parts: list[Result], k: int) -> None:
    """Join the ``k`` nearest of all parts of a side.

    The data that scoring needs is saved separately: mean and two nearest of each list.
    """
    job.join("similarity", (part.similarity for part in _list_blocks(parts, k)))
    job.join("row", (part.row for part in _list_blocks(parts, k)))
    job.join("mean", (neighborhood_mean(part) for part in _list_blocks(parts, k)))
    job.join("nearest", (two_nearest(part) for part in _list_blocks(parts, k)))


def _list_blocks(parts: list[Result], k: int) -> Iterator[Neighbors]:
    """Yield the ``k`` nearest of all parts, block by block; at least one."""
    for part in parts:
        similarity, row = part.array("similarity"), part.array("row")
        for start in range(0, max(1, len(row)), BLOCK):
            rows = slice(start, start + BLOCK)
            yield Neighbors(similarity[rows, :k], row[rows, :k])
        release_pages(similarity)


@hints(seconds=2e-5)
def decoy_lists(
    job: Job,
    source: Part,
    decoys: Result,
    forward: list[Result],
    targets: Result,
    k: int,
    engine: str,
) -> None:
    """Rank the neighbours of the decoys; append their means and nearest to the ``targets``'.

    ``source``: all sources.
    """
    base, opened = source.vectors(), open_engine(engine, job.threads)
    for draw in range(len(decoys.value["sizes"])):
        blocks = [task.array(f"{draw}-backward") for task in forward]
        ranked = _refined(job, decoy_vectors(decoys, draw), base, blocks, k, opened)
        save_neighbors(job, f"{draw}-", ranked)
        nearest = two_nearest(ranked)
        job.join(f"{draw}-mean", [targets.array("mean"), neighborhood_mean(ranked)])
        job.join(f"{draw}-nearest", [targets.array("nearest"), nearest])


def _refined(
    job: Job,
    queries: VectorSet,
    base: VectorSet,
    blocks: Sequence[np.ndarray],
    k: int,
    engine: Engine,
    *,
    complete: bool = True,
) -> Neighbors:
    """Merge candidate lists ``(n, w)`` of PLACE, and rank them.

    ``complete``: the blocks compared all pairs.
    """
    width = max(min(k + engine.slack, len(base)), *(block.shape[1] for block in blocks))
    merged = Lists.empty(len(queries), max(1, width))
    for block in blocks:
        for start in range(0, len(block), BLOCK):
            part = block[start : start + BLOCK]
            merged.merge(start, part["similarity"], part["position"])
        release_pages(block)
    return refine_part(queries, base, merged, k, job.memory, engine if complete else None)


def save_neighbors(job: Job, name: str, neighbors: Neighbors) -> None:
    """Write neighbour lists under a prefix."""
    job.save(**{f"{name}similarity": np.asarray(neighbors.similarity)})
    job.save(**{f"{name}row": np.asarray(neighbors.row)})


def save_lists(job: Job, name: str, lists: Lists, first: int) -> None:
    """Write candidate lists whose positions count from ``first``."""
    places = np.empty(lists.position.shape, dtype=PLACE)
    places["similarity"] = lists.similarity
    places["position"] = np.where(lists.position >= 0, lists.position + first, -1)
    job.save(**{name: places})


def _name(engine: Engine) -> str:
    device = getattr(engine, "device", "")
    return f"{engine.name} {device}".strip()
