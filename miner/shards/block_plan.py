"""Tasks that compare a block of shard x shard each: all pairs, or those of a hybrid search."""

from __future__ import annotations

from typing import Any

from miner.names import SIDES
from miner.shards.task import Task

Span = tuple[int, int]
Inputs = tuple[str, ...]


def exhaustive(
    sources: list[Span], targets: list[Span], base: Inputs, *, beginning: bool
) -> list[Task]:
    """Return the tasks `search`, which compare all pairs.

    ``beginning``: lists of a block start from those of another block of the same rows.
    """
    tasks, later = [], []
    for s, source in enumerate(sources):
        for t, target in enumerate(targets):
            name, arguments = f"search/{s:04}-{t:04}", _arguments(source, target)
            begun = (
                f"search/{s:04}-{s % len(targets):04}",
                f"search/{t % len(sources):04}-{t:04}",
            )
            if not beginning or name in begun:
                tasks.append(Task(name, base, arguments, _cells(source, target)))
            else:
                arguments["begun"] = list(begun)
                inputs = (*base, *dict.fromkeys(begun))
                later.append(Task(name, inputs, arguments, _cells(source, target)))
    return tasks + later


def hybrid(sources: list[Span], targets: list[Span], base: Inputs, *, lexicon: bool) -> list[Task]:
    """Return the tasks `hybrid`, which compare few pairs, and those that say which."""
    tasks = [Task("centroids/all", base)]
    sides = sources, targets
    assigned, retrieved = (
        [
            [f"{kind}/{name}-{i:04}" for i in range(len(spans))]
            for name, spans in zip(SIDES, sides, strict=True)
        ]
        for kind in ("assign", "retrieve")
    )
    for side, spans in enumerate(sides):
        for name, span in zip(assigned[side], spans, strict=True):
            given: dict[str, Any] = {"side": side, "span": list(span)}
            tasks.append(Task(name, (*base, "centroids/all"), given, float(span[1] - span[0])))
    if lexicon:
        for side, spans in enumerate(sides):
            others = assigned[1 - side]
            for name, span in zip(retrieved[side], spans, strict=True):
                given = {"side": side, "span": list(span), "others": others}
                given["spans"] = [list(other) for other in sides[1 - side]]
                tasks.append(Task(name, (*base, *others), given, float(span[1] - span[0])))
    for s, source in enumerate(sources):
        for t, target in enumerate(targets):
            arguments = _arguments(source, target)
            arguments["shards"] = [assigned[0][s], assigned[1][t]]
            arguments["retrieved"] = [retrieved[0][s], retrieved[1][t]] if lexicon else []
            inputs = (*base, *arguments["shards"], *arguments["retrieved"])
            tasks.append(Task(f"hybrid/{s:04}-{t:04}", inputs, arguments, _cells(source, target)))
    return tasks


def _arguments(source: Span, target: Span) -> dict[str, Any]:
    return {"source": list(source), "target": list(target)}


def _cells(source: Span, target: Span) -> float:
    return float((source[1] - source[0]) * (target[1] - target[0]))
