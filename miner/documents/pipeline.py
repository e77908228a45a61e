"""Pipeline that pairs documents: documents → nearest documents → votes of lines → pairs."""

from collections.abc import Sequence

import numpy as np

from miner.documents import stages
from miner.documents.collection import FileBatch, read
from miner.documents.knock_out import Scores
from miner.documents.layout import DocumentFormat
from miner.documents.stages import NEAREST, Documents, Neighborhoods
from miner.encoder.encoder_ref import EncoderRef
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.index.build import SideText, cut, encode_reads
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.pipeline import nearest
from miner.option_values import SIDES
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints

Sides = tuple[Documents, Documents]
# Documents compared by one task.
PART = 1 << 13


def join(
    run: Run,
    batches: Sequence[Sequence[FileBatch]],
    layout: DocumentFormat,
    encoder: SentenceEncoder,
) -> tuple[Sides, list[Index]]:
    """Register reading, encoding and joining of both sides; return the documents and their
    indexes.
    """
    reads = [
        run.stage(
            "read",
            read,
            {
                f"{name}-{number:04}": Call({"batch": batch}, batch.bytes / 10)
                for number, batch in enumerate(side_batches)
            },
            layout=layout,
        )
        for name, side_batches in zip(SIDES, batches, strict=True)
    ]
    run.wait()
    for side_reads in reads:
        if not any(task.value["rows"] for task in side_reads):
            path = side_reads[0].value["source"]["path"]
            raise CorpusError(f"{path}: no document has text; name its key (--column)")
    grouped = all(any(task.value["domains"] for task in side_reads) for side_reads in reads)
    sides = []
    for name, side_reads in zip(SIDES, reads, strict=True):
        model = EncoderRef.of(encoder.on_side(name))
        spans = encode_reads(run, SideText(name, [], model, encoder.dimension), side_reads)
        joined = run.task(
            "documents",
            stages.join,
            name,
            units=sum(task.value["rows"] for task in side_reads),
            reads=side_reads,
            spans=spans,
            model=model,
            dimension=encoder.dimension,
            grouped=grouped,
        )
        sides.append(Documents(joined, spans, side_reads))
    run.wait()
    return (sides[0], sides[1]), [Index.open(side.task.path) for side in sides]


def compare(
    run: Run,
    sides: Sides,
    indexes: Sequence[Index],
    settings: SearchSettings,
    *,
    knocking: bool,
    last: bool,
) -> tuple[Scores, Scores | None]:
    """Pair the documents one to one; return the pairs, best first.

    ``knocking``: also return the candidates of the sources without their partners. ``last``: the
    run has no further tasks.
    """
    opened = [(index, side.task) for index, side in zip(indexes, sides, strict=True)]
    lists = nearest(run, opened, NEAREST, settings)
    back = sides[1], sides[0]
    spans = [cut(len(index), run.lines or PART) for index in indexes]
    sources = _neighborhoods(run, "source", sides, lists[0], spans[0])
    targets = _neighborhoods(run, "target", back, lists[1], spans[1])
    means = sources, targets
    voted = _votes(run, "votes", sides, lists, means, spans[0])
    matched = run.task("pairs", match, units=len(indexes[0]), votes=voted, size=len(indexes[0]))
    knocked = []
    if knocking:
        alone = _neighborhoods(run, "alone", sides, lists[0], spans[0], matched)
        knocked = _votes(run, "knocked", sides, lists, (alone, targets), spans[0], matched)
    run.wait(last=last)
    return load(matched), joined(knocked) if knocking else None


def _neighborhoods(
    run: Run,
    name: str,
    sides: Sides,
    lists: Result,
    spans: list[tuple[int, int]],
    without: Result | None = None,
) -> Neighborhoods:
    shared = {"sides": sides, "lists": lists, "without": without}
    tasks = run.stage("neighborhoods", stages.neighborhoods, _calls(f"{name}-", spans), **shared)
    return Neighborhoods(tasks, [start for start, _ in spans])


def _votes(
    run: Run,
    kind: str,
    sides: Sides,
    lists: tuple[Result, Result],
    means: tuple[Neighborhoods, Neighborhoods],
    spans: list[tuple[int, int]],
    without: Result | None = None,
) -> list[Result]:
    shared = {"sides": sides, "lists": lists, "means": means, "without": without}
    return run.stage(kind, stages.votes, _calls("", spans), **shared)


def _calls(name: str, spans: list[tuple[int, int]]) -> dict[str, Call]:
    return {
        f"{name}{number:04}": Call({"span": span}, span[1] - span[0])
        for number, span in enumerate(spans)
    }


@hints(seconds=1e-4, memory=100 * NEAREST)
def match(job: Job, votes: list[Result], size: int) -> None:
    """Match candidates one to one; ``partner (size,)`` is the target of each source, or -1."""
    pairs = joined(votes).matched()
    partner = np.full(size, -1, dtype=np.int64)
    partner[pairs.source] = pairs.target
    job.save(source=pairs.source, target=pairs.target, score=pairs.score, partner=partner)


def load(task: Result) -> Scores:
    return Scores(*(np.asarray(task.array(name)) for name in ("source", "target", "score")))


def joined(tasks: Sequence[Result]) -> Scores:
    """Join the candidates of several tasks."""
    return Scores.joined(map(load, tasks))
