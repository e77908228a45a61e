"""Indexing and encoding by shards: the reading and encoding tasks of a plan, for one corpus.

The results equal those of :meth:`miner.index.index.Index.build` and
:func:`miner.index.vectors.encode_corpus`, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.index.embed_corpus import Source
from miner.index.index import Index
from miner.index.joined import copy_index, part_lines
from miner.index.vectors import Encoded, write_vectors
from miner.knn.settings import SearchSettings
from miner.names import SIDES
from miner.progress import Reporter, silent
from miner.shards.context import Context
from miner.shards.shard_plan import Plan
from miner.shards.task import Task
from miner.shards.workers import SHARD_LINES, Workers, at_work, tasks_of

# Lines of a file whose vectors are collected at a time.
BLOCK = 16_384


def index_shards(
    corpus: Sequence[str],
    path: str | Path,
    work: str | Path,
    *,
    encoder: SentenceEncoder,
    note: Callable[[str], None] = lambda line: None,
    **others: Any,
) -> Index:
    """Build the flat index ``path`` of the files ``corpus``, by tasks in the directory ``work``.

    ``others`` are ``workers``, ``shard_lines``, ``device``, ``report`` and what
    :class:`miner.text.corpus.Reader` takes. Stopped or killed, the same call goes on.

    Raises the errors of :meth:`miner.index.index.Index.build`, and MismatchError or CorpusError
    where ``work`` holds another plan.
    """
    kinds = ("read", "encode", "duplicates", "index")
    with _done(corpus, work, kinds, encoder, note, **others) as made:
        context, side, _ = made
        return copy_index(context.index(side).verify(), path, corpus)


def encode_shards(
    corpus: Sequence[str],
    path: str | Path,
    work: str | Path,
    *,
    encoder: SentenceEncoder,
    dtype: Any = np.float16,
    note: Callable[[str], None] = lambda line: None,
    **others: Any,
) -> Encoded:
    """Write one vector for every line of the files ``corpus``, as :func:`index_shards` works."""
    kind = np.dtype(dtype)
    kinds = ("read", "encode")
    with _done(corpus, work, kinds, encoder, note, dtype=kind.name, **others) as made:
        context, side, tasks = made
        sources = [
            Source(**context.result(task.name)["source"]) for task in tasks if task.kind == "read"
        ]
        tally = Encoded(
            *(
                sum(getattr(source, name) for source in sources)
                for name in ("records", "empty", "undecodable", "replaced")
            )
        )

        def blocks() -> Iterator[np.ndarray]:
            zero = 0
            for number, source in enumerate(sources):
                for block in _blocks(context, side, number, source.records):
                    zero += len(block) - int(np.count_nonzero(block.any(axis=1)))
                    yield block
            tally.unknown = zero - tally.empty - tally.undecodable

        write_vectors(Path(path), blocks(), encoder.dimension, kind, tally.records)
        return tally


def _blocks(context: Context, side: int, number: int, records: int) -> Iterator[np.ndarray]:
    """Yield the vectors of all lines of a file, zero for one without a sentence."""
    name = f"{SIDES[side]}-{number:04}"
    lines = part_lines(context.directory(f"read/{name}"))
    # Record i is line i + 1; a header is a line but no record.
    plan = context.plan
    records_of = lines - 1 - plan.header(side, number)
    for start in range(0, records, BLOCK):
        first, last = np.searchsorted(records_of, [start, start + BLOCK]).tolist()
        shape = min(BLOCK, records - start), context.encoder(side).dimension
        block = np.zeros(shape, dtype=plan.dtype)
        for shard in range(first // plan.shard_lines, -(-last // plan.shard_lines)):
            begin = shard * plan.shard_lines
            own = slice(max(first, begin), min(last, begin + plan.shard_lines))
            vectors = context.array(f"encode/{name}-{shard:04}", "vectors")
            block[records_of[own] - start] = vectors[own.start - begin : own.stop - begin]
        yield block


@contextmanager
def _done(
    corpus: Sequence[str],
    work: str | Path,
    kinds: Sequence[str],
    encoder: SentenceEncoder,
    note: Callable[[str], None],
    *,
    workers: Workers = Workers(),
    shard_lines: int = SHARD_LINES,
    device: str = "auto",
    dtype: str = "float16",
    report: Reporter = silent,
    **reading: Any,
) -> Iterator[tuple[Context, int, list[Task]]]:
    """Do the tasks of some kinds for one corpus; yield the context, the side and the tasks."""
    side = SIDES.index(encoder.side or SIDES[0])
    texts: tuple[Sequence[str], Sequence[str]] = (corpus, ()) if side == 0 else ((), corpus)
    source = encoder.on_side(SIDES[0])
    plan = Plan.of(
        texts,
        (source, source.on_side(SIDES[1])),
        SearchSettings(rank="margin", device=device),
        shard_lines,
        reading=reading,
        estimating=False,
        dtype=dtype,
    )
    with at_work(work, plan, workers, source) as context:
        with tasks_of(context.work, plan, workers, context.lent, report, note) as do:
            do(plan.reading_tasks())
            tasks = [
                task
                for task in plan.tasks(plan.rows(context.work))
                if task.kind in kinds and task.arguments["side"] == side
            ]
            do(tasks)
        yield context, side, tasks
