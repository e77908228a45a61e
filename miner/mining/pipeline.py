"""Mining as a pipeline of stages: sides → blocks → lists → scores → pairs.

Everything that a mining computes is a task of this plan. What is global runs in this process at the
end: the estimate of precision, the threshold, and the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from miner.encoder.entries import Entry
from miner.errors import ResourceError
from miner.index.build import LINES
from miner.index.index import Index
from miner.knn import clusters, hybrid
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.mining import hybrid_stages, score_stages, search_stages
from miner.mining.score_stages import (
    Competition,
    Found,
    Scorer,
    Verified,
    in_span,
    load_candidates,
)
from miner.mining.search import pairs_for_hybrid
from miner.mining.search_stages import DrawnDecoys, Means
from miner.mining.sides import Part, Side, prepare
from miner.names import SIDES
from miner.precision.decoys import DecoyPairs, Decoys
from miner.precision.decoys import joined as joined_decoys
from miner.precision.search_result import Search
from miner.scoring.languages import Identified
from miner.scoring.margin import Candidates
from miner.scoring.pair_features import PreparedText
from miner.scoring.pairs import Pairs
from miner.scoring.search_recall import Recall
from miner.scoring.verifier import FEATURES, Verifier, verifier_of
from miner.tasks.run import Call, Run
from miner.tasks.task import Result

# Sentences of a part in a hybrid search, which compares the better the larger its blocks are.
HYBRID_LINES = 1 << 20
# Memory of a sentence of a part in the stages that hold most, with room for as much again.
ROW = 2400
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
    given: tuple[str, ...] | None = None,
    hybrid_from: int | None = None,
) -> Search:
    """Search two indexes, score and match the candidates; return all that was seen.

    ``indexes`` are opened, each with the task that made it, if any. Without a ``verifier`` margins
    rank. ``estimating``: decoys compete, the sentences ``given`` or else those of the model.
    ``hybrid_from`` are the pairs of sentences from which on the search is the hybrid one, if not as
    many as by the settings. Raises ResourceError.
    """
    rank = "margin" if verifier is None else "probability"
    settings = replace(settings, rank=rank, memory=run.memory, threads=run.threads)
    codes = languages[0].code, languages[1].code
    model = None if verifier is None else Entry.of(verifier.encoder)
    compressed = any(index.compressed for index, _ in indexes)
    if hybrid_from is None and not compressed:
        hybrid_from = pairs_for_hybrid(settings, verifier is not None)
    pairs = len(indexes[0][0]) * len(indexes[1][0])
    _require_memory(run, indexes)
    lines = run.lines
    if lines is None:
        large = hybrid_from is not None and pairs >= hybrid_from
        lines = min(HYBRID_LINES if large else LINES, max(1 << 12, run.memory // ROW))
    sides = prepare(run, indexes, model, lines, whole=compressed)
    engine = "fused" if settings.engine in ("auto", "hybrid") else settings.engine
    means = Means(settings.neighbors, engine, settings.exact, settings.device)
    unread = sides[0].unread, sides[1].unread
    digests = [side.digests for side in sides]
    probed = run.task(
        "probe",
        search_stages.probe,
        sides=unread,
        digests=digests,
        means=means,
        hybrid_from=hybrid_from,
    )
    chosen = None
    if estimating:
        assert model is not None
        chosen = run.task(
            "decoys",
            search_stages.decoys,
            units=sides[1].size,
            rows=sides[1].size,
            sides=sides,
            model=model,
            languages=codes,
            given=given,
            means=means,
        )
    run.wait()
    engine, by_hybrid = probed.value["engine"], probed.value["hybrid"]
    scorer = None if model is None else Scorer(model, codes)
    if by_hybrid:
        blocks = _hybrid_blocks(run, sides, scorer, means.k)
    else:
        blocks = _blocks(run, sides, means.k, engine)
    complete = not (by_hybrid or compressed)
    found, forward = _lists(run, sides, blocks, means.k, engine, complete=complete)
    measured = None
    if not complete:
        measured = run.task(
            "recall",
            hybrid_stages.recall,
            units=sides[0].size + sides[1].size,
            rows=sides[0].size + sides[1].size,
            sides=sides,
            lists=(forward, found.lists),
            means=means,
            model=model,
            languages=codes,
        )
    reason = None
    if chosen is not None:
        reason = chosen.value.get("error")
        if reason is None:
            found = _compete(run, found, chosen, means.k)
    verified, matched = _matched(run, found, settings, scorer)
    columns = _features(run, found, settings, scorer, verified, matched)
    run.wait(last=True)
    competed = _competed(found, matched, columns)
    own = replace(settings, engine=engine_of(settings, by_hybrid))
    lists = [Neighbors(one.array("similarity"), one.array("row")) for one in (forward, found.lists)]
    text: list[PreparedText | None] = [
        None if verifier is None else side.prepared() for side in sides
    ]
    return Search(
        _pairs(found, matched, columns, indexes),
        own,
        (unread[0].all(), unread[1].all()),
        lists[0],
        lists[1],
        None if verifier is None else verifier_of(verifier.encoder, codes),
        text[0],
        text[1],
        reason if competed is None else competed,
        None if measured is None else Recall(**measured.value),
        languages,
    )


def engine_of(settings: SearchSettings, by_hybrid: bool) -> str:
    """Return the name of the engine that has searched."""
    if by_hybrid:
        return "hybrid"
    return "fused" if settings.engine in ("auto", "hybrid") else settings.engine


def _require_memory(run: Run, indexes: Sequence[tuple[Index, Result | None]]) -> None:
    """Refuse, before any work, memory that is too little to match the pairs."""
    size = sum(len(index) for index, _ in indexes)
    least = int(MATCHED * size)
    if least > run.memory:
        raise ResourceError(
            f"--memory {run.memory >> 20}M is too little for {size} sentences: give at least "
            f"{(least >> 20) + 1}M, or split the corpus"
        )


def _name(part: Part, side: int) -> str:
    return f"{SIDES[side]}-{part.number:04}"


def _both(source: Part, target: Part) -> str:
    return f"{source.number:04}-{target.number:04}"


Blocks = dict[tuple[int, int], Result]


def _blocks(run: Run, sides: Sides, k: int, engine: str) -> Blocks:
    """Register the comparison of all pairs, a block for each part x part."""
    found = run.stage(
        "search",
        search_stages.search,
        {
            _both(source, target): Call(
                {
                    "spans": (source.span, target.span),
                    "firsts": (source.first, target.first),
                    "digests": (source.digest, target.digest),
                },
                source.size * target.size,
                max(source.size, target.size),
            )
            for source in sides[0].parts
            for target in sides[1].parts
        },
        sides=(sides[0].unread, sides[1].unread),
        k=k,
        engine=engine,
    )
    return _by_parts(found, sides)


def _hybrid_blocks(run: Run, sides: Sides, scorer: Scorer | None, k: int) -> Blocks:
    """Register the comparison of few pairs, and the stages that say which."""
    vectors = sides[0].unread, sides[1].unread
    sizes = sum(part.size for part in sides[0].parts), sum(part.size for part in sides[1].parts)
    number = hybrid.number_of_clusters(sizes)
    learned = run.task(
        "centroids",
        hybrid_stages.centroids,
        units=float(clusters.ROUNDS * clusters.SAMPLED) * number**2,
        rows=number,
        sides=vectors,
        digests=[side.digests for side in sides],
        number_of_clusters=number,
    )
    model = None if scorer is None else scorer.model
    languages = (None, None) if scorer is None else scorer.languages
    assigned = [
        run.stage(
            "assign",
            hybrid_stages.assign,
            {
                _name(part, side): Call({"part": part}, part.size * (6000 + number), part.size)
                for part in own.parts
            },
            side=side,
            vectors=vectors[side],
            centroids=learned,
            number_of_clusters=number,
            model=model,
            languages=languages,
        )
        for side, own in enumerate(sides)
    ]
    retrieved: list[list[Result]] = [[], []]
    if model is not None:
        for side, own in enumerate(sides):
            retrieved[side] = run.stage(
                "retrieve",
                hybrid_stages.retrieve,
                {
                    _name(part, side): Call({"part": part}, part.size, part.size)
                    for part in own.parts
                },
                vectors=(vectors[side], vectors[1 - side]),
                others=sides[1 - side].parts,
                assigned=assigned[1 - side],
                model=model,
                languages=languages,
            )
    found = run.stage(
        "hybrid",
        hybrid_stages.block,
        {
            _both(source, target): Call(
                {
                    "parts": (source, target),
                    "assigned": (assigned[0][source.number], assigned[1][target.number]),
                    "retrieved": [
                        tasks[part.number]
                        for tasks, part in zip(retrieved, (source, target), strict=True)
                        if tasks
                    ],
                },
                2 * hybrid.PROBES * source.size * target.size / number,
                max(source.size, target.size),
            )
            for source in sides[0].parts
            for target in sides[1].parts
        },
        sides=vectors,
        k=k,
    )
    return _by_parts(found, sides)


def _by_parts(found: Sequence[Result], sides: Sides) -> Blocks:
    keys = ((s.number, t.number) for s in sides[0].parts for t in sides[1].parts)
    return dict(zip(keys, found, strict=True))


def _lists(
    run: Run, sides: Sides, blocks: Blocks, k: int, engine: str, *, complete: bool
) -> tuple[Found, Result]:
    """Register the merging of the blocks to neighbour lists; return also all of the sources."""
    merged = []
    for side, own in enumerate(sides):
        merged.append(
            run.stage(
                "merge",
                search_stages.merge,
                {
                    _name(part, side): Call(
                        {
                            "span": part.span,
                            "digests": [part.digest, *sides[1 - side].digests],
                            "blocks": [
                                blocks[
                                    (other.number, part.number)
                                    if side
                                    else (part.number, other.number)
                                ]
                                for other in sides[1 - side].parts
                            ],
                        },
                        part.size,
                        part.size,
                    )
                    for part in own.parts
                },
                side=side,
                sides=(sides[0].unread, sides[1].unread),
                k=k,
                engine=engine,
                complete=complete,
                others=[start for start, _ in sides[0].spans] if side else [],
            )
        )
    forward, backward = (
        run.task("lists", search_stages.lists, SIDES[side], units=sides[side].size, parts=parts)
        for side, parts in enumerate(merged)
    )
    return Found(sides, tuple(merged[0]), tuple(merged[1]), backward), forward


def _compete(run: Run, found: Found, chosen: Result, k: int) -> Found:
    """Register the search of decoys among the targets."""
    value, source = chosen.value, found.sides[0]
    drawn = DrawnDecoys(chosen, tuple(value["sizes"]), tuple(value["engines"]), value["alike"])
    count = sum(drawn.sizes)
    against = run.stage(
        "against",
        search_stages.against,
        {
            f"{part.number:04}": Call(
                {"span": part.span, "first": part.first, "digest": part.digest},
                part.size * count,
                part.size,
            )
            for part in source.parts
        },
        source=source.unread,
        decoys=drawn,
        k=k,
    )
    lists = run.task(
        "lists",
        search_stages.decoy_lists,
        "decoys",
        units=count,
        source=source.unread,
        digests=source.digests,
        decoys=drawn,
        against=against,
        targets=found.lists,
        k=k,
    )
    return replace(found, decoys=Competition(drawn, tuple(against), lists))


def _matched(
    run: Run, found: Found, settings: SearchSettings, scorer: Scorer | None
) -> tuple[Verified | None, Result]:
    """Register the scores of all candidates, and the choice of pairs by the retrieval."""
    sources, targets = found.sides
    verified = None
    if scorer is not None:
        verify = run.stage(
            "verify",
            score_stages.verify,
            {
                f"{part.number:04}": Call({"part": part.number}, part.size, part.size)
                for part in sources.parts
            },
            found=found,
            margin=settings.margin,
            scorer=scorer,
        )
        rivals = run.stage(
            "rivals",
            score_stages.rivals,
            {
                f"{part.number:04}": Call({"part": part.number}, part.size, part.size)
                for part in targets.parts
            },
            found=found,
            verified=verify,
        )
        contest = run.task(
            "contest", score_stages.contest, units=targets.size, found=found, parts=rivals
        )
        verified = Verified(tuple(verify), contest)
    scores = run.stage(
        "score",
        score_stages.score,
        {
            f"{part.number:04}": Call({"part": part.number}, part.size, part.size)
            for part in sources.parts
        },
        found=found,
        margin=settings.margin,
        scorer=scorer,
        verified=verified,
    )
    size = sources.size + targets.size
    matched = run.task(
        "match",
        score_stages.match,
        units=size,
        rows=size,
        sizes=(sources.size, targets.size),
        draws=found.draws,
        parts=scores,
        retrieval=settings.retrieval,
    )
    return verified, matched


def _features(
    run: Run,
    found: Found,
    settings: SearchSettings,
    scorer: Scorer | None,
    verified: Verified | None,
    matched: Result,
) -> list[Result]:
    """Register the features of the matched pairs; none without a verifier."""
    if scorer is None:
        return []
    return run.stage(
        "features",
        score_stages.features,
        {
            f"{part.number:04}": Call({"part": part.number}, part.size, part.size)
            for part in found.sides[0].parts
        },
        found=found,
        margin=settings.margin,
        scorer=scorer,
        verified=verified,
        matched=matched,
    )


def _pairs(
    found: Found,
    matched: Result,
    columns: list[Result],
    indexes: Sequence[tuple[Index, Result | None]],
) -> Pairs:
    """Return the pairs that were matched, with their features."""
    pairs = load_candidates(matched.array("0-pairs"))
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
        _collected(found, columns, 0, pairs) if columns else None,
    )


def _competed(
    found: Found, matched: Result, columns: list[Result]
) -> tuple[Decoys, DecoyPairs] | None:
    """Return the decoys and their pairs of all draws; None if none competed."""
    if found.decoys is None:
        return None
    decoys, parts = found.decoys.decoys.read(), []
    for draw, chosen in enumerate(decoys.draws):
        pairs = load_candidates(matched.array(f"{draw + 1}-pairs"))
        parts.append(
            DecoyPairs(
                pairs.score,
                _collected(found, columns, draw + 1, pairs),
                pairs.similarity,
                pairs.margin_ratio,
                pairs.source_row,
                chosen[pairs.target_row - found.sides[1].size],
            )
        )
    return decoys, joined_decoys(parts)


def _collected(found: Found, columns: list[Result], number: int, pairs: Candidates) -> np.ndarray:
    """Collect the features of the pairs of a round from all parts, ``(m, f) float32``."""
    values = np.empty((len(pairs), len(FEATURES)), dtype=np.float32)
    for part, task in zip(found.sides[0].parts, columns, strict=True):
        values[in_span(pairs.source_row, part.span)] = task.array(f"{number}-features")
    return values
