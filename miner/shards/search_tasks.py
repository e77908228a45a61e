"""Tasks of the neighbour search: probe, decoys, search, against, merge, lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import create_npy
from miner.errors import MinerError
from miner.kernels.blocks import merge_lists
from miner.knn.engines import Engine, Int8Engine, choose_engine
from miner.knn.knn_search import engine_for
from miner.knn.lists import Lists
from miner.knn.neighbors import Neighbors
from miner.knn.recall import int8_suffices_both
from miner.knn.search_parts import block_candidates, settle_part
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages
from miner.mining import decoys as choice
from miner.scoring.languages import identify, sample
from miner.scoring.listed import two_nearest
from miner.scoring.margin import neighborhood_mean
from miner.shards.context import SENTENCES, Context, save, save_text
from miner.shards.exchange import listed_parts

# Rows of lists that are joined at a time.
BLOCK = 1 << 16
# Lists on disk: a similarity and a position in each place.
PLACE = np.dtype([("similarity", np.float32), ("position", np.int32)])


def probe(context: Context, out: Path) -> dict[str, Any]:
    """Identify the languages of both sides, and choose the engine of the search.

    It is the hybrid one from so many pairs on as the plan says, where int8 suffices.
    """
    plan, sides = context.plan, (context.vectors(0), context.vectors(1))
    given = plan.settings.languages
    languages = []
    for side in (0, 1):
        index = context.index(side)
        found = identify(index.sentences(sample(len(index))), given[side])
        languages.append([found.shares, found.given, found.characters])
    engine = choose_engine("hybrid", "cpu", False, context.threads)
    hybrid = (
        plan.hybrid_from is not None
        and len(sides[0]) * len(sides[1]) >= plan.hybrid_from
        and isinstance(engine, Int8Engine)
        and int8_suffices_both(*sides, plan.settings.neighbors)
    )
    if not hybrid:
        engine = engine_for(*sides, context.settings)
    return {"languages": languages, "engine": _name(engine), "hybrid": hybrid}


def decoys(context: Context, out: Path) -> dict[str, Any]:
    """Choose and encode the decoys; where there are too few, note why.

    Memory: 9 bytes a target.
    """
    targets, rows, verifier = context.text(1), context.vectors(1).rows, context.verifier
    given, tokenizer = context.plan.decoys, verifier.encoder.tokenizer
    try:
        pool = list(dict.fromkeys(choice.of_model(verifier) if given is None else given))
        found = choice.choose_among(
            pool, targets, rows, tokenizer, context.threads, resembling=given is None
        )
    except MinerError as error:
        return {"error": str(error)}
    source, engines = context.vectors(0), []
    for number, chosen in enumerate(found.draws):
        vectors = choice.encoded(found, chosen, verifier).astype(source.vectors.dtype)
        save(out, **{f"vectors-{number}": vectors})
        drawn = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
        engines.append(_name(engine_for(source, drawn, context.settings)))
    save_text(out, found.text)
    save(out, draws=np.concatenate(found.draws))
    (out / SENTENCES).write_text(json.dumps(found.sentences), encoding="utf-8")
    return {
        "alike": found.alike,
        "sizes": [len(chosen) for chosen in found.draws],
        "engines": engines,
    }


def search(
    context: Context,
    out: Path,
    source: list[int],
    target: list[int],
    begun: list[str] | None = None,
) -> None:
    """Search a block of the similarity matrix, once for both directions.

    ``begun`` are blocks of the same sources and of the same targets that were searched before.
    """
    engine = context.engine(context.result("probe/all")["engine"])
    (left, first), (right, start) = context.part(0, *source), context.part(1, *target)
    k = context.plan.settings.neighbors
    lists: tuple[Lists | None, Lists | None] = None, None
    if begun is not None:
        lists = (
            _other_lists(context, begun[0], "forward", len(right)),
            _other_lists(context, begun[1], "backward", len(left)),
        )
    forward, backward = block_candidates(left, right, k, context.memory, engine, lists)
    save_lists(out, "forward", forward, start, len(right))
    save_lists(out, "backward", backward, first, len(left))


def merge(
    context: Context, out: Path, side: int, span: list[int], blocks: list[str], shards: int
) -> None:
    """Merge the candidates of a shard from all blocks, and rank them exactly.

    The lists of targets are also written by the ``shards`` of sources, for tasks of those. Those of
    a hybrid search leave rows out, so that nothing is in doubt.
    """
    chosen = context.result("probe/all")
    engine = context.engine(chosen["engine"])
    queries, _ = context.part(side, *span)
    base = context.vectors(1 - side)
    name = ("forward", "backward")[side]
    named = [(block, name) for block in blocks]
    found = _settled(context, queries, base, named, engine, complete=not chosen["hybrid"])
    save(out, similarity=found.similarity, row=found.row)
    if side == 1:
        parts, starts = listed_parts(found, context.plan.shard_lines, shards)
        save(out, listed=parts, listed_starts=starts)


def against(context: Context, out: Path, span: list[int], begun: str | None = None) -> None:
    """Search a shard of sources against the decoys, once for both directions.

    ``begun`` is the task of another shard that was searched before.
    """
    queries, first = context.part(0, *span)
    k = context.plan.settings.neighbors
    for draw in range(len(context.decoys.draws)):
        engine = context.engine(context.result("decoys/all")["engines"][draw])
        base = context.decoy_set(draw)
        name = f"{draw}-backward"
        lists = None if begun is None else _other_lists(context, begun, name, len(queries))
        forward, backward = block_candidates(
            queries, base, k, context.memory, engine, (None, lists)
        )
        found = settle_part(queries, base, forward, k, context.memory, engine)
        arrays: dict[str, np.ndarray] = {"similarity": found.similarity, "row": found.row}
        save(out, **{f"{draw}-{name}": array for name, array in arrays.items()})
        save_lists(out, name, backward, first, len(queries))


def lists(context: Context, out: Path, parts: list[str], against: list[str] | None = None) -> None:
    """Join the neighbour lists of all shards of a side; with ``against``, rank those of decoys.

    What scores need of each target's list is written apart: its mean and its two nearest. Those of
    the targets are followed by those of a draw's decoys.
    """
    if against is None:
        _join(context, out, parts)
        return
    base = context.vectors(0)
    for draw in range(len(context.decoys.draws)):
        engine = context.engine(context.result("decoys/all")["engines"][draw])
        blocks = [(task, f"{draw}-backward") for task in against]
        found = _settled(context, context.decoy_set(draw), base, blocks, engine)
        save(out, **{f"{draw}-similarity": found.similarity})
        save(out, **{f"{draw}-row": found.row})
        more = {"mean": neighborhood_mean(found)}
        more["nearest"] = two_nearest(found, np.arange(len(found)))
        for name, values in more.items():
            _append(out / f"{draw}-{name}.npy", context.array("lists/target", name), values)


def _append(path: Path, whole: np.ndarray, more: np.ndarray) -> None:
    """Write an array, mapped from disk, with further rows at its end."""
    rows = create_npy(path, whole.dtype, (len(whole) + len(more), *whole.shape[1:]))
    for start in range(0, len(whole), BLOCK):
        rows[start : start + BLOCK][: len(whole) - start] = whole[start : start + BLOCK]
    rows[len(whole) :] = more
    rows.flush()


def _settled(
    context: Context,
    queries: VectorSet,
    base: VectorSet,
    blocks: list[tuple[str, str]],
    engine: Engine,
    *,
    complete: bool = True,
) -> Neighbors:
    """Merge the candidate lists of ``blocks``, tasks and names of arrays, and rank them.

    ``complete``: the blocks were compared pair by pair.
    """
    k = context.plan.settings.neighbors
    merged = Lists.empty(len(queries), max(1, min(k + engine.slack, len(base))))
    for task, name in blocks:
        found = context.array(task, name)
        for start in range(0, len(found), BLOCK):
            part = found[start : start + BLOCK]
            similarity = np.ascontiguousarray(part["similarity"])
            position = np.ascontiguousarray(part["position"])
            merge_lists(similarity, position, start, *merged.arrays)
        release_pages(found)
    return settle_part(queries, base, merged, k, context.memory, engine if complete else None)


def save_lists(out: Path, name: str, found: Lists, first: int, size: int) -> None:
    """Write candidate lists whose positions count from ``first``; those of other blocks are empty.

    The block has ``size`` positions.
    """
    places = np.empty(found.position.shape, dtype=PLACE)
    places["similarity"] = found.similarity
    own = (found.position >= 0) & (found.position < size)
    places["position"] = np.where(own, found.position + first, -1)
    save(out, **{name: places})


def _other_lists(context: Context, task: str, name: str, size: int) -> Lists:
    """Read candidate lists of another block, to start those of a block of ``size`` positions.

    Their positions become ``size`` and more, so that a candidate of the block comes before others
    of the same similarity.
    """
    found = context.array(task, name)
    similarity = np.ascontiguousarray(found["similarity"])
    places = size + np.arange(found.shape[1], dtype=np.int32)
    position = np.where(found["position"] >= 0, places, np.int32(-1))
    return Lists(similarity, position, similarity[:, -1].copy())


def _join(context: Context, out: Path, parts: list[str]) -> None:
    """Join neighbour lists, with the means of their similarities and the two nearest."""
    found = [(context.array(task, "similarity"), context.array(task, "row")) for task in parts]
    size, k = sum(len(row) for _, row in found), found[0][1].shape[1]
    shapes: tuple[tuple[str, Any, tuple[int, ...]], ...] = (
        ("similarity", np.float32, (size, k)),
        ("row", np.int64, (size, k)),
        ("mean", np.float32, (size,)),
        ("nearest", np.float32, (size, 2)),
    )
    similarity, row, mean, nearest = (
        create_npy(out / f"{name}.npy", dtype, shape) for name, dtype, shape in shapes
    )
    done = 0
    for values, rows in found:
        for start in range(0, len(rows), BLOCK):
            part = Neighbors(values[start : start + BLOCK], rows[start : start + BLOCK])
            place = slice(done, done + len(part))
            similarity[place], row[place] = part.similarity, part.row
            mean[place] = neighborhood_mean(part)
            nearest[place] = two_nearest(part, np.arange(len(part)))
            done += len(part)
        release_pages(values)
        release_pages(rows)


def _name(engine: Engine) -> str:
    device = getattr(engine, "device", "")
    return f"{engine.name} {device}".strip()
