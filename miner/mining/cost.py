"""Cost of a mining: the pipeline's tasks, registered but not run, at the rates of a small mining.

Both sides' heads are mined with one thread. A :class:`Ledger` then registers the tasks of the whole
mining; the cost per unit, or per row, of each kind is that of the small one.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast

from miner.encoder.encoder_ref import EncoderRef, lent
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.index.build import SideText, index_texts
from miner.index.index import Index
from miner.index.text_files import TextFile
from miner.knn.settings import SearchSettings
from miner.mining import pipeline
from miner.mining.choices import pairs_for_hybrid, verifier_for
from miner.mining.keep import Keep
from miner.option_values import SIDES
from miner.scoring.languages import Identified
from miner.scoring.verifier import Verifier
from miner.tasks.record import record
from miner.tasks.run import Call, Run, RunOptions, open_run
from miner.tasks.task import Function, Result, memory_of
from miner.tasks.workers import Workers
from miner.text.corpus import CorpusReader
from miner.text.durable import scratch_directory
from miner.text.output import open_output

# Sentences of each side, in two parts, to measure rates on.
SAMPLE = 8192
# Kinds of task whose output does not grow with the number of sentences.
CONSTANT = "probe", "decoys", "recall"
LANGUAGES = Identified(()), Identified(())


@dataclass
class Cost:
    """Tasks of one kind: their number, units and rows, core-seconds and bytes written in all.

    ``memory``: bytes of the largest task.
    """

    kind: str
    tasks: int = 0
    units: float = 0.0
    rows: float = 0.0
    memory: float = 0.0
    core_seconds: float = 0.0
    disk: float = 0.0

    def add(self, function: Function, units: float, rows: float) -> None:
        """Count one more task."""
        self.tasks, self.units, self.rows = self.tasks + 1, self.units + units, self.rows + rows
        self.memory = max(self.memory, memory_of(function, rows))


@dataclass(frozen=True)
class Sample:
    """Measured costs of a small mining, by kind, and the value of the task that chose decoys."""

    costs: Mapping[str, Cost]
    decoys: Mapping[str, Any]


@dataclass(frozen=True)
class _Expected:
    """Result of a task that was not run; ``value`` is what its function would return."""

    value: dict[str, Any]


class _Planned(Exception):
    """Raised when all tasks are registered."""


class Ledger(Run):
    """Run that executes nothing and adds up the tasks of each kind.

    ``values``: expected values of tasks, by kind.
    """

    def __init__(self, workers: Workers, values: Mapping[str, Mapping[str, Any]]):
        self.work, self.address, self.kept = Path(), "", False
        self.memory, self.threads, self.lines = workers.means["memory"], 1, workers.shard_lines
        self.costs: dict[str, Cost] = {}
        self._values = values

    def stage(
        self, kind: str, function: Function, calls: Mapping[str, Call], **shared: Any
    ) -> list[Result]:
        cost, results = self.costs.setdefault(kind, Cost(kind)), []
        for call in calls.values():
            cost.add(function, call.units, call.units if call.rows is None else call.rows)
            value = dict(self._values.get(kind, {}))
            if kind == "read":
                value = {"rows": round(call.units), "long": (0, 0, 0)}
            elif kind == "part":
                start, end = call.arguments["span"]
                value = {"size": end - start, "digest": ""}
            results.append(_Expected(value))
        return cast(list[Result], results)

    def wait(self, *, last: bool = False) -> None:
        if last:
            raise _Planned

    def require(self, memory: float, what: str) -> None:
        """Require nothing: the plan reports the necessary memory."""


class _Expectation:
    """Placeholder for an index of a number of sentences."""

    compressed = False
    meta: Mapping[str, Any] = {"digest": ""}

    def __init__(self, size: int):
        self._size = size

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True)
class Planner:
    """Estimates the cost of a mining from its tasks and from a small mining that it measures.

    ``reading``: how text is read.
    """

    encoder: SentenceEncoder
    settings: SearchSettings = SearchSettings()
    keep: Keep = Keep()
    reading: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _verifier(self) -> Verifier | None:
        return verifier_for(None, self.settings.rank, self.encoder)

    def hybrid(self, sizes: tuple[int, int]) -> bool:
        """Return True if the hybrid engine would search sides of these sizes."""
        least = pairs_for_hybrid(self.settings, self._verifier is not None)
        return least is not None and sizes[0] * sizes[1] >= least

    def measured(
        self, texts: tuple[Sequence[str | Path], Sequence[str | Path]], *, hybrid: bool
    ) -> Sample:
        """Mine the heads of both sides, twice because the first run fills caches.

        Raises the errors of :func:`miner.mining.mine.mine`, and CorpusError for an empty side.
        """
        sides = [self.encoder.on_side(name) for name in SIDES]
        with scratch_directory() as directory:
            heads = [
                self._head(paths, directory / name)
                for name, paths in zip(SIDES, texts, strict=True)
            ]
            longest = max(size for _, size in heads)
            workers = Workers(
                threads=1, memory=self.settings.memory, shard_lines=max(1, -(-longest // 2))
            )
            for name in ("warm", "work"):
                with (
                    lent(*sides, self.encoder),
                    open_run(RunOptions(directory / name, workers=workers), "a plan", {}) as run,
                ):
                    side_texts = [SideText.of(run, i, [heads[i][0]], sides[i]) for i in range(2)]
                    self._stages(run, side_texts, lambda task, side: Index.open(task.path), hybrid)
            costs: dict[str, Cost] = {}
            decoys: dict[str, Any] = {"error": "none"}
            for task in run.tasks.values():
                done = record(run.work, task.name)
                cost = costs.setdefault(task.kind, Cost(task.kind))
                read = done["result"]["rows"] if task.kind == "read" else 0  # sentences, as planned
                cost.add(task.function, read or task.units, read or task.rows)
                cost.core_seconds += done["core seconds"]
                cost.disk += sum(done["files"].values())
                decoys = done["result"] if task.kind == "decoys" else decoys
        return Sample(costs, decoys)

    def costs(
        self, sizes: tuple[int, int], files: tuple[int, int], workers: Workers, sample: Sample
    ) -> list[Cost]:
        """Return the cost of mining sides of these sizes, in these numbers of files, in task
        order.
        """
        hybrid = "hybrid" in sample.costs
        probed = {"engine": "", "hybrid": hybrid}
        ledger = Ledger(workers, {"probe": probed, "decoys": sample.decoys})
        texts = []
        for name, size, number in zip(SIDES, sizes, files, strict=True):
            edges = [size * part // number for part in range(number + 1)]
            lengths = [end - start for start, end in zip(edges, edges[1:], strict=False)]
            encoder = self.encoder.on_side(name)
            # A task that reads has a unit per 10 bytes; per sentence in a plan.
            expected = [TextFile("", (10 * length, 0), "") for length in lengths]
            texts.append(SideText(name, expected, EncoderRef.of(encoder), encoder.dimension))
        with suppress(_Planned):
            self._stages(
                ledger, texts, lambda task, side: cast(Index, _Expectation(sizes[side])), hybrid
            )
        for kind, cost in ledger.costs.items():
            if measured := sample.costs.get(kind):
                cost.core_seconds = measured.core_seconds * cost.units / measured.units
                grown = 1.0 if kind in CONSTANT else cost.rows / measured.rows
                cost.disk = measured.disk * grown
        return list(ledger.costs.values())

    def _head(self, paths: Sequence[str | Path], copy: Path) -> tuple[Path, int]:
        """Copy the first sentences of a side; return the copy and their number."""
        blocks = (block for path in paths for block in CorpusReader(path, **self.reading))
        sentences = (text for block in blocks for text in block.sentences)
        lines = [f"{text}\n" for text in islice(sentences, SAMPLE)]
        if not lines:
            raise CorpusError(f"{', '.join(map(str, paths))}: no sentence to measure with")
        with open_output(copy) as file:
            file.writelines(lines)
        return copy, len(lines)

    def _stages(
        self, run: Run, texts: list[SideText], opened: Callable[[Result, int], Index], hybrid: bool
    ) -> None:
        """Register the whole pipeline from the texts on."""
        indexed = index_texts(run, texts, {})
        run.wait()
        pipeline.mine(
            run,
            [(opened(task, side), task) for side, task in enumerate(indexed)],
            self.settings,
            self._verifier,
            LANGUAGES,
            estimating=self._verifier is not None and self.keep.estimate,
            given=self.keep.decoys,
            hybrid_from=0 if hybrid else None,
        )
