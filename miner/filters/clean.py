"""A whole cleaning: raw rows in, every one of them out again, kept or rejected with a reason.

Three passes over the text, none of which holds it: cheap scores of every row; dear scores of the
rows that are left; the rows themselves, to where they belong. In between, copies are told apart
and the best are chosen, by the scores alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from typing import IO, Any

import numpy as np

from miner.files import StrPath, all_or_none, open_output, stamp
from miner.filters import duplicates
from miner.filters.base import GLOBAL, LOCAL, MODEL
from miner.filters.config import Plan, Step
from miner.filters.scoring import REPAIRED, ROWS, Job, broken, mended, repairer, score, scorers
from miner.filters.state import State, Table
from miner.parallel import Processes
from miner.rows import REPLACED, UNREADABLE, Block, Raw, Rows

# The reason that is not a filter: a row that could not be read.
UNREAD = "unreadable"
# Rows that are looked at together where only their scores are.
PART = 1 << 20

# (what is being done, rows done, rows in all or None)
Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Choice:
    """How much to keep of what the filters leave: the best, by the score that ranks.

    top: so many pairs. words: pairs with so many tokens on the target's side. precision: as many
    as this share of which are good by estimate: their mean quality. Where several are given, the
    least of them is kept; where none, all.
    """

    top: int | None = None
    words: int | None = None
    precision: float | None = None

    def of_a(self, share: float) -> Choice:
        """The same choice for a sample that is this share of the text."""
        top, words = (
            None if count is None else round(count * share) for count in (self.top, self.words)
        )
        return Choice(top, words, self.precision)

    @property
    def any(self) -> bool:
        return (self.top, self.words, self.precision) != (None, None, None)


@dataclass(frozen=True)
class Stage:
    """What one filter did: a row of the waterfall.

    label, bounds: as text. reason: what it says of a pair. seen: the pairs it looked at. alone:
    how many of those it would remove by itself. removed: how many it removed, of those that no
    earlier one did; removed_words: their tokens on the target's side. left, left_words: after it.
    seconds: of one processor, in this run.
    """

    label: str
    bounds: str
    seen: int
    alone: int
    removed: int
    removed_words: int
    left: int
    left_words: int
    seconds: float


class Cleaned:
    """The result: every score, and what became of every row.

    plan: what was run. rows: how many there are. removed: ``(n,) int16``: -1 for a row that is
    kept, else the place in `reasons` of what removed it. stages: the waterfall.
    """

    def __init__(
        self,
        rows: Rows,
        plan: Plan,
        local: np.ndarray,
        model: np.ndarray | None,
        seconds: dict[str, float],
    ):
        self.source, self.plan = rows, plan
        self.local, self.model = local, model
        self.count = len(local)
        self.seconds = seconds
        self.removed = np.full(self.count, -1, dtype=np.int16)
        # Scores that only a comparison of all pairs gives, by label; NaN for pairs not compared.
        self.compared: dict[str, np.ndarray] = {}
        self.reasons: list[str] = []
        self.stages: list[Stage] = []

    @cached_property
    def state(self) -> np.ndarray:
        """What became of each row when it was read, ``(n,) uint8``."""
        return np.array(self.local["state"][:, 0])

    @cached_property
    def words(self) -> np.ndarray:
        """Tokens on the target's side, ``(n,) uint32``."""
        return np.array(self.local["tokens"][:, 1])

    @property
    def repaired(self) -> int:
        """How many rows had their text repaired."""
        return int(np.count_nonzero(self.state & REPAIRED))

    @property
    def precision(self) -> float | None:
        """The mean quality of the pairs kept, if that ranks: by estimate the share of good ones."""
        step = self.plan.ranking
        if step is None or step.name != "quality" or self.rank is None or not self.kept.any():
            return None
        return float(self.rank[self.kept].mean())

    @property
    def kept(self) -> np.ndarray:
        """Which rows are kept, ``(n,) bool``."""
        return self.removed < 0

    def scores(self, label: str) -> np.ndarray:
        """The scores of one step, ``(n,)``; NaN where there is none.

        Raises KeyError for a label that is no step's, or one that compares pairs before it has.
        """
        if label in self.compared:
            return self.compared[label]
        for stage, table in ((LOCAL, self.local), (MODEL, self.model)):
            labels = [step.label for step in self.plan.stage(stage)]
            if label in labels:
                assert table is not None
                return np.asarray(table["score"][:, labels.index(label)])
        raise KeyError(label)

    @cached_property
    def rank(self) -> np.ndarray | None:
        """The score that tells better pairs from worse, ``(n,) float64``, higher is better."""
        step = self.plan.ranking
        if step is None:
            return None
        values = self.scores(step.label).astype(np.float64)
        return values if step.filter.better == "higher" else -values

    def value(self, row: int) -> float | int:
        """The score that removed a row."""
        step, scores = self._causes[self.removed[row]]
        return 1 if step is None else rounded(step, float(scores[row]))

    @cached_property
    def _causes(self) -> list[tuple[Step | None, np.ndarray]]:
        """Of each reason the step whose scores removed rows, with the scores; None for unread."""
        steps = {step.label: step for step in self.plan.steps}
        found: list[tuple[Step | None, np.ndarray]] = []
        for label in self.reasons:
            # What is no filter chose the best, unless the row could not be read.
            step = None if label == UNREAD else steps.get(label, self.plan.ranking)
            found.append((step, self.words if step is None else self.scores(step.label)))
        return found

    def _remove(
        self, label: str, bounds: str, seen: np.ndarray, bad: np.ndarray, seconds: float = 0.0
    ) -> None:
        """Note what a filter removes: those ``bad (n,)`` of the ``seen (n,)`` that are left."""
        left = self.removed < 0
        gone = left & bad
        self.removed[gone] = len(self.reasons)
        self.reasons.append(label)
        left &= ~bad
        self.stages.append(
            Stage(
                label,
                bounds,
                int(seen.sum()),
                int((bad & seen).sum()),
                int(gone.sum()),
                int(self.words[gone].sum()),
                int(left.sum()),
                int(self.words[left].sum()),
                seconds,
            )
        )


def rounded(step: Step, value: float) -> float | int:
    """A score as it is written: a whole number, or with six digits."""
    whole = step.filter.whole and math.isfinite(value)
    return int(value) if whole else float(f"{value:.6g}")


def clean(
    rows: Rows,
    plan: Plan,
    state: StrPath,
    *,
    choice: Choice = Choice(),
    all_scores: bool = False,
    threads: int = 1,
    report: Report = lambda stage, done, total: None,
    note: Callable[[str], None] = lambda text: None,
) -> Cleaned:
    """Score all rows and decide on each.

    Scores go to files in the directory ``state``, from which a run that was killed goes on. Dear
    filters look only at what cheap ones leave, unless ``all_scores``. The result is the same for
    any number of ``threads``, each a process of its own; a script that calls this needs no
    ``if __name__ == "__main__"``. Raises the errors of `Rows`, of the filters, and ResourceError.
    """
    seconds = dict.fromkeys((step.label for step in plan.steps), 0.0)
    jobs = [
        Job(plan, rows.layout, tuple(plan.stage(LOCAL)), first=True),
        Job(sampled(plan, rows), rows.layout, tuple(plan.stage(MODEL))),
    ]
    with State(state, _key(rows, plan), note) as files:
        cheap = files.table("local", jobs[0].dtype, ROWS)
        if cheap.complete:
            rows.count = cheap.done
        with scorers(jobs if jobs[1].steps else jobs[:1], threads, rows.at_most(ROWS)) as workers:
            fill = partial(_fill, rows=rows, jobs=jobs, workers=workers, seconds=seconds)
            fill(cheap, 0, None, report=report)
            local, model = cheap.read(), None
            rows.count = len(local)
            if jobs[1].steps:
                wanted = np.ones(len(local), dtype=bool) if all_scores else _passed(plan, local)
                table, others = _dear(files, jobs[1], wanted)
                todo = wanted.copy()
                for other in others:
                    todo &= np.isnan(other["score"][:, 0])
                if table.complete or todo.any():
                    fill(table, 1, (wanted, todo, others), report=report)
                else:  # which needs no process
                    with table.writer() as append:
                        for start in range(table.done, len(wanted), PART):
                            append(_known(table.dtype, wanted, others, slice(start, start + PART)))
                model = table.read()
    found = Cleaned(rows, plan, local, model, seconds)
    _decide(found, choice)
    return found


def unbounded(found: Cleaned) -> Cleaned:
    """The cleaning as if the score that ranks had no bound, and without a choice of the best.

    A threshold keeps those of its pairs that reach it: the best copy stays, so that what goes for
    a copy below a threshold is below it, too. (Deciles are another matter.) Of pairs that a cheap
    bound kept from the dear filters it is not known what those would do; they pass.
    """
    plan = found.plan.with_bound(None)
    other = Cleaned(found.source, plan, found.local, found.model, found.seconds)
    _decide(other, Choice())
    return other


def _passed(plan: Plan, local: np.ndarray) -> np.ndarray:
    """Which rows cheap filters leave, ``(n,) bool``."""
    steps = plan.stage(LOCAL)
    out = np.empty(len(local), dtype=bool)
    for start in range(0, len(local), PART):
        part = local[start : start + PART]
        bad = broken(steps, part["score"]).any(axis=1) | (part["state"][:, 0] & UNREADABLE > 0)
        out[start : start + PART] = ~bad
    return out


def _dear(files: State, job: Job, wanted: np.ndarray) -> tuple[Table, list[np.ndarray]]:
    """The table for the scores of the rows ``wanted (n,) bool``, and others that know some of them.

    Which are wanted depends on the bounds of cheap filters, so that each choice has its table.
    """
    digest = hashlib.blake2b(np.packbits(wanted).tobytes(), digest_size=8).hexdigest()
    others = [table.read() for table in files.tables("model", job.dtype, ROWS) if table.complete]
    return files.table(f"model.{digest}", job.dtype, ROWS), others


def _key(rows: Rows, plan: Plan) -> dict[str, Any]:
    """What scores depend on: the text, by size and time, and the plan."""
    inputs = [[os.path.abspath(origin), stamp(origin)] for origin in rows.origins]
    layout = dataclasses.asdict(rows.layout)
    return {"input": inputs, "layout": json.dumps(layout), "plan": plan.fingerprint(), "rows": ROWS}


def _fill(
    table: Table,
    number: int,
    choice: tuple[np.ndarray, np.ndarray, list[np.ndarray]] | None,
    *,
    rows: Rows,
    jobs: Sequence[Job],
    workers: Processes,
    seconds: dict[str, float],
    report: Report,
) -> None:
    """Score the rows that the table lacks, by the job of this ``number``.

    All of them, or by ``choice`` the rows that are wanted ``(n,) bool``, those of them that are to
    do, and tables that know the others; what is not wanted gets NaN.
    """
    if table.complete:
        return
    job = jobs[number]
    stage = "reading and checking" if job.first else "scoring"
    # Of the blocks that are worked on, what is known of each, and which rows are asked for.
    waiting: deque[tuple[np.ndarray, np.ndarray]] = deque()

    def blocks() -> Iterator[tuple[int, Block]]:
        first = table.done
        for block in rows.blocks(ROWS, skip=first):
            part = slice(first, first + len(block))
            if choice is None:
                known, mask = np.zeros(len(block), job.dtype), np.ones(len(block), dtype=bool)
            else:
                wanted, todo, others = choice
                known, mask = _known(job.dtype, wanted, others, part), todo[part]
                chosen = np.flatnonzero(mask).tolist()
                # The lines of what is left are not in a row; none of them can be at fault any more.
                block = Block(block.first, [block.raw[i] for i in chosen])
            first = part.stop
            waiting.append((known, mask))
            yield number, block

    with table.writer() as append:
        for scored in workers.in_order(score, blocks()):
            out, mask = waiting.popleft()
            out[mask] = scored.rows
            append(out)
            for step, time in zip(job.steps, scored.seconds.tolist(), strict=True):
                seconds[step.label] += time
            report(stage, table.done, rows.count)


def _known(
    dtype: np.dtype, wanted: np.ndarray, others: list[np.ndarray], part: slice
) -> np.ndarray:
    """Of the rows ``wanted (n,)`` in ``part`` the scores that other tables have; NaN of the rest.

    All scores of a row are there, or none.
    """
    out = np.full(len(wanted[part]), np.nan, dtype=dtype)
    for other in others:
        there = wanted[part] & ~np.isnan(other["score"][part, 0])
        out[there] = other[part][there]
    return out


def sampled(plan: Plan, rows: Rows) -> Plan:
    """The plan with pairs of the text, spread evenly over its rows, if it wants them."""
    wanted = [
        step.settings["pairs"]
        for step in plan.steps
        if step.filter.sampled and not step.settings["reference"]
    ]
    if not wanted:
        return plan
    source, target = [], []
    repair = repairer(plan.repair)
    for block in rows.spread(0 if 0 in wanted else max(wanted)):
        texts, _ = mended(rows.layout.texts(block), repair)
        if texts.source[0].strip() and texts.target[0].strip():
            source += texts.source
            target += texts.target
    context = dataclasses.replace(plan.context, sample=(source, target))
    return dataclasses.replace(plan, context=context)


def _decide(found: Cleaned, choice: Choice) -> None:
    """What becomes of each row, filter by filter."""
    everything = np.ones(found.count, dtype=bool)
    unread = (found.state & UNREADABLE) > 0
    if unread.any():
        found._remove(UNREAD, "", everything, unread)
    for stage, table in ((LOCAL, found.local), (MODEL, found.model)):
        for step in found.plan.stage(stage):
            assert table is not None
            values = found.scores(step.label)
            bad = broken([step], values[:, None])[:, 0]
            seen = ~np.isnan(values) & ~unread
            found._remove(step.label, step.bounds(), seen, bad & seen, found.seconds[step.label])
    for step in found.plan.stage(GLOBAL):
        _compare(found, step)
    if choice.any:
        _choose(found, choice)


def _compare(found: Cleaned, step: Step) -> None:
    """A filter that compares all pairs that are left."""
    rows = np.flatnonzero(found.kept)
    rank = np.zeros(len(rows)) if found.rank is None else found.rank[rows]
    values = np.full(found.count, np.nan)
    if step.name == "decile":
        scores = found.scores(step.settings["of"])[rows]
        of = next(other for other in found.plan.steps if other.label == step.settings["of"])
        scores = scores if of.filter.better == "higher" else -scores
        place = np.empty(len(rows))
        place[np.lexsort((-rows, scores))] = np.arange(len(rows))
        values[rows] = np.floor(place * 10 / max(len(rows), 1)) + 1
    elif step.name == "duplicates":
        ways = {other.settings["exact"] for other in found.plan.steps if other.name == step.name}
        exact = 3 * sorted(ways).index(step.settings["exact"])
        keys = found.local["key"][rows][:, exact : exact + 3]
        copy = duplicates.copies(step.settings["of"], keys, rank, rows)
        first = 1 + (found.source.head is not None)
        values[rows] = np.where(copy >= 0, copy + first, 0)
    else:
        values[rows] = duplicates.near_copies(found.local["signature"][rows], rank, rows)
    found.compared[step.label] = values
    bad = np.zeros(found.count, dtype=bool)
    bad[rows] = broken([step], values[rows, None])[:, 0]
    found._remove(step.label, step.bounds(), ~np.isnan(values), bad)


def _choose(found: Cleaned, choice: Choice) -> None:
    """Keep the best of what is left."""
    assert found.rank is not None
    rows = np.flatnonzero(found.kept)
    order = np.lexsort((rows, -found.rank[rows]))
    best = rows[order]
    keep = {}
    if choice.top is not None:
        keep["top-n", f"{choice.top:,}"] = min(choice.top, len(best))
    if choice.words is not None:
        words = np.cumsum(found.words[best], dtype=np.int64)
        keep["target-words", f"{choice.words:,}"] = int(
            np.searchsorted(words, choice.words, "right")
        )
    if choice.precision is not None:
        means = np.cumsum(found.rank[best]) / np.arange(1, len(best) + 1)
        # Means of a descending list descend.
        kept = int(np.searchsorted(-means, -choice.precision, side="right"))
        keep["target-precision", f">= {choice.precision:g}"] = kept
    for (label, bounds), count in keep.items():
        bad = np.zeros(found.count, dtype=bool)
        bad[best[count:]] = True
        seen = np.zeros(found.count, dtype=bool)
        seen[best] = True
        found._remove(label, bounds, seen, bad)


def write(
    found: Cleaned,
    kept: Sequence[StrPath],
    rejected: StrPath | None = None,
    scores: StrPath | None = None,
    report: Report = lambda stage, done, total: None,
) -> None:
    """Write the rows to where they belong: each once, in order, all columns as they stand.

    ``kept``: one file, or one for each side. ``rejected``: rows with the name of the filter that
    removed them and their score at their ends. ``scores``: a JSON object of all scores for each
    row, one a line. All appear whole, or not at all. Raises ResourceError.
    """
    rows = found.source
    with all_or_none() as together, ExitStack() as stack:

        def opened(path: StrPath) -> IO[bytes]:
            return stack.enter_context(open_output(path, binary=True, together=together))

        outputs = [opened(path) for path in kept]
        bad = opened(rejected) if rejected else None
        lines = opened(scores) if scores else None
        if rows.head is not None:
            outputs[0].write(rows.head + b"\n")
            if bad is not None:
                bad.write(rows.head + b"\tfilter\tvalue\n")
        repair = repairer(found.plan.repair)
        done = 0
        for block in rows.blocks(ROWS):
            raws = _written(found, block, done, repair)
            removed = found.removed[done : done + len(block)].tolist()
            stay = [raw for raw, reason in zip(raws, removed, strict=True) if reason < 0]
            for output, side in zip(outputs, _joined(stay, len(outputs)), strict=True):
                output.write(_text(side))
            if bad is not None:
                gone = []
                for row, (raw, reason) in enumerate(zip(raws, removed, strict=True), done):
                    if reason >= 0:
                        cells = {"filter": found.reasons[reason], "value": found.value(row)}
                        gone.append(rows.layout.with_cells(raw, cells))
                bad.write(_text(gone))
            if lines is not None:
                part = slice(done, done + len(block))
                lines.write(_text(score_lines(found, part)))
            done += len(block)
            report("writing", done, found.count)


def _written(
    found: Cleaned, block: Block, first: int, repair: Callable[[str], str] | None
) -> list[Raw]:
    """The rows of a block as they are written: those as they stand whose texts were not changed."""
    layout = found.source.layout
    raws = list(block.raw)
    changed = found.state[first : first + len(block)] & (REPLACED | REPAIRED)
    for number in np.flatnonzero(changed).tolist():
        texts, _ = mended(layout.texts(Block(block.first + number, [raws[number]])), repair)
        raws[number] = layout.with_texts(raws[number], texts.source[0], texts.target[0])
    return raws


def _joined(raws: list[Raw], files: int) -> list[list[bytes]]:
    """The lines for each of so many files: two sides become one line, with a tab between them."""
    if raws and files < len(raws[0]):
        return [[b"\t".join(line.replace(b"\t", b" ") for line in raw) for raw in raws]]
    return [[raw[file] for raw in raws] for file in range(files)]


def _text(lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n" if lines else b""


def score_lines(found: Cleaned, part: slice) -> list[bytes]:
    """All scores of some rows as JSON, by label; null for one not computed, or infinite."""
    columns = []
    for step in found.plan.steps:
        form = "%d" if step.filter.whole else "%.6g"
        values = found.scores(step.label)[part].tolist()
        columns.append([form % value if math.isfinite(value) else "null" for value in values])
    # Written by hand, which takes a fifth of the time.
    labels = [json.dumps(step.label).replace("%", "%%") for step in found.plan.steps]
    line = "{" + ", ".join(f"{label}: %s" for label in labels) + "}"
    return [(line % values).encode() for values in zip(*columns, strict=True)]
