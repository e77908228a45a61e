"""Stages that compare documents: vectors, neighbourhoods of lines, votes of lines.

A document's vector is the mean of its lines' vectors, plus a sketch of its numbers, because pages
from the same template differ in little else. The best lines of two documents vote for the pair by
their margins. Neighbourhoods are computed among the nearest documents, so that a line in all of
them (a menu) has a margin of one and no vote.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.documents.collection import Name, StoredDocument, names_of, write_names
from miner.encoder.encoder_ref import EncoderRef
from miner.index.columns import SENTENCES, TextWriter, VectorWriter
from miner.index.directory import FLAT, finish
from miner.index.parts import part_texts
from miner.index.sources import Source
from miner.index.stages import EncodedSpan
from miner.kernels.numbers import find_numbers
from miner.knn.neighbors import Neighbors
from miner.ragged import offsets_of, take_lists
from miner.scoring.margin import (
    RATIO_FLOOR,
    CandidateBlocks,
    Listed,
    neighborhood_mean,
)
from miner.tasks.task import Job, Result, hints

# Nearest documents that each document is compared with line by line; and number of neighbours, of
# documents and of lines, for margins.
NEAREST, NEIGHBORS = 20, 4
# Lines of a document that are compared, from its start.
MOST_LINES = 1000
# Dimensions and weights of the sketches of numbers and of the domain, relative to the mean vector;
# weight of the margin of documents relative to the mean vote of a line. Tuned on laws and templates
# (benchmarks/LOG.md).
NUMBERS, NUMBERS_WEIGHT = 128, 0.4
DOMAIN, DOMAIN_WEIGHT = 64, 1.0
DOCUMENT = 1 / 6
# Documents whose numbers are sketched at a time; characters that identify a document's language.
BLOCK, OPENING = 1 << 14, 300


@dataclass(frozen=True)
class Documents:
    """Side: the documents that :func:`join` built from ``reads``, and the vectors of all lines."""

    task: Result
    spans: list[EncodedSpan]
    reads: list[Result]

    def places(self, rows: Sequence[int], names: Sequence[Name]) -> list[StoredDocument]:
        """Return the locations of the texts of some documents, by the names of all."""
        start, end = self.task.array("start"), self.task.array("end")
        firsts = np.cumsum([0, *(task.value["rows"] for task in self.reads)])
        at = np.searchsorted(firsts, start[rows], side="right") - 1
        places = zip(rows, at, start[rows] - firsts[at], end[rows] - firsts[at], strict=True)
        return [
            StoredDocument(self.reads[number], int(low), int(high), *names[row][:2])
            for row, number, low, high in places
        ]


class PiecedRows:
    """Rows of an array that tasks computed in pieces; ``firsts`` are the first rows of the
    pieces.
    """

    def __init__(self, firsts: Sequence[int], arrays: Sequence[np.ndarray]):
        self._firsts, self._arrays = firsts, arrays

    def rows(self, first: int, end: int) -> np.ndarray:
        """Return the rows from ``first`` to ``end`` (exclusive, at least one row) as float32."""
        number = int(np.searchsorted(self._firsts, first, side="right")) - 1
        parts = []
        while first < end:
            low = self._firsts[number]
            parts.append(self._arrays[number][first - low : end - low])
            first, number = first + len(parts[-1]), number + 1
        return np.concatenate(parts, dtype=np.float32)


class Lines:
    """Vectors of the compared lines: the first ``MOST_LINES`` of each document.

    ``offsets (n + 1,)``: positions of the documents' lines among all compared lines.
    """

    def __init__(self, side: Documents):
        self._start = side.task.array("start")
        self._length = np.minimum(side.task.array("end") - self._start, MOST_LINES)
        self.offsets = offsets_of(self._length)
        self._vectors = _vectors(side.spans)

    def of(self, document: int) -> np.ndarray:
        """Return the vectors of a document's lines, ``(m, d) float32``."""
        first = int(self._start[document])
        return self._vectors.rows(first, first + int(self._length[document]))


def _vectors(spans: Sequence[EncodedSpan]) -> PiecedRows:
    return PiecedRows(
        [span.first for span in spans], [span.task.array("vectors") for span in spans]
    )


@hints(seconds=1e-5, memory=200)
def join(
    job: Job,
    reads: list[Result],
    spans: list[EncodedSpan],
    model: EncoderRef,
    dimension: int,
    grouped: bool,
) -> dict[str, Any]:
    """Build an index of the documents of one side, with a vector for each.

    Its sentences are the openings of the documents. ``start`` and ``end (n,)`` are the rows of
    their lines. A document with the id of an earlier one is skipped and counted. ``grouped``:
    vectors of the same domain are close. ``dimension`` is the model's.
    """
    names: dict[str, tuple[str, str, str]] = {}
    edges, openings, values, counts = [], [], [], []
    first = repeated = 0
    for task in reads:
        rows, texts, task_edges = [], part_texts(task), task.array("edges")
        for row, name in enumerate(names_of(task.path)):
            if name[0] in names:
                repeated += 1
                continue
            names[name[0]] = name
            rows.append(row)
            opening = texts.slice(
                task_edges[row], min(task_edges[row] + NEIGHBORS, task_edges[row + 1])
            )
            openings.append(" ".join(opening)[:OPENING])
        offsets = task.array("offset")
        numbers, places = find_numbers(
            np.fromfile(task.path / SENTENCES, np.uint8), offsets[task_edges]
        )
        numbers, places = take_lists(numbers, places, np.array(rows, dtype=np.int64))
        values.append(numbers)
        counts.append(np.diff(places))
        edges.append(first + np.stack([task_edges[:-1][rows], task_edges[1:][rows]]))
        first += task.value["rows"]
    start, end = np.concatenate(edges, axis=1)
    domains = [domain for _, _, domain in names.values()]
    number = np.arange(1, len(names) + 1)
    writer = TextWriter(job.out)
    writer.append(openings, list(map(str, number.tolist())), number)
    extra = NUMBERS + DOMAIN * grouped
    writer.close(dimension + extra, number - 1)
    lines = _vectors(spans)
    sketched = _sketched(np.concatenate(values), offsets_of(np.concatenate(counts)))
    with VectorWriter(job.out) as output:
        for low, sketch in sketched:
            part = slice(low, low + len(sketch))
            bounds = zip(start[part].tolist(), end[part].tolist(), strict=True)
            mean = _unit(np.stack([lines.rows(*both).mean(axis=0) for both in bounds]))
            vectors = _unit(np.concatenate([mean, NUMBERS_WEIGHT * sketch], axis=1))
            if grouped:
                codes = np.stack([_signs(domain, DOMAIN) for domain in domains[part]])
                vectors = _unit(np.concatenate([vectors, DOMAIN_WEIGHT * codes], axis=1))
            output.append(vectors)
            job.report("joining documents", part.stop, len(names))
    sources = [Source(**task.value["source"]) for task in reads]
    finish(job.out, model.as_dict(), sources, FLAT, job.report)
    write_names(job.out, list(names.values()))
    digests = b"".join(
        hashlib.blake2b(domain.encode(), digest_size=8).digest() for domain in domains
    )
    job.save(start=start, end=end, domain=np.frombuffer(digests, np.uint64))
    return {"grouped": grouped, "repeated": repeated, "documents": len(names)}


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: np.ndarray = vectors / np.maximum(length, 1e-9)
    return scaled


def _signs(domain: str, size: int) -> np.ndarray:
    """Return a unit vector of a domain, ``(size,)``, nearly orthogonal to other domains'."""
    bits = hashlib.blake2b(domain.encode(), digest_size=size // 8).digest()
    return (2.0 * np.unpackbits(np.frombuffer(bits, np.uint8)) - 1) / np.sqrt(size)


def _sketched(values: np.ndarray, offsets: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield sketches of the documents' numbers in blocks: the first row, and ``(b, NUMBERS)``.

    A sketch has unit length, or is zero without numbers. Numbers are weighted by inverse document
    frequency: the single number that distinguishes two pages outweighs the others.
    """
    size = len(offsets) - 1
    known, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    weight = np.log((size + 1) / count)
    mixed = (known + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    column = ((mixed >> np.uint64(33)) % np.uint64(NUMBERS)).astype(np.int64)[inverse]
    weight = np.where(mixed >> np.uint64(63), weight, -weight)[inverse]
    for low in range(0, size, BLOCK):
        high = min(low + BLOCK, size)
        part = slice(offsets[low], offsets[high])
        row = np.repeat(np.arange(high - low), np.diff(offsets[low : high + 1]))
        cells = np.bincount(
            row * NUMBERS + column[part], weight[part], minlength=(high - low) * NUMBERS
        )
        yield low, _unit(cells.reshape(-1, NUMBERS))


def near(
    own: Documents, other: Documents, lists: Result, without: np.ndarray | None = None
) -> Neighbors:
    """Return the nearest documents of each document, in its domain, best first.

    ``without (n,)``: a document to skip in each list, -1 for none.
    """
    row, similarity = np.array(lists.array("row")), np.array(lists.array("similarity"))
    if own.task.value["grouped"]:
        domains = own.task.array("domain"), other.task.array("domain")
        row[domains[0][:, None] != domains[1][row]] = -1
        share = DOMAIN_WEIGHT**2
        similarity = similarity * (1 + share) - share  # of the vectors without the domain's part
    if without is not None:
        row[row == without[:, None]] = -1
    order = np.argsort(row < 0, axis=1, kind="stable")
    return Neighbors(*(np.take_along_axis(part, order, axis=1) for part in (similarity, row)))


@hints(seconds=1e-3, memory=4 * NEAREST * NEAREST)
def neighborhoods(
    job: Job,
    sides: tuple[Documents, Documents],
    lists: Result,
    span: tuple[int, int],
    without: Result | None = None,
) -> None:
    """Average the similarities of each line to the nearest lines of the nearest documents.

    ``sides`` begin with the side of the lines; ``span``: its documents, ``lists``: their nearest
    documents. ``without`` has ``partner (n,)``: the document of the other side to skip.
    """
    left, right = Lines(sides[0]), Lines(sides[1])
    nearest = near(*sides, lists, None if without is None else without.array("partner")).row
    means = [np.empty(0, dtype=np.float32)]
    for document in range(*span):
        lines, near_by = left.of(document), nearest[document]
        near_by = near_by[near_by >= 0].tolist()
        if not near_by:
            means.append(np.zeros(len(lines), dtype=np.float32))
            continue
        products = lines @ np.concatenate([right.of(neighbor) for neighbor in near_by]).T
        best = -min(NEIGHBORS, products.shape[1])
        means.append(np.partition(products, best, axis=1)[:, best:].mean(axis=1))
        job.report("comparing documents", document - span[0], span[1] - span[0])
    job.save(mean=np.concatenate(means))


@dataclass(frozen=True)
class Neighborhoods:
    """Results of :func:`neighborhoods` for one side; ``firsts``: first document of each task."""

    tasks: list[Result]
    firsts: list[int]

    def open(self, lines: Lines) -> PiecedRows:
        firsts = lines.offsets[self.firsts].tolist()
        return PiecedRows(firsts, [task.array("mean") for task in self.tasks])


@hints(seconds=1e-3, memory=100 * NEAREST)
def votes(
    job: Job,
    sides: tuple[Documents, Documents],
    lists: tuple[Result, Result],
    means: tuple[Neighborhoods, Neighborhoods],
    span: tuple[int, int],
    without: Result | None = None,
) -> None:
    """Score the candidates of the source documents ``span``: ``source``, ``target``, ``score``.

    ``without`` has ``partner (n,)``: the document to skip for each source.
    """
    partner = None if without is None else without.array("partner")
    forward = near(*sides, lists[0], partner)
    backward = near(sides[1], sides[0], lists[1])
    blocks = CandidateBlocks(forward, Listed.of(backward, len(forward)))
    blocks.means = _mean_of_few(forward), _mean_of_few(backward)
    candidates = blocks.block(*span)
    if partner is not None:
        candidates = candidates.take(candidates.target_row != partner[candidates.source_row])
    left, right = Lines(sides[0]), Lines(sides[1])
    mean_of = means[0].open(left), means[1].open(right)
    vote = np.empty(len(candidates))
    at = -1
    for position, (source, target) in enumerate(
        zip(candidates.source_row.tolist(), candidates.target_row.tolist(), strict=True)
    ):
        if source != at:
            at, lines = source, left.of(source)
            mean = mean_of[0].rows(*left.offsets[source : source + 2].tolist())
            job.report("comparing documents", source - span[0], span[1] - span[0])
        others = mean_of[1].rows(*right.offsets[target : target + 2].tolist())
        vote[position] = mean_vote(lines @ right.of(target).T, mean, others)
    score = vote + DOCUMENT * candidates.margin_ratio
    job.save(source=candidates.source_row, target=candidates.target_row, score=score)


def _mean_of_few(lists: Neighbors) -> np.ndarray:
    few = Neighbors(lists.similarity[:, :NEIGHBORS], lists.row[:, :NEIGHBORS])
    return neighborhood_mean(few)


def mean_vote(products: np.ndarray, mean: np.ndarray, others: np.ndarray) -> float:
    """Return the mean vote of the lines of two documents, from their cosines ``products (m, n)``.

    ``mean (m,)`` and ``others (n,)`` are the lines' neighbourhoods. Two lines that are each other's
    best by margin vote with their margin minus one, if positive. The sum is divided by the
    geometric mean of m and n.
    """
    margin = products / np.maximum((mean[:, None] + others) / 2, RATIO_FLOOR)
    best = margin.argmax(axis=1)
    row = np.arange(len(margin))
    mutual = margin.argmax(axis=0)[best] == row
    gain = np.maximum(margin[row, best] - 1, 0)
    return float(gain[mutual].sum() / np.sqrt(margin.size))
