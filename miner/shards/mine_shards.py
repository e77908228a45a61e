"""Mining by shards: the same pairs as :func:`miner.mining.mine.mine`, by tasks that can be resumed.

What is global runs in this process at the end: the estimate of precision, the threshold, and the
output. It takes 150 bytes a pair, and 200 bytes a sentence that are mapped from disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ResourceError
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.decoys import DecoyPairs, Decoys
from miner.mining.decoys import joined as joined_decoys
from miner.mining.keep import Keep
from miner.mining.mine import (
    Calibrate,
    Mined,
    calibrated,
    calibrates_margins,
    chosen_verifier,
    conclude,
    decoy_encoder_of,
    note_languages,
)
from miner.mining.pairs import Pairs
from miner.mining.precision import Estimate, calibrate
from miner.mining.search import Search, pairs_for_hybrid
from miner.mining.search_recall import Recall
from miner.names import SIDES
from miner.progress import Reporter, silent
from miner.scoring.margin import Candidates
from miner.scoring.verifier import FEATURES
from miner.shards.context import Context, load_candidates
from miner.shards.shard_plan import Plan
from miner.shards.task import Task
from miner.shards.verify_tasks import in_span
from miner.shards.workers import SHARD_LINES, Workers, at_work, tasks_of

# Kinds of task after which both indexes and their languages are known.
INDEXING = ("read", "encode", "duplicates", "index", "probe")


def plan_for(
    texts: tuple[Sequence[str], Sequence[str]],
    encoder: SentenceEncoder,
    keep: Keep,
    settings: SearchSettings,
    shard_lines: int = SHARD_LINES,
    *,
    hybrid_from: int | None = None,
    **reading: Any,
) -> tuple[Plan, str | None]:
    """Return the plan for these files and settings, and the reason why margins rank, if any.

    ``hybrid_from``: pairs of sentences from which on the search is the hybrid one, if not as many
    as without shards.

    Raises KeepError, CorpusError, and ResourceError for an engine that the machine lacks.
    """
    verifier, reason = chosen_verifier(encoder, settings)
    calibrates_margins(verifier, keep, settings, encoder.model is None, False)
    rank = "margin" if verifier is None else "probability"
    if hybrid_from is None:
        hybrid_from = pairs_for_hybrid(settings, verifier is not None)
    engine = "fused" if settings.engine in ("auto", "hybrid") else settings.engine
    plan = Plan.of(
        texts,
        (encoder, encoder.on_side("target")),
        replace(settings, rank=rank, memory=None, threads=None, engine=engine),
        shard_lines,
        reading=reading,
        estimating=verifier is not None and keep.estimate,
        decoys=None if keep.decoys is None else tuple(keep.decoys),
        hybrid_from=hybrid_from,
    )
    return plan, reason


def mine_shards(
    texts: tuple[Sequence[str], Sequence[str]],
    work: str | Path,
    *,
    encoder: SentenceEncoder,
    keep: Keep = Keep(),
    settings: SearchSettings = SearchSettings(),
    workers: Workers = Workers(),
    shard_lines: int = SHARD_LINES,
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
    done: Callable[[Index], None] = lambda index: None,
    **reading: Any,
) -> Mined:
    """Mine the translation pairs of two corpora of many files, by tasks in the directory ``work``.

    The result is that of :func:`miner.mining.mine.mine`, bit for bit, for every backend, number of
    workers and ``shard_lines``, which are the sentences of a shard. Stopped or killed, the same
    call goes on. ``done`` is called with each index once both are
    there. ``reading`` goes to :class:`miner.text.corpus.Reader`, but for ``hybrid_from``
    (:func:`plan_for`).

    Raises the errors of :func:`miner.mining.mine.mine`, and MismatchError or CorpusError where
    ``work`` holds another plan.
    """
    plan, reason = plan_for(texts, encoder, keep, settings, shard_lines, **reading)
    with at_work(work, plan, workers, encoder) as context:
        with tasks_of(context.work, plan, workers, context.lent, report, note) as do:
            for fact in encoder.facts():
                note(fact)
            do(plan.reading_tasks())
            tasks = plan.tasks(plan.rows(context.work))
            do([task for task in tasks if task.kind in INDEXING])
            # The plan has absolute names, for workers of other working directories.
            indexes = (
                context.index(0).with_names(texts[0]),
                context.index(1).with_names(texts[1]),
            )
            for index in indexes:
                done(index.verify())
            languages = context.languages
            note_languages(languages, encoder, note)
            by_margin = not plan.verifying and calibrates_margins(
                None, keep, settings, encoder.model is None, False
            )
            by_margin, decoy_encoder, warnings = decoy_encoder_of(
                indexes[1], by_margin, encoder, keep, settings
            )
            tasks = plan.all_tasks(context.work)
            do(tasks)
        found = _search(context, tasks, indexes, settings, languages)
        calibrate: Calibrate | None = None
        if plan.estimating:
            calibrate = partial(_calibrate, context, tasks)
        elif by_margin:
            calibrate = partial(calibrated, decoy_encoder)
        return conclude(found, keep, encoder, reason, warnings, calibrate)


def _search(
    context: Context,
    tasks: Sequence[Task],
    indexes: tuple[Index, Index],
    settings: SearchSettings,
    languages: Any,
) -> Search:
    """Return the search that the tasks have done, its large arrays mapped from disk."""
    found = _matched(context, 0)
    verifying = context.plan.verifying
    columns = _features(context, tasks, 0, found) if verifying else None
    pairs = Pairs(
        found.score,
        found.source_row,
        found.target_row,
        found.similarity,
        found.margin_ratio,
        found.forward_rank,
        found.backward_rank,
        *indexes,
        columns,
    )
    forward, backward = (context.neighbors([f"lists/{side}"]) for side in SIDES)
    recall = None
    if context.result("probe/all")["hybrid"]:
        recall = Recall(**context.result("recall/all")["recall"])
    return Search(
        pairs,
        replace(context.settings, languages=settings.languages),
        (context.vectors(0), context.vectors(1)),
        forward,
        backward,
        context.verifier if verifying else None,
        context.text(0) if verifying else None,
        context.text(1) if verifying else None,
        recall=recall,
        languages=languages,
    )


def _calibrate(
    context: Context, tasks: Sequence[Task], found: Search, keep: Keep
) -> tuple[Search, Estimate]:
    """Calibrate scores by the decoys that took part in the tasks."""
    noted = context.result("decoys/all")
    if "error" in noted:
        raise ResourceError(noted["error"])
    competed = _competed(context, tasks)
    return calibrate(found, keep.decoys, refitting=keep.refit, competed=competed)


def _competed(context: Context, tasks: Sequence[Task]) -> tuple[Decoys, DecoyPairs]:
    """Return the decoys and their pairs of all draws."""
    size = int(context.result("index/target")["rows"])
    decoys, parts = context.decoys, []
    for draw, chosen in enumerate(decoys.draws):
        pairs = _matched(context, draw + 1)
        parts.append(
            DecoyPairs(
                pairs.score,
                _features(context, tasks, draw + 1, pairs),
                pairs.similarity,
                pairs.margin_ratio,
                pairs.source_row,
                chosen[pairs.target_row - size],
            )
        )
    return decoys, joined_decoys(parts)


def _matched(context: Context, number: int) -> Candidates:
    return load_candidates(context.array("match/all", f"{number}-pairs"))


def _features(
    context: Context, tasks: Sequence[Task], number: int, pairs: Candidates
) -> np.ndarray:
    """Collect the features of the pairs of a round from all shards, ``(m, f) float32``."""
    found = np.empty((len(pairs), len(FEATURES)), dtype=np.float32)
    for task in tasks:
        if task.kind == "features":
            own = in_span(pairs.source_row, task.arguments["span"])
            found[own] = context.array(task.name, f"{number}-features")
    return found
