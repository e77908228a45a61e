"""Mining as a pipeline of stages: sides → blocks → lists → scores → pairs.

Everything that a mining computes is a task of this plan, except the global steps at the end, which
run in this process: the estimate of precision, the threshold, and the output.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import mul

import numpy as np

from miner.encoder.encoder_ref import EncoderRef
from miner.index.build import LINES
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining import hybrid_stages, score_stages, search_stages
from miner.mining.choices import pairs_for_hybrid
from miner.mining.matched import score_and_match
from miner.mining.rounds import NeighborLists, neighbors
from miner.mining.sides import Scorer, Side, cross, each, find_copies, prepare
from miner.option_values import SIDES
from miner.precision.decoys import DECOYS, DecoyPairs, Decoys
from miner.precision.search_result import SearchResult
from miner.scoring.languages import Identified
from miner.scoring.search_recall import Recall
from miner.scoring.second_reading import SecondReader
from miner.scoring.verifier import Verifier
from miner.tasks.run import Run
from miner.tasks.task import Result, hints_of
from miner.text.language_codes import alike

# Sentences of a part in a hybrid search, which gets more efficient with larger blocks.
HYBRID_LINES = 1 << 20
# Maximum parts of a side, unless memory requires more: the number of blocks is their square.
PARTS = 1000
# Bytes per sentence of a part in the most demanding stages, with a reserve of the same size.
ROW = 2400
# Time to merge a list into a longer one, as a share of the time to rank a list exactly; time to
# check one target while decoys are chosen, as a share of the time to encode a decoy.
MERGE, PASS = 0.03, 0.1
# Bytes per sentence of either side while pairs are matched.
MATCHED = hints_of(score_stages.match).memory

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
    second: SecondReader | None = None,
) -> SearchResult:
    """Search two indexes, score and match the candidates; return lists, candidates and pairs.

    ``indexes`` are opened, each with the task that built it, if any. Without a ``verifier`` margins
    rank. ``estimating``: decoys compete, by default the model's, else the sentences ``given``.
    ``hybrid_from`` overrides the number of pairs of sentences that makes the search hybrid.
    ``second`` reads the candidates in doubt. Raises ResourceError.
    """
    rank = "margin" if verifier is None else "probability"
    settings = replace(settings, rank=rank, memory=run.memory, threads=run.threads)
    codes = languages[0].code, languages[1].code
    scorer = None if verifier is None else Scorer(EncoderRef.of_scorer(verifier.encoder), codes)
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
    wholes = sides[0].whole, sides[1].whole
    probed = _probe(run, sides, searching, hybrid_from if large else None)
    decoys = copies = recall = None
    if estimating and scorer is not None:
        decoys = run.task(
            "decoys",
            search_stages.decoys,
            units=PASS * sides[1].size + DECOYS,
            rows=sides[1].size,
            sides=wholes,
            scorer=scorer,
            given=None if given is None else list(given),
            settings=searching,
        )
    if settings.copies == "drop" and codes[0] and codes[1] and codes[1] not in alike(codes[0]):
        places = [whole.place for whole in wholes]
        copies = run.task("copies", find_copies, units=sum(sizes), places=places)
    run.wait()
    by_hybrid, engine = probed.value["hybrid"], probed.value["engine"]
    if by_hybrid:
        blocks = hybrid_stages.search(run, sides, scorer, settings.searched)
    else:
        blocks = _blocks(run, sides, settings.searched, engine)
    complete = not (by_hybrid or compressed)
    merged = _merge(run, sides, blocks, settings.searched, engine, complete=complete)
    lists = _lists(run, sides, merged, settings.neighbors)
    near = NeighborLists(
        sides, settings.neighbors, tuple(merged[0]), tuple(merged[1]), lists[1], copies
    )
    if not complete:
        recall = run.task(
            "recall",
            hybrid_stages.recall,
            units=sum(sizes),
            sides=wholes,
            lists=lists,
            settings=replace(searching, k=settings.neighbors),
            scorer=scorer,
        )
    reason = None if decoys is None else decoys.value.get("error")
    if decoys is not None and reason is None:
        near = _compete(run, near, decoys)
    scored = score_and_match(run, near, settings, scorer, second)
    run.wait(last=True)

    source, target = (index for index, _ in indexes)
    competed: tuple[Decoys, DecoyPairs] | str | None = reason
    if near.decoys is not None:
        drawn = search_stages.load_decoys(near.decoys)
        competed = drawn, scored.decoys(drawn.draws)
    texts = [None if scorer is None else whole.tokens() for whole in wholes]
    return SearchResult(
        scored.pairs(source, target),
        replace(settings, engine="hybrid" if by_hybrid else searching.engine),
        (wholes[0].vectors(), wholes[1].vectors()),
        neighbors(lists[0]),
        neighbors(lists[1]),
        None if scorer is None else scorer.open(run.threads),
        texts[0],
        texts[1],
        competed,
        scored.knocked_out() if near.draws else None,
        None if recall is None else Recall(**recall.value),
        languages,
        0 if copies is None else copies.value["copies"],
        None if scored.opinions is None else scored.opinions.asked(sum(sizes)),
    )


def nearest(
    run: Run, indexes: Sequence[tuple[Index, Result | None]], k: int, settings: SearchSettings
) -> tuple[Result, Result]:
    """Compare all rows of two flat indexes; return the lists of the ``k`` nearest, both ways.

    The ``settings`` engine, exact and device apply. Nothing is scored.
    """
    size = max(len(index) for index, _ in indexes)
    sides = prepare(run, indexes, None, run.lines or max(LINES, size // PARTS), whole=False)
    probed = _probe(run, sides, settings.searching(k), None)
    run.wait()
    engine = probed.value["engine"]
    blocks = _blocks(run, sides, k, engine)
    return _lists(run, sides, _merge(run, sides, blocks, k, engine, complete=True), k)


def _probe(run: Run, sides: Sides, settings: SearchSettings, hybrid_from: int | None) -> Result:
    """Register the choice of the engine."""
    return run.task(
        "probe",
        search_stages.probe,
        sides=[side.whole.without_text for side in sides],
        settings=settings,
        hybrid_from=hybrid_from,
    )


def _blocks(run: Run, sides: Sides, k: int, engine: str) -> list[Result]:
    """Register the comparison of all pairs, block by block."""
    return run.stage("search", search_stages.search, cross(sides, mul), k=k, engine=engine)


def _merge(
    run: Run, sides: Sides, blocks: list[Result], k: int, engine: str, *, complete: bool
) -> list[list[Result]]:
    """Register the merging of the blocks to neighbour lists for each part of both sides."""
    grid = np.array(blocks, dtype=object).reshape(len(sides[0].parts), len(sides[1].parts))
    merged: list[list[Result]] = []
    for side, rows in enumerate((grid, grid.T)):
        queries, base = sides[side].without_text, sides[1 - side].without_text
        cost = 1 + MERGE * len(base.parts)
        merged.append(
            run.stage(
                "merge",
                search_stages.merge,
                each(queries, cost, f"{SIDES[side]}-", blocks=rows.tolist()),
                side=side,
                other=base.whole,
                k=k,
                engine=engine,
                complete=complete,
                firsts=base.firsts if side else None,
            )
        )
    return merged


def _lists(run: Run, sides: Sides, merged: list[list[Result]], k: int) -> tuple[Result, Result]:
    """Register the joining of the ``k`` nearest lists of all parts of each side."""
    forward, backward = (
        run.task("lists", search_stages.lists, name, units=side.size, parts=parts, k=k)
        for name, side, parts in zip(SIDES, sides, merged, strict=True)
    )
    return forward, backward


def _compete(run: Run, near: NeighborLists, decoys: Result) -> NeighborLists:
    """Register the search of decoys among the targets."""
    source, draws = near.sides[0].without_text, decoys.value["sizes"]
    shared = {"decoys": decoys, "k": near.k, "engine": decoys.value["engine"]}
    calls = each(source, cost=sum(draws))
    forward = run.stage("decoy-search", search_stages.decoy_search, calls, **shared)
    lists = run.task(
        "lists",
        search_stages.decoy_lists,
        "decoys",
        units=sum(draws),
        source=source.whole,
        forward=forward,
        targets=near.lists,
        **shared,
    )
    return replace(
        near, decoys=decoys, draws=tuple(draws), decoy_forward=tuple(forward), decoy_lists=lists
    )
