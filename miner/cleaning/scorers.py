"""Scoring of rows by filters, in blocks.

A task with several threads scores in as many processes, which live until the run ends, because
starting one takes a second, and filters load models.
"""

from __future__ import annotations

import dataclasses
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.cleaning.config import FilterConfig, Step
from miner.encoder.loading import split_name
from miner.encoder.model_files import model_digest, resolve
from miner.encoder.pretrained import directory_digest
from miner.errors import MismatchError
from miner.filters import encoding
from miner.filters.filter_types import GLOBAL, MODEL, Batch, Comparison, Context, Scorer, place
from miner.json_files import read_json
from miner.libraries import installed_version
from miner.parallel import ProcessPool, processes, use_loop_threads
from miner.tasks.task import Result, fingerprint
from miner.text.file_digests import content_digest
from miner.text.language_codes import SEVERAL
from miner.text.layout import Block, Layout, RowTexts

# State of a row with repaired text, in addition to the states of `miner.text.layout`.
REPAIRED = 4
# Rows of a block, which one process scores at a time.
ROWS = 2048
# File of a task with the texts of a sample.
SAMPLE = "texts.json"


@dataclass(frozen=True)
class Scoring:
    """Scoring pass: its filters, and everything else that their scores depend on.

    The ``steps`` have no bounds. ``columns``: columns that any filter of the run reads; ``files``:
    digests of models and of files in settings; ``samples``: tasks that sampled the text. ``first``:
    first pass over a text, whose records hold more than scores; ``sketched``: whole-corpus filters
    that it computes sketches for. ``by_row``: each row has its own bounds.
    """

    steps: tuple[Step, ...]
    context: Context
    repair: bool
    columns: tuple[int | str, ...]
    files: tuple[tuple[str, str | None], ...]
    libraries: Mapping[str, str]
    samples: tuple[Result, ...] = ()
    first: bool = False
    sketched: tuple[Step, ...] = ()
    by_row: bool = False

    @classmethod
    def of(
        cls, config: FilterConfig, stages: Sequence[int], samples: Sequence[Result] = ()
    ) -> Scoring:
        """Return the pass by the filters of some stages of a configuration."""
        steps = tuple(step.unbounded for step in config.steps if step.filter.stage in stages)
        context = config.context
        if MODEL not in stages:
            context = dataclasses.replace(context, model=None, identified=(None, None))
        first = GLOBAL in stages
        return cls(
            tuple(step for step in steps if step.filter.stage != GLOBAL),
            context,
            config.repair,
            tuple(config.columns),
            tuple((name, content(name)) for name in file_names(steps, context)),
            libraries(steps, config.repair),
            tuple(samples),
            first,
            tuple(step for step in steps if step.filter.stage == GLOBAL),
            # Independent of the present bounds, so that scores serve any bounds.
            [*stages] == [MODEL]
            and SEVERAL in context.likely
            and any(step.filter.bounds for step in steps),
        )

    @property
    def sketches(self) -> dict[tuple[str, str, int], Comparison]:
        """Filters whose sketches the pass computes, by `Comparison.field`."""
        comparisons = (step.filter.build(step.settings, self.context) for step in self.sketched)
        return {
            comparison.field: comparison
            for comparison in comparisons
            if comparison.field is not None
        }

    @property
    def dtype(self) -> np.dtype:
        """Record of a row.

        ``state`` (see `miner.text.layout`, and REPAIRED), and ``score``: one per step, in order.
        The first pass adds ``tokens`` of both sides, and the `sketches`; one with bounds by row
        adds a ``bound`` for each step that has them, NaN for none.
        """
        fields: list[tuple[str, str, int]] = [("state", "u1", 1), ("score", "<f4", len(self.steps))]
        if self.first:
            fields += [("tokens", "<u4", 2), *self.sketches]
        if self.by_row:
            fields.append(
                ("bound", "<f4", sum(step.filter.bounds is not None for step in self.steps))
            )
        return np.dtype([(name, kind, (size,)) for name, kind, size in fields])

    def verify(self) -> None:
        """Raise MismatchError if a file has changed since the run began."""
        for name, digest in self.files:
            if content(name) != digest:
                raise MismatchError(
                    f"{name}: changed since the run began; restore it, or repeat the command"
                )


def file_names(steps: Iterable[Step], context: Context) -> list[str]:
    """Return the files, directories and model names that scores depend on."""
    names: list[str] = []
    for step in steps:
        names += (place(context.directory, name) for name in step.files)
        names += [context.encoder] * (step.filter.stage == MODEL)
    return list(dict.fromkeys(names))


def content(name: str) -> str | None:
    """Return the digest of a file, or of a model by its name; None if it cannot be read.

    The filter reports that when it is built.
    """
    foreign = split_name(name)
    if foreign is not None:
        directory = Path(foreign[1])
        return directory_digest(directory) if directory.is_dir() else None
    path = resolve(name)
    return model_digest(path) if path.is_dir() else content_digest(path)


def libraries(steps: Iterable[Step], repair: bool) -> dict[str, str]:
    """Return the versions of libraries, and of Python's Unicode tables, that affect scores."""
    names = {name for step in steps for name in step.filter.libraries}
    names |= {"ftfy"} if repair else set()
    versions = {"unicode": unicodedata.unidata_version}
    for name in sorted(names):
        version = installed_version(name)
        if version is not None:  # its filter says so when it is built
            versions[name] = version
    return versions


class Scorers:
    """Scorers of one pass, ready to score blocks."""

    def __init__(self, scoring: Scoring):
        scoring.verify()
        context = scoring.context
        if scoring.samples:
            context = dataclasses.replace(context, sample=_texts(scoring.samples))
        self.scorers: list[Scorer] = [
            step.filter.build(step.settings, context) for step in scoring.steps
        ]
        # Steps with equal settings, for instance with bounds per file, share their scores.
        scored = [(step.name, step.settings) for step in scoring.steps]
        self.same = [*map(scored.index, scored)]
        self.bounds = [
            step.filter.bounds(step.settings, context)
            for step in scoring.steps
            if scoring.by_row and step.filter.bounds is not None
        ]
        self.dtype, self.sketches, self.first = scoring.dtype, scoring.sketches, scoring.first
        self.repair = scoring.repair
        self.columns = list(map(str, scoring.columns))

    def __call__(self, layout: Layout, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Return records ``(n,)`` of a block, and the seconds that each step took."""
        out = np.zeros(len(block), dtype=self.dtype)
        texts = repaired(layout.texts(block), self.repair)
        more = list(zip(*texts.more, strict=True)) or [()] * len(self.columns)
        batch = Batch(texts.source, texts.target, dict(zip(self.columns, more, strict=True)))
        seconds = np.zeros(len(self.scorers))
        for column, scorer in enumerate(self.scorers):
            begun = time.process_time()
            same = self.same[column]
            out["score"][:, column] = scorer(batch) if same == column else out["score"][:, same]
            seconds[column] = time.process_time() - begun
        for column, bounds in enumerate(self.bounds):
            out["bound"][:, column] = bounds(batch)
        out["state"][:, 0] = texts.state
        if self.first:
            out["tokens"] = batch.lengths.T
            for (name, _, _), comparison in self.sketches.items():
                out[name] = comparison.sketch(batch)
        return out, seconds


def _texts(samples: Sequence[Result]) -> tuple[list[str], list[str]]:
    source: list[str] = []
    target: list[str] = []
    for sample in samples:
        some = read_json(sample.path / SAMPLE)
        source += some[0]
        target += some[1]
    return source, target


def repaired(texts: RowTexts, wanted: bool) -> RowTexts:
    """Repair texts if ``wanted``; changed rows become REPAIRED."""
    if not wanted:
        return texts
    source = list(map(encoding.repaired, texts.source, texts.target))
    target = list(map(encoding.repaired, texts.target, texts.source))
    new, old = zip(source, target, strict=True), zip(texts.source, texts.target, strict=True)
    changed = np.fromiter((a != b for a, b in zip(new, old, strict=True)), bool, len(source))
    state = np.where(changed, texts.state | REPAIRED, texts.state)
    return dataclasses.replace(texts, source=source, target=target, state=state)


# Scorers of this process by fingerprint, the last KEPT that were built, and its processes by their
# number, until the run ends.
KEPT = 2
_ready: dict[str, Scorers] = {}
_pools: dict[int, ProcessPool] = {}
_open = ExitStack()


@contextmanager
def kept_scorers() -> Iterator[None]:
    """Keep the scorers, and the processes that score, between tasks during the block."""
    try:
        yield
    finally:
        _ready.clear()
        _pools.clear()
        _open.close()


def score_blocks(
    scoring: Scoring, layout: Layout, blocks: Iterator[Block], threads: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the records of blocks, and the seconds of each step, with ``threads`` processes.

    With 1, this process scores in one thread; its numbers of threads are restored.
    """
    key = _key(scoring)
    with one_thread():
        work = ((key, scoring, layout, block) for block in blocks)
        yield from _pool(threads).in_order(_score, work)


def build(scoring: Scoring, threads: int) -> None:
    """Build the scorers of a pass, which :func:`score_blocks` then reuses."""
    with one_thread():
        list(_pool(threads).in_order(_build, [(_key(scoring), scoring)]))


def _key(scoring: Scoring) -> str:
    return fingerprint(Scorers, {"scoring": scoring})


def _pool(threads: int) -> ProcessPool:
    if threads == 1:
        return ProcessPool(None, 1)
    if threads not in _pools:
        _pools[threads] = _open.enter_context(processes(threads, _prepare))
    return _pools[threads]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit this process to one thread during the block."""
    from threadpoolctl import threadpool_limits

    before = use_loop_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        use_loop_threads(before)


def _prepare() -> None:
    """Prepare a process to score in one thread."""
    from threadpoolctl import threadpool_limits

    use_loop_threads(1)
    threadpool_limits(1)


def _build(work: tuple[str, Scoring]) -> None:
    key, scoring = work
    if key not in _ready:
        for old in [*_ready][: 1 - KEPT]:
            del _ready[old]
        _ready[key] = Scorers(scoring)


def _score(work: tuple[str, Scoring, Layout, Block]) -> tuple[np.ndarray, np.ndarray]:
    key, scoring, layout, block = work
    _build((key, scoring))
    return _ready[key](layout, block)


def broken(steps: Sequence[Step], scores: np.ndarray) -> np.ndarray:
    """Return a mask of broken bounds ``(n, len(steps)) bool`` for scores of that shape.

    NaN, a score that was not computed, breaks none. Bounds are compared in float32, like scores.
    """
    out = np.zeros(scores.shape, dtype=bool)
    for column, step in enumerate(steps):
        if step.minimum is not None:
            out[:, column] |= scores[:, column] < np.float32(step.minimum)
        if step.maximum is not None:
            out[:, column] |= scores[:, column] > np.float32(step.maximum)
    return out
