"""A whole cleaning: raw rows in, every one of them out again, kept or rejected with a reason.

Three passes over the text, none of which holds it: cheap scores of every row; dear scores of the
rows that are left; the rows themselves, to where they belong. In between, copies are told apart
and the best are chosen, by the scores alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from miner.files import StrPath, open_output
from miner.filters import duplicates
from miner.filters.base import GLOBAL, LOCAL, MODEL
from miner.filters.config import Plan, Step
from miner.filters.scoring import REPAIRED, ROWS, Job, broken, mended, prepare, repairer, score
from miner.filters.state import State, Table
from miner.parallel import processes
from miner.rows import REPLACED, UNREADABLE, Block, Rows

# Pairs of the text itself that some filters compare with.
SAMPLE = 5000
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

    @property
    def state(self) -> np.ndarray:
        """What became of each row when it was read, ``(n,) uint8``."""
        return self.local["state"][:, 0]

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
        """The scores of one step, ``(n,)``; NaN where there is none."""
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
        label = self.reasons[self.removed[row]]
        step = next((step for step in self.plan.steps if step.label == label), None)
        if step is None and label != UNREAD:
            step = self.plan.ranking  # which chose the best
        return 1 if step is None else rounded(step, float(self.scores(step.label)[row]))

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
    return int(value) if step.filter.whole else float(f"{value:.6g}")


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
    any number of ``threads``. Raises the errors of `Rows`, of the filters, and ResourceError.
    """
    files = State(state, _key(rows, plan), note)
    seconds: dict[str, float] = {}
    local_job = Job(plan, rows.layout, tuple(plan.stage(LOCAL)), first=True)
    local = files.table("local", local_job.dtype, ROWS)
    _fill(local, rows, local_job, None, threads, seconds, report)
    known = local.read()
    steps = plan.stage(LOCAL)
    passed = np.empty(len(known), dtype=bool)
    for start in range(0, len(known), PART):
        part = known[start : start + PART]
        bad = broken(steps, part["score"]).any(axis=1) | (part["state"][:, 0] & UNREADABLE > 0)
        passed[start : start + PART] = ~bad
    model = None
    if plan.stage(MODEL):
        wanted = np.ones(len(known), dtype=bool) if all_scores else passed
        job = Job(sampled(plan, rows, len(known)), rows.layout, tuple(plan.stage(MODEL)))
        # Which rows have scores depends on the bounds of cheap filters.
        digest = hashlib.blake2b(np.packbits(wanted).tobytes(), digest_size=8).hexdigest()
        table = files.table(f"model.{digest}", job.dtype, ROWS)
        _fill(table, rows, job, wanted, threads, seconds, report)
        model = table.read()
    found = Cleaned(rows, plan, known, model, seconds)
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


def _key(rows: Rows, plan: Plan) -> dict[str, Any]:
    """What scores depend on: the text, by size and time, and the plan."""
    inputs = []
    for origin in rows.origins:
        status = os.stat(origin)
        inputs.append([os.path.abspath(origin), status.st_size, status.st_mtime_ns])
    layout = dataclasses.asdict(rows.layout)
    return {"input": inputs, "layout": json.dumps(layout), "plan": plan.fingerprint(), "rows": ROWS}


def _fill(
    table: Table,
    rows: Rows,
    job: Job,
    wanted: np.ndarray | None,
    threads: int,
    seconds: dict[str, float],
    report: Report,
) -> None:
    """Score the rows that the table lacks; those not ``wanted (n,)`` get NaN."""
    seconds |= {step.label: 0.0 for step in job.steps}
    if table.complete:
        return
    stage = "reading and checking" if job.first else "scoring"
    total = rows.count if wanted is None else len(wanted)
    starts: list[tuple[int, np.ndarray | None]] = []

    def blocks() -> Iterator[Block]:
        first = table.done
        for block in rows.blocks(ROWS, skip=table.done):
            mask = None if wanted is None else wanted[first : first + len(block)]
            first += len(block)
            starts.append((len(block), mask))
            if mask is not None:
                chosen = np.flatnonzero(mask).tolist()
                # The lines of what is left are not in a row; none of them can be at fault any more.
                block = Block(block.first, [block.raw[i] for i in chosen])
            yield block

    few = rows.count is not None and rows.count <= ROWS
    with table.writer() as append, processes(1 if few else threads, prepare, job) as workers:
        for scored in workers.in_order(score, blocks()):
            size, mask = starts.pop(0)
            out = scored.rows
            if mask is not None:
                out = np.full(size, np.nan, dtype=job.dtype)
                out[mask] = scored.rows
            append(out)
            for step, time in zip(job.steps, scored.seconds.tolist(), strict=True):
                seconds[step.label] += time
            report(stage, table.done, total)


def sampled(plan: Plan, rows: Rows, count: int | None = None) -> Plan:
    """The plan with pairs of the text, spread evenly over its ``count`` rows, if it wants them."""
    if not any(step.filter.sampled and not step.settings.get("reference") for step in plan.steps):
        return plan
    if count is None:
        count = sum(len(block) for block in rows.blocks(ROWS))
    sample = _sample(rows, count)
    return dataclasses.replace(plan, context=dataclasses.replace(plan.context, sample=sample))


def _sample(rows: Rows, count: int) -> tuple[list[str], list[str]]:
    """Sources and targets of pairs spread evenly over the text; both sides of each have text."""
    chosen = set(np.unique(np.linspace(0, count - 1, min(SAMPLE, count)).astype(int)).tolist())
    source, target = [], []
    first = 0
    for block in rows.blocks(ROWS):
        own = [row for row in range(len(block)) if first + row in chosen]
        texts = rows.layout.texts(Block(block.first, [block.raw[row] for row in own]))
        for left, right in zip(texts.source, texts.target, strict=True):
            if left.strip() and right.strip():
                source.append(left)
                target.append(right)
        first += len(block)
    return source, target


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
        place = np.empty(len(rows))
        place[np.lexsort((-rows, scores))] = np.arange(len(rows))
        values[rows] = np.floor(place * 10 / max(len(rows), 1)) + 1
    elif step.name == "duplicates":
        exact = 3 * step.settings["exact"]
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
    rows, layout = found.source, found.source.layout
    with ExitStack() as stack:
        outputs = [stack.enter_context(open_output(path, binary=True)) for path in kept]
        bad = stack.enter_context(open_output(rejected, binary=True)) if rejected else None
        lines = stack.enter_context(open_output(scores)) if scores else None
        if rows.head is not None:
            outputs[0].write(rows.head + b"\n")
            if bad is not None:
                bad.write(rows.head + b"\tfilter\tvalue\n")
        repair = repairer(found.plan)
        row = 0
        for block in rows.blocks(ROWS):
            for number, raw in enumerate(block.raw):
                if found.state[row] & (REPLACED | REPAIRED):
                    one = Block(block.first + number, [raw])
                    texts, _ = mended(layout.texts(one), repair)
                    raw = layout.with_texts(raw, texts.source[0], texts.target[0])
                if found.removed[row] < 0:
                    for output, line in zip(outputs, joined(raw, len(outputs)), strict=True):
                        output.write(line + b"\n")
                elif bad is not None:
                    label = found.reasons[found.removed[row]]
                    cells = {"filter": label, "value": found.value(row)}
                    bad.write(layout.with_cells(raw, cells) + b"\n")
                if lines is not None:
                    lines.write(json.dumps(record(found, row)) + "\n")
                row += 1
            report("writing", row, found.count)


def joined(raw: tuple[bytes, ...], files: int) -> Sequence[bytes]:
    """A row for so many files: two sides become one line, with a tab between them."""
    if files == len(raw):
        return raw
    return [b"\t".join(line.replace(b"\t", b" ") for line in raw)]


def record(found: Cleaned, row: int) -> dict[str, float | int | None]:
    """All scores of a row by label; None for one that was not computed."""
    values = {step: float(found.scores(step.label)[row]) for step in found.plan.steps}
    return {
        step.label: None if np.isnan(value) else rounded(step, value)
        for step, value in values.items()
    }
