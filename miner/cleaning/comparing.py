"""Stages of filters that compare all pairs, and of the selection of the best pairs.

Each piece of a text emits its best pair for each key, so that a repeated text fills no partition.
One task per key partition finds the best pairs of all pieces, or a single task ranks or compares
all pairs. The scores return to the pieces in their order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.arrays import temporary_array
from miner.cleaning.bitexts import Piece
from miner.cleaning.config import FilterConfig, Step
from miner.cleaning.decide import Cleaned, compared_values, decided, to_compare
from miner.cleaning.settings import EVERYTHING, Limits, Selection
from miner.filters.filter_types import GLOBAL, MODEL, Comparison, Rivals
from miner.tasks import exchange
from miner.tasks.task import Job, Result, hints

# Best pair of a key in a piece.
ENTRY = np.dtype([("key", "<u8"), ("rank", "<f8"), ("row", "<i8")])
# Pair with its rank score, row and target tokens.
RANKED = np.dtype([("rank", "<f8"), ("row", "<i8"), ("words", "<u4")])
# Pairs merged at a time: of all pieces together, and at least of each piece.
MERGED, LEAST = 1 << 19, 1 << 10


def entries(keys: np.ndarray, rank: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the best pair of each key: entries ``(e,)`` of ENTRY, by key.

    ``keys (m,) uint64``, ``rank (m,) float64``, higher is better, ``rows (m,) int64``; the first
    row wins a tie.
    """
    order = np.lexsort((rows, -rank))
    _, first = np.unique(keys[order], return_index=True)
    best = order[first]
    table = np.empty(len(best), dtype=ENTRY)
    table["key"], table["rank"], table["row"] = keys[best], rank[best], rows[best]
    return table


def best_rows(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the row of the best pair of each entry's key, for one partition over all pieces.

    ``parts`` are the entries of each piece. Returns rows ``(e,) int64`` in their order.
    """
    joined = np.concatenate([np.empty(0, dtype=ENTRY), *parts])
    order = np.lexsort((joined["row"], -joined["rank"]))
    rows = joined["row"][order]
    _, first, inverse = np.unique(joined["key"][order], return_index=True, return_inverse=True)
    best = np.empty(len(joined), dtype=np.int64)
    best[order] = rows[first[inverse]]
    return best


def answers(keys: np.ndarray, own: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the row of the best pair of each key, ``(m,) int64``.

    ``own``: the :func:`entries` of these keys, ``best (e,)``: the answer to each entry.
    """
    order = np.argsort(own["key"])
    return np.asarray(best[order][np.searchsorted(own["key"][order], keys)])


def ranked(rank: np.ndarray, rows: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs ``(m,)`` of RANKED, best first, and the sorting order."""
    order = np.lexsort((rows, -rank))
    table = np.empty(len(order), dtype=RANKED)
    table["rank"], table["row"], table["words"] = rank[order], rows[order], words[order]
    return table, order


def merged(runs: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray, list[slice]]]:
    """Merge sorted pairs of all pieces, a part at a time, so that memory stays bounded.

    ``runs``: arrays of :func:`ranked`, one for each piece. Yields for each part its pairs, best
    first; the position of each pair among them, in the order of the pieces, ``(p,)``; and the slice
    of each run that is in the part.
    """
    heads = [0] * len(runs)
    size = max(LEAST, MERGED // max(1, len(runs)))
    while any(head < len(run) for head, run in zip(heads, runs, strict=True)):
        blocks = [run[head : head + size] for head, run in zip(heads, runs, strict=True)]
        # All pairs after a block of a run follow the block's last pair, unless it ends the run.
        ends = [
            (-float(block["rank"][-1]), int(block["row"][-1]))
            for block, head, run in zip(blocks, heads, runs, strict=True)
            if head + len(block) < len(run)
        ]
        taken = [_up_to(block, min(ends)) if ends else len(block) for block in blocks]
        part = np.concatenate([b[:count] for b, count in zip(blocks, taken, strict=True)])
        order = np.lexsort((part["row"], -part["rank"]))
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        spans = [slice(head, head + count) for head, count in zip(heads, taken, strict=True)]
        heads = [span.stop for span in spans]
        yield part[order], ranks, spans


def _up_to(block: np.ndarray, end: tuple[float, int]) -> int:
    """Count the pairs of a block that do not follow ``end``, a negated rank and a row."""
    rank = -block["rank"]
    low, high = np.searchsorted(rank, end[0], "left"), np.searchsorted(rank, end[0], "right")
    return int(low + np.searchsorted(block["row"][low:high], end[1], "right"))


@dataclass(frozen=True)
class PieceScores:
    """Scores of a piece, and ``config``: the filters that computed them, with their bounds.

    ``checked``, ``rated`` and ``compared`` are the results of cheap filters, of expensive ones, if
    any, and of each filter that compares pairs.
    """

    piece: Piece
    config: FilterConfig
    checked: Result
    rated: Result | None
    compared: tuple[Result, ...] = ()

    @property
    def seconds(self) -> dict[str, float]:
        """Processor time of each filter."""
        rated = {} if self.rated is None else self.rated.value["seconds"]
        return self.checked.value["seconds"] | rated

    def decided(self) -> Cleaned:
        """Decide which rows of the piece these filters keep."""
        model = None if self.rated is None else self.rated.array("scores")
        values = (np.asarray(result.array("values")) for result in self.compared)
        return decided(self.config, self.checked.array("scores"), model, self.seconds, values)

    def sketches(self, comparison: Comparison, rows: np.ndarray) -> np.ndarray:
        if comparison.field is None:
            return np.zeros((len(rows), 0))
        return np.asarray(self.checked.array("scores")[comparison.field[0]][rows])


def comparison_of(step: Step, config: FilterConfig) -> Comparison:
    """Return the comparison of a whole-corpus filter."""
    comparison: Comparison = step.filter.build(step.settings, config.context)
    return comparison


@hints(seconds=1e-5, memory=200)
def send(
    job: Job, scores: PieceScores, step: Step | None = None, partitions: int = 1
) -> dict[str, Any]:
    """Emit the data with which a filter compares the remaining pairs of a piece.

    A filter compares the best pairs of each key, by partition, or all pairs by their keys, or all
    in order of rank, as the selection of the best does (without a ``step``).
    """
    cleaned = scores.decided()
    comparison = None if step is None else comparison_of(step, scores.config)
    if step is None:
        rows = np.flatnonzero(cleaned.kept)
        assert cleaned.rank is not None
        rank = cleaned.rank[rows]
    else:
        rows, rank = to_compare(cleaned, step)
    everywhere = scores.piece.first + rows
    job.save(rows=rows)
    if comparison is None or comparison.by == "place":
        pairs, order = ranked(rank, everywhere, cleaned.words[rows])
        job.save(pairs=pairs, order=order)
        return {}
    keys = comparison.keys(scores.sketches(comparison, rows))
    if comparison.by == "all":
        job.save(keys=keys, rank=rank)
        return {}
    for number, column in enumerate(keys.T):
        best = entries(column, rank, everywhere)
        partition = (best["key"] % np.uint64(partitions)).astype(np.int64)
        exchange.send(job, f"entries-{number}", best, partition, partitions)
    return {"columns": keys.shape[1]}


@hints(seconds=2e-6, memory=150)
def best(job: Job, sent: list[Result], partition: int) -> None:
    """Find the best pairs of a partition's keys, over all pieces."""
    for number in range(sent[0].value["columns"]):
        parts = exchange.received(sent, f"entries-{number}", partition)
        exchange.send_back(job, f"rows-{number}", best_rows(parts), parts)


@hints(seconds=2e-6, memory=150)
def together(
    job: Job, sent: list[Result], pieces: list[Piece], step: Step, config: FilterConfig
) -> None:
    """Compare all pairs at once by their keys."""
    rows = [piece.first + result.array("rows") for piece, result in zip(pieces, sent, strict=True)]
    keys, rank = (
        np.concatenate([result.array(name) for result in sent]) for name in ("keys", "rank")
    )
    starts = np.array([piece.first for piece in pieces if not piece.number])
    rivals = Rivals(np.concatenate(rows), keys=keys, rank=rank, starts=starts)
    scores = comparison_of(step, config).scores(rivals)
    exchange.send_back(job, "scores", scores, rows)


@hints(seconds=2e-6)
def rank_pairs(job: Job, sent: list[Result], selection: Selection = EVERYTHING) -> dict[str, Any]:
    """Rank each pair among all, and count the pairs that each limit of a selection keeps.

    Memory does not grow with the pairs, which come sorted by piece.
    """
    runs = [result.array("pairs") for result in sent]
    ends = np.cumsum([len(run) for run in runs])
    places = np.split(temporary_array(int(ends[-1]), np.int64, job.out), ends[:-1])
    limits = Limits(selection)
    done = 0
    for pairs, ranks, spans in merged(runs):
        start = 0
        for piece_places, span in zip(places, spans, strict=True):
            count = span.stop - span.start
            piece_places[span] = done + ranks[start : start + count]
            start += count
        done += len(pairs)
        limits.add(pairs["rank"], pairs["words"])
    job.save(**{f"places_{number}": piece_places for number, piece_places in enumerate(places)})
    return {"total": done, "kept": limits.kept}


@hints(seconds=1e-5, memory=400)
def compare(
    job: Job,
    scores: PieceScores,
    step: Step,
    sent: Result,
    found: list[Result],
    index: int,
    header: bool,
    pieces: list[Piece],
    checked: list[Result],
) -> None:
    """Score the pairs of a piece from the comparison with the pairs of all pieces.

    ``found``: results of all partitions, or the single result. ``index``: of the piece. With a
    ``header``, the first row is line 2. ``checked``: results of all ``pieces``.
    """
    comparison = comparison_of(step, scores.config)
    rows = sent.array("rows")
    rivals = Rivals(scores.piece.first + rows)
    if comparison.by == "place":
        ranks = places_of(sent, found[0], index)
        rivals = rivals._replace(place=ranks, total=found[0].value["total"])
        values = comparison.scores(rivals)
    elif comparison.by == "all":
        [values] = exchange.received(found, "scores", index)
    else:
        sketches = scores.sketches(comparison, rows)
        keys = comparison.keys(sketches)
        winners = np.empty(keys.shape, dtype=np.int64)
        for number, column in enumerate(keys.T):
            parts = exchange.received(found, f"rows-{number}", index)
            piece_entries = sent.array(f"entries-{number}")
            winners[:, number] = answers(column, piece_entries, np.concatenate(parts))
        look_up = _sketches_of(comparison, pieces, checked)
        rivals = rivals._replace(sketches=sketches, best=winners, sketches_of=look_up)
        values = comparison.scores(rivals)
    job.save(values=compared_values(step, scores.piece.rows, rows, values, header))


def places_of(sent: Result, ranking: Result, index: int) -> np.ndarray:
    """Return the ranks of a piece's pairs among all, in the order of their rows."""
    places = ranking.array(f"places-{index}")
    out = np.empty(len(places), dtype=np.int64)
    out[sent.array("order")] = places
    return out


def _sketches_of(
    comparison: Comparison, pieces: list[Piece], checked: list[Result]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that looks up sketches of rows of the whole text."""
    firsts = np.array([piece.first for piece in pieces])
    tables: dict[int, np.ndarray] = {}

    def look_up(rows: np.ndarray) -> np.ndarray:
        # Several pieces may begin at this row; only the last has rows.
        numbers = np.searchsorted(firsts, rows, side="right") - 1
        assert comparison.field is not None
        name, kind, size = comparison.field
        out = np.empty((len(rows), size), dtype=kind)
        for number in np.unique(numbers).tolist():
            if number not in tables:
                tables[number] = checked[number].array("scores")[name]
            out[numbers == number] = tables[number][rows[numbers == number] - pieces[number].first]
        return out

    return look_up


def _fields(table: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Copy fields of a structured array. numpy's own function imports its masked arrays."""
    copied = np.empty(len(table), [(name, table.dtype[name]) for name in names])
    for name in names:
        copied[name] = table[name]
    return copied


@hints(seconds=1e-6)
def gather(job: Job, scores: list[PieceScores]) -> dict[str, Any]:
    """Join the scores of all pieces, without sketches, for a report on the whole text."""
    # Scores of a piece without sketches.
    fields = {"checked": ["state", "tokens", "score"]}
    if scores[0].rated is not None:
        fields["rated"] = [*(scores[0].rated.array("scores").dtype.names or ())]
    for name, field_names in fields.items():
        tables: Iterator[Any] = (
            getattr(piece_scores, name).array("scores") for piece_scores in scores
        )
        job.join(name, (_fields(table, field_names) for table in tables))
    for level in range(len(scores[0].compared)):
        values = [piece_scores.compared[level].array("values") for piece_scores in scores]
        job.save(**{f"values_{level}": np.concatenate(values)})
    seconds: dict[str, float] = {}
    for piece_scores in scores:
        for label, time in piece_scores.seconds.items():
            seconds[label] = seconds.get(label, 0.0) + time
    return {"seconds": seconds}


def whole(gathered: Result, config: FilterConfig) -> Cleaned:
    """Decide on all rows of a text from the ``gathered`` scores of its filters."""
    model = gathered.array("rated") if config.stage(MODEL) else None
    values = (gathered.array(f"values-{level}") for level in range(len(config.stage(GLOBAL))))
    seconds = gathered.value["seconds"]
    return decided(config, gathered.array("checked"), model, seconds, values)
