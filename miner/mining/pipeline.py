"""Mining as a pipeline of stages: sides → blocks → lists → scores → pairs.

Everything that a mining computes is a task of this plan. What is global runs in this process at the
end: the estimate of precision, the threshold, and the output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import mul
from typing import Any

import numpy as np

from miner.encoder.entries import Entry
from miner.index.build import LINES
from miner.index.index import Index
from miner.knn import clusters
from miner.knn.settings import SearchSettings
from miner.mining import hybrid_stages, score_stages, search_stages, second_stages
from miner.mining.rounds import Competition, Found, Verified, in_span, load_candidates, neighbors
from miner.mining.search import pairs_for_hybrid
from miner.mining.search_stages import DrawnDecoys
from miner.mining.second_stages import KNOCKED, Opinions, Reader
from miner.mining.sides import Part, Scorer, Side, find_copies, prepare
from miner.names import SIDES
from miner.precision.decoys import DECOYS, DecoyPairs, Decoys
from miner.precision.search_result import Search
from miner.scoring.languages import Identified
from miner.scoring.margin import Candidates
from miner.scoring.pairs import Pairs
from miner.scoring.search_recall import Recall
from miner.scoring.verifier import FEATURES, Verifier
from miner.tasks.run import Call, Run
from miner.tasks.task import Result
from miner.text.language_codes import alike

# Sentences of a part in a hybrid search, which compares the better the larger its blocks are.
HYBRID_LINES = 1 << 20
# Parts of a side at most, unless memory asks for more: blocks are their square.
PARTS = 1000
# Memory of a sentence of a part in the stages that hold most, with room for as much again.
ROW = 2400
# Time to merge one list into a longer one, as a share of the time to rank a list exactly; to look
# at one target while decoys are chosen, of the time to encode a decoy; to ask a further part by
# tokens, of the time of a query; to round a vector and count its tokens, in products of vectors.
MERGE, PASS, ASKED, ROUNDED = 0.03, 0.1, 0.15, 6000
# Memory of a sentence of either side while pairs are matched.
MATCHED = score_stages.match.hints.memory  # type: ignore[attr-defined]

Sides = tuple[Side, Side]


def mine(
    run: Run,
    indexes: Sequence[tuple[Index, Result | None]],
    settings: SearchSettings,
    verifier: Verifier | None,
    languages: tuple[Identified, Identified],
    *,
    estimating: bool = False,
    given: Sequence[str] | None = None,
    hybrid_from: int | None = None,
    second: Reader | None = None,
) -> Search:
    """Search two indexes, score and match the candidates; return all that was seen.

    ``indexes`` are opened, each with the task that made it, if any. Without a ``verifier`` margins
    rank. ``estimating``: decoys compete, the sentences ``given`` or else the model's own.
    ``hybrid_from``: number of pairs of sentences from which on the search is hybrid, in place of
    the setting. ``second`` reads the candidates in doubt. Raises ResourceError.
    """
    rank = "margin" if verifier is None else "probability"
    settings = replace(settings, rank=rank, memory=run.memory, threads=run.threads)
    scorer = None
    if verifier is not None:
        scorer = Scorer(Entry.of_scorer(verifier.encoder), (languages[0].code, languages[1].code))
    compressed = any(index.compressed for index, _ in indexes)
    if hybrid_from is None and not compressed:
        hybrid_from = pairs_for_hybrid(settings, verifier is not None)
    sizes = len(indexes[0][0]), len(indexes[1][0])
    run.require(MATCHED * sum(sizes), f"{sum(sizes)} sentences")
    large = hybrid_from is not None and sizes[0] * sizes[1] >= hybrid_from
    usual = HYBRID_LINES if large else max(LINES, max(sizes) // PARTS)
    usual = min(usual, max(1 << 12, run.memory // ROW))
    searching = settings.searching(settings.searched)

    sides = prepare(run, indexes, scorer, run.lines or usual, whole=compressed)
    probed = _probe(run, sides, searching, hybrid_from if large else None)
    chosen = None
    if estimating and scorer is not None:
        chosen = run.task(
            "decoys",
            search_stages.decoys,
            units=PASS * sides[1].size + DECOYS,
            rows=sides[1].size,
            sides=sides,
            scorer=scorer,
            given=None if given is None else list(given),
            settings=searching,
        )
    copies = None
    codes = [one.code for one in languages]
    if settings.copies == "drop" and codes[0] and codes[1] and codes[1] not in alike(codes[0]):
        copies = run.task(
            "copies",
            find_copies,
            units=sum(sizes),
            places=[side.place for side in sides],
            of=[index.meta["digest"] for index, _ in indexes],
        )
    run.wait()
    by_hybrid = probed.value["hybrid"]
    if by_hybrid:
        blocks = _hybrid_blocks(run, sides, scorer, settings.searched)
    else:
        blocks = _blocks(run, sides, settings.searched, probed)
    complete = not (by_hybrid or compressed)
    merged = _merge(run, sides, blocks, settings.searched, probed, complete=complete)
    forward, backward = _lists(run, sides, merged, settings.neighbors)
    found = Found(
        sides, settings.neighbors, tuple(merged[0]), tuple(merged[1]), backward, copies=copies
    )
    measured = None
    if not complete:
        measured = run.task(
            "recall",
            hybrid_stages.recall,
            units=sum(sizes),
            sides=sides,
            lists=(forward, backward),
            settings=replace(searching, k=settings.neighbors),
            scorer=scorer,
        )
    reason = None if chosen is None else chosen.value.get("error")
    if chosen is not None and reason is None:
        found = _compete(run, found, chosen)
    chosen_by = _matched(run, found, settings, scorer, second)
    run.wait(last=True)

    competed, knocked = _competed(found, chosen_by)
    lists = [neighbors(own) for own in (forward, backward)]
    texts = [None if scorer is None else side.prepared() for side in sides]
    return Search(
        _pairs(found, chosen_by, indexes),
        replace(settings, engine="hybrid" if by_hybrid else searching.engine),
        (sides[0].unread.all(), sides[1].unread.all()),
        lists[0],
        lists[1],
        None if scorer is None else scorer.open(run.threads),
        texts[0],
        texts[1],
        reason if competed is None else competed,
        knocked,
        None if measured is None else Recall(**measured.value),
        languages,
        0 if copies is None else copies.value["copies"],
        None if chosen_by.opinions is None else chosen_by.opinions.asked(sum(sizes)),
    )


def nearest(
    run: Run, indexes: Sequence[tuple[Index, Result | None]], k: int, settings: SearchSettings
) -> tuple[Result, Result]:
    """Compare all rows of two flat indexes; return the lists of the ``k`` nearest, both ways.

    Of the ``settings``, engine, exact and device count. Nothing is scored.
    """
    size = max(len(index) for index, _ in indexes)
    sides = prepare(run, indexes, None, run.lines or max(LINES, size // PARTS), whole=False)
    probed = _probe(run, sides, settings.searching(k), None)
    run.wait()
    blocks = _blocks(run, sides, k, probed)
    return _lists(run, sides, _merge(run, sides, blocks, k, probed, complete=True), k)


def _probe(run: Run, sides: Sides, settings: SearchSettings, hybrid_from: int | None) -> Result:
    """Register the choice of the engine."""
    return run.task(
        "probe",
        search_stages.probe,
        sides=(sides[0].unread, sides[1].unread),
        digests=[side.digests for side in sides],
        settings=settings,
        hybrid_from=hybrid_from,
    )


def _each(
    parts: Sequence[Part], side: int | None = None, cost: float = 1.0, *, bare: bool = False
) -> dict[str, Call]:
    """Return a call for each part of a side: ``cost`` units for each vector.

    ``bare``: the tasks read vectors only.
    """
    prefix = "" if side is None else f"{SIDES[side]}-"
    return {
        f"{prefix}{part.number:04}": Call(
            {"part": part.bare if bare else part}, part.size * cost, part.size
        )
        for part in parts
    }


def _pairs_of_parts(sides: Sides, cost: Callable[[int, int], float]) -> dict[str, Call]:
    """Return a call for each block, part x part: ``cost`` returns its units by its sizes."""
    return {
        f"{source.number:04}-{target.number:04}": Call(
            {"parts": (source.bare, target.bare)},
            cost(source.size, target.size),
            max(source.size, target.size),
        )
        for source in sides[0].parts
        for target in sides[1].parts
    }


def _blocks(run: Run, sides: Sides, k: int, probed: Result) -> list[Result]:
    """Register the comparison of all pairs, block by block."""
    return run.stage(
        "search",
        search_stages.search,
        _pairs_of_parts(sides, mul),
        sides=(sides[0].unread, sides[1].unread),
        k=k,
        engine=probed.value["engine"],
    )


def _hybrid_blocks(run: Run, sides: Sides, scorer: Scorer | None, k: int) -> list[Result]:
    """Register the comparison of few pairs, and the stages that say which."""
    vectors = sides[0].unread, sides[1].unread
    left, right = (sum(part.size for part in side.parts) for side in sides)
    number = clusters.number_of_clusters((left, right))
    counts = len(sides[0].parts), len(sides[1].parts)
    learned = run.task(
        "centroids",
        hybrid_stages.centroids,
        units=float(clusters.ROUNDS * clusters.SAMPLED) * number**2,
        rows=number,
        sides=vectors,
        digests=[side.digests for side in sides],
        number_of_clusters=number,
    )
    assigned = [
        run.stage(
            "assign",
            hybrid_stages.assign,
            _each(own.parts, side, ROUNDED + number),
            side=side,
            vectors=vectors[side],
            centroids=learned,
            number_of_clusters=number,
            scorer=scorer,
        )
        for side, own in enumerate(sides)
    ]
    retrieved: list[list[Result]] = []
    if scorer is not None:
        retrieved = [
            run.stage(
                "retrieve",
                hybrid_stages.retrieve,
                _each(own.parts, side, 1 + ASKED * counts[1 - side]),
                vectors=(vectors[side], vectors[1 - side]),
                others=sides[1 - side].parts,
                assigned=assigned[1 - side],
                scorer=scorer,
            )
            for side, own in enumerate(sides)
        ]
    return run.stage(
        "hybrid",
        hybrid_stages.block,
        _pairs_of_parts(sides, partial(hybrid_stages.products, number, counts)),
        sides=vectors,
        assigned=assigned,
        retrieved=retrieved,
        k=k,
    )


def _merge(
    run: Run, sides: Sides, blocks: list[Result], k: int, probed: Result, *, complete: bool
) -> list[list[Result]]:
    """Register the merging of the blocks to neighbour lists of each part of both sides."""
    width = len(sides[1].parts)
    merged: list[list[Result]] = []
    for side, own in enumerate(sides):
        calls = _each(own.parts, side, 1 + MERGE * len(sides[1 - side].parts), bare=True)
        for row, (name, call) in enumerate(list(calls.items())):
            kept = blocks[row::width] if side else blocks[row * width : (row + 1) * width]
            calls[name] = replace(call, arguments={**call.arguments, "blocks": kept})
        merged.append(
            run.stage(
                "merge",
                search_stages.merge,
                calls,
                side=side,
                sides=(sides[0].unread, sides[1].unread),
                digests=sides[1 - side].digests,
                k=k,
                engine=probed.value["engine"],
                complete=complete,
                others=[start for start, _ in sides[0].spans] if side else [],
            )
        )
    return merged


def _lists(run: Run, sides: Sides, merged: list[list[Result]], k: int) -> tuple[Result, Result]:
    """Register the joining of the ``k`` nearest of all parts of either side."""
    forward, backward = (
        run.task("lists", search_stages.lists, name, units=side.size, parts=parts, k=k)
        for name, side, parts in zip(SIDES, sides, merged, strict=True)
    )
    return forward, backward


def _compete(run: Run, found: Found, chosen: Result) -> Found:
    """Register the search of decoys among the targets."""
    value, source = chosen.value, found.sides[0]
    drawn = DrawnDecoys(chosen, tuple(value["sizes"]), value["engine"], value["alike"])
    count = sum(drawn.sizes)
    forward = run.stage(
        "decoy-search",
        search_stages.decoy_search,
        _each(source.parts, cost=count, bare=True),
        source=source.unread,
        decoys=drawn,
        k=found.k,
    )
    lists = run.task(
        "lists",
        search_stages.decoy_lists,
        "decoys",
        units=count,
        source=source.unread,
        digests=source.digests,
        decoys=drawn,
        forward=forward,
        targets=found.lists,
        k=found.k,
    )
    return replace(found, decoys=Competition(drawn, tuple(forward), lists))


@dataclass(frozen=True)
class Matched:
    """The pairs that were chosen: their task, tasks of their features, and of the knock-outs.

    ``opinions`` are the second opinion's, None without one.
    """

    matched: Result
    columns: list[Result]
    knocked: list[Result]
    opinions: Opinions | None = None

    def second(self, name: str, pairs: Candidates) -> np.ndarray | None:
        """Return the second opinion on pairs of a round; None without one."""
        return None if self.opinions is None else self.opinions.of(name, pairs)


def _matched(
    run: Run,
    found: Found,
    settings: SearchSettings,
    scorer: Scorer | None,
    second: Reader | None,
) -> Matched:
    """Register the tasks that score all candidates and match sources with targets."""
    sources, targets = found.sides
    shared = {"found": found, "margin": settings.margin_function, "scorer": scorer}
    if scorer is not None:
        verify = run.stage("verify", score_stages.verify, _each(sources.parts), **shared)
        rivals = run.stage(
            "rivals", score_stages.rivals, _each(targets.parts), found=found, verified=verify
        )
        best = run.task(
            "best-logits", score_stages.best_logits, units=targets.size, found=found, parts=rivals
        )
        shared["verified"] = Verified(tuple(verify), best)
    scores = run.stage("score", score_stages.score, _each(sources.parts), **shared)
    matching: dict[str, Any] = {
        "units": sources.size + targets.size,
        "targets": targets.size,
        "draws": found.draws,
        "parts": scores,
        "retrieval": settings.retrieval,
    }
    matched = run.task("match", score_stages.match, **matching)
    if scorer is None:
        return Matched(matched, [], [])
    calls = _each(sources.parts)
    columns = run.stage("features", score_stages.features, calls, matched=matched, **shared)
    if second is None:
        return Matched(matched, columns, columns)
    knocked = columns if found.draws else []
    opinions = second_stages.ask(run, found, scores, knocked, second)
    matched = run.task("second-match", score_stages.match, **matching, second=opinions)
    shared |= {"matched": matched, "knocks_out": False}
    again = run.stage("second-features", score_stages.features, calls, **shared)
    return Matched(matched, again, columns, opinions)


def _pairs(found: Found, chosen: Matched, indexes: Sequence[tuple[Index, Result | None]]) -> Pairs:
    """Return the pairs that were matched, with their features."""
    pairs = load_candidates(chosen.matched.array("0-pairs"))
    return Pairs(
        pairs.score,
        pairs.source_row,
        pairs.target_row,
        pairs.similarity,
        pairs.margin_ratio,
        pairs.forward_rank,
        pairs.backward_rank,
        indexes[0][0],
        indexes[1][0],
        _collected(found, chosen.columns, 0, pairs) if chosen.columns else None,
        second=chosen.second("0", pairs),
    )


def _competed(
    found: Found, chosen: Matched
) -> tuple[tuple[Decoys, DecoyPairs] | None, DecoyPairs | None]:
    """Return the decoys and their pairs of all draws, and knock-outs; None if none competed."""
    if found.decoys is None:
        return None, None
    decoys, parts = found.decoys.decoys.read(), []
    for draw, pool in enumerate(decoys.draws):
        name = f"{draw + 1}"
        pairs = load_candidates(chosen.matched.array(f"{name}-pairs"))
        parts.append(
            DecoyPairs.of(
                pairs,
                _collected(found, chosen.columns, draw + 1, pairs),
                pool[pairs.target_row - found.sides[1].size],
                chosen.second(name, pairs),
            )
        )
    knocked = []
    for task in chosen.knocked:
        pairs, features = load_candidates(task.array(KNOCKED)), task.array("knocked-features")
        added = chosen.second(KNOCKED, pairs)
        if chosen.opinions is not None:
            pairs = replace(pairs, score=chosen.opinions.scores(KNOCKED, pairs))
        knocked.append(DecoyPairs.of(pairs, features, pairs.target_row, added))
    return (decoys, DecoyPairs.joined(parts)), DecoyPairs.joined(knocked)


def _collected(found: Found, columns: list[Result], number: int, pairs: Candidates) -> np.ndarray:
    """Collect the features of the pairs of a round from all parts, ``(m, f) float32``."""
    values = np.empty((len(pairs), len(FEATURES)), dtype=np.float32)
    for part, task in zip(found.sides[0].parts, columns, strict=True):
        values[in_span(pairs.source_row, part.span)] = task.array(f"{number}-features")
    return values
