"""Cost of a mining: a dry run of the pipeline, times the rates of a small mining.

A :class:`Ledger` replaces the run, and adds up the tasks of each kind, with their units and rows. A
sample of the text is mined with one thread and also registered: its cost per unit, or per row, is
that of the plan.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast

from miner.encoder.encoder_ref import EncoderRef, lent
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.index.build import SideText, index_texts
from miner.index.duplicates import HASHED
from miner.index.index import Index
from miner.index.text_files import TextFile
from miner.json_files import read_json
from miner.knn import clusters
from miner.knn.engines import Int8Engine
from miner.knn.postings import RETRIEVED
from miner.knn.settings import SearchSettings
from miner.mining import pipeline
from miner.mining.choices import pairs_for_hybrid, verifier_for
from miner.mining.keep import Keep
from miner.mining.score_stages import RIVAL
from miner.option_values import SIDES
from miner.precision.decoys import DECOYS
from miner.scoring.languages import Identified
from miner.scoring.margin import PLACE
from miner.scoring.verifier import Verifier
from miner.tasks.record import DONE
from miner.tasks.run import Call, Run, open_run
from miner.tasks.task import Function, Result, memory_of
from miner.tasks.workers import Workers
from miner.text.corpus import CorpusReader
from miner.text.durable import scratch_directory
from miner.text.output import open_output

# Sentences of each side, in two parts, to measure rates on.
SAMPLE = 8192
# Kinds of task whose output does not grow with the number of sentences.
CONSTANT = "probe", "decoys", "recall"
# Bytes of a slot in a neighbour list, and of a candidate among a part's logits; of the lookups per
# candidate: the mean of its target's list, then also its nearest and best logits.
NEIGHBOR, LOGIT, MEAN, TARGET = 12, 16, 4, 36
LANGUAGES = Identified(()), Identified(())

Paths = Sequence[str | Path]


@dataclass
class Registered:
    """Tasks of one kind: their number, total units and rows, and the memory of the largest."""

    tasks: int = 0
    units: float = 0.0
    rows: float = 0.0
    memory: float = 0.0

    def add(self, function: Function, call: Call) -> None:
        self.tasks += 1
        self.units += call.units
        rows = call.units if call.rows is None else call.rows
        self.rows += rows
        self.memory = max(self.memory, memory_of(function, rows))


@dataclass(frozen=True)
class Cost:
    """Total cost of the tasks of one kind: core-seconds, and bytes written and read.

    ``memory``: bytes of one task. A vector or list that is read out of order counts with its own
    size, not a page's.
    """

    kind: str
    tasks: int
    core_seconds: float
    disk: float
    read: float
    memory: float


@dataclass(frozen=True)
class Rates:
    """Core-seconds and bytes on disk of each kind of task in a sample, and the registered tasks.

    ``decoys``: value of the task that chose them, with an ``error`` if there are none.
    """

    seconds: Mapping[str, float]
    disk: Mapping[str, float]
    registered: Mapping[str, Registered]
    decoys: Mapping[str, Any]

    def of(self, kind: str) -> Registered:
        """Return the registered tasks of a kind; for a kind without tasks, one unit and one row."""
        return self.registered.get(kind, Registered(1, 1.0, 1.0))


@dataclass(frozen=True)
class _Expected(Result):
    """Result of a task that was not run; ``found`` is its expected value."""

    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> dict[str, Any]:
        return {**self.found}


class _Planned(Exception):
    """Raised when all tasks are registered."""


class Ledger(Run):
    """Run that executes nothing and counts the tasks of a pipeline."""

    def __init__(self, workers: Workers, values: Mapping[str, Mapping[str, Any]]):
        means = workers.means
        self.work, self.address, self.kept = Path(), "", False
        self.memory, self.threads, self.lines = means["memory"], 1, workers.shard_lines
        self.kinds: dict[str, Registered] = {}
        self._values = values

    def stage(
        self, kind: str, function: Function, calls: Mapping[str, Call], **shared: Any
    ) -> list[Result]:
        own = self.kinds.setdefault(kind, Registered())
        for call in calls.values():
            own.add(function, call)
        if kind == "read":  # the stamps of expected files are their sentences
            sizes = (call.arguments["file"].stamp[0] for call in calls.values())
            return [_Expected("", kind, "", {"rows": size, "long": (0, 0, 0)}) for size in sizes]
        if kind == "part":
            spans = (call.arguments["span"] for call in calls.values())
            return [
                _Expected("", kind, "", {"size": end - start, "digest": ""}) for start, end in spans
            ]
        return [_Expected("", kind, "", self._values.get(kind, {}))] * len(calls)

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
    """Plan of a mining: its encoder, settings and choice of pairs; ``reading``: how text is
    read.
    """

    encoder: SentenceEncoder
    settings: SearchSettings = SearchSettings()
    keep: Keep = Keep()
    reading: Mapping[str, Any] = field(default_factory=dict)

    def hybrid(self, sizes: tuple[int, int]) -> bool:
        """Return True if the hybrid engine would search sides of these sizes."""
        least = pairs_for_hybrid(self.settings, self._verifier is not None)
        return least is not None and sizes[0] * sizes[1] >= least

    def measured(self, texts: tuple[Paths, Paths], *, hybrid: bool) -> Rates:
        """Measure rates by mining the heads of both sides, twice because the first run fills
        caches.

        Raises the errors of :func:`miner.mining.mine.mine`, and CorpusError for an empty side.
        """
        with scratch_directory() as place:
            heads, sizes = [], []
            for name, paths in zip(SIDES, texts, strict=True):
                blocks = (block for path in paths for block in CorpusReader(path, **self.reading))
                sentences = (text for block in blocks for text in block.sentences)
                lines = [f"{text}\n" for text in islice(sentences, SAMPLE)]
                if not lines:
                    raise CorpusError(f"{', '.join(map(str, paths))}: no sentence to measure with")
                with open_output(place / name) as file:
                    file.writelines(lines)
                heads.append(place / name)
                sizes.append(len(lines))
            workers = Workers(
                threads=1,
                memory=self.settings.memory,
                shard_lines=max(1, -(-max(sizes) // 2)),
            )
            for work in (place / "warm", place / "work"):
                self._mined(heads, work, workers, hybrid)
            seconds: dict[str, float] = {}
            disk: dict[str, float] = {}
            decoys: dict[str, Any] = {"error": "none"}
            for path in (place / "work").glob(f"*/*/{DONE}"):
                kind, record = path.parent.parent.name, read_json(path)
                seconds[kind] = seconds.get(kind, 0.0) + record["core seconds"]
                disk[kind] = disk.get(kind, 0.0) + sum(record["files"].values())
                decoys = record["result"] if kind == "decoys" else decoys
        rates = Rates(seconds, disk, {}, decoys)
        made = self._registered((sizes[0], sizes[1]), (1, 1), workers, rates, hybrid)
        return replace(rates, registered=made.kinds)

    def costs(
        self,
        sizes: tuple[int, int],
        files: tuple[int, int],
        workers: Workers,
        rates: Rates,
    ) -> list[Cost]:
        """Return the cost of mining these numbers of sentences in these numbers of files, in
        task order.
        """
        hybrid = "hybrid" in rates.registered
        kinds = self._registered(sizes, files, workers, rates, hybrid).kinds
        disk = {}
        for kind in kinds:
            grown = 1.0 if kind in CONSTANT else kinds[kind].rows / rates.of(kind).rows
            disk[kind] = rates.disk.get(kind, 0.0) * grown
        read = self._read(sizes, kinds, rates, disk)
        return [
            Cost(
                kind,
                own.tasks,
                rates.seconds.get(kind, 0.0) * own.units / rates.of(kind).units,
                disk[kind],
                read.get(kind, 0.0),
                own.memory,
            )
            for kind, own in kinds.items()
        ]

    def _mined(self, heads: Sequence[Path], work: Path, workers: Workers, hybrid: bool) -> None:
        """Mine the heads of both sides; all results stay in ``work``."""
        sides = [self.encoder.on_side(name) for name in SIDES]
        with lent(*sides, self.encoder), open_run(work, workers, "a plan", {}) as run:
            texts = [SideText.of(run, i, [heads[i]], sides[i]) for i in range(2)]
            self._stages(run, texts, lambda task, side: Index.open(task.path).verify(), hybrid)

    def _registered(
        self,
        sizes: tuple[int, int],
        files: tuple[int, int],
        workers: Workers,
        rates: Rates,
        hybrid: bool,
    ) -> Ledger:
        """Register the tasks of mining these numbers of sentences, divided among these numbers
        of files.
        """
        probed = {"engine": "", "hybrid": hybrid}
        ledger = Ledger(workers, {"probe": probed, "decoys": rates.decoys})
        texts = []
        for name, size, number in zip(SIDES, sizes, files, strict=True):
            encoder = self.encoder.on_side(name)
            edges = [size * part // number for part in range(number + 1)]
            own = [
                TextFile("", (end - start, 0), "")
                for start, end in zip(edges, edges[1:], strict=False)
            ]
            texts.append(SideText(name, own, EncoderRef.of(encoder), encoder.dimension))
        with suppress(_Planned):
            self._stages(
                ledger, texts, lambda task, side: cast(Index, _Expectation(sizes[side])), hybrid
            )
        return ledger

    def _stages(
        self, run: Run, texts: list[SideText], opened: Callable[[Result, int], Index], hybrid: bool
    ) -> None:
        """Register the whole pipeline from the texts on."""
        verifier = self._verifier
        made = index_texts(run, texts, {})
        run.wait()
        pipeline.mine(
            run,
            [(opened(task, side), task) for side, task in enumerate(made)],
            self.settings,
            verifier,
            LANGUAGES,
            estimating=verifier is not None and self.keep.estimate,
            given=self.keep.decoys,
            hybrid_from=0 if hybrid else None,
        )

    def _read(
        self,
        sizes: tuple[int, int],
        kinds: Mapping[str, Registered],
        rates: Rates,
        disk: Mapping[str, float],
    ) -> dict[str, float]:
        """Return the bytes that all tasks of each kind read, from the bytes that each kind
        writes.
        """
        n, m = map(float, sizes)
        left = kinds["score"].tasks
        right = kinds["merge"].tasks - left
        both, shards = n + m, n * right + m * left
        k, rounds = self._searched, 1 + len(rates.decoys.get("sizes", ()))
        vector, dimension = 2.0 * self.encoder.dimension, self.encoder.dimension
        tokens = disk["part"] / max(1.0, both)
        number = clusters.number_of_clusters(sizes)
        sampled = min(clusters.SAMPLED * number, both)
        lists, places = k * NEIGHBOR, float(PLACE.itemsize) * k * m
        candidates = 2.0 * k * n  # maximum pairs of both directions
        code = dimension + 8 + 4 * (1 + clusters.PROBES)
        return {
            "read": disk["read"],
            "encode": disk["read"],
            "duplicates": float(HASHED.itemsize) * both,
            "index": disk["read"] + disk["encode"] + disk["duplicates"],
            "part": disk["read"] + vector * both,
            "text": disk["part"],
            "decoys": tokens * m,
            "search": vector * shards,
            "centroids": vector * sampled,
            "assign": (vector + tokens) * both + 2 * vector * number * (left + right),
            # Tokens of all parts of the other side; codes, clusters, and candidates by tokens.
            "retrieve": tokens * (both + shards),
            "hybrid": (code + 4 * RETRIEVED) * shards,
            "recall": vector * both,
            "decoy-search": vector * (n + DECOYS * left),
            # Each candidate's vector is read again for exact ranking.
            "merge": disk.get("search", disk.get("hybrid", 0.0))
            + vector * both * (1 + k + Int8Engine.slack),
            "lists": disk["merge"],
            "best-logits": disk.get("rivals", 0.0),
            "match": disk["score"],
            # A part of either side reads the records that the other side's parts sent to it.
            "verify": (lists * n + MEAN * candidates) * rounds + places + tokens * (n + candidates),
            "score": (lists * n + (LOGIT + TARGET) * candidates) * rounds + places,
            "rivals": RIVAL.itemsize * candidates * rounds,
            "features": tokens * 2 * n + LOGIT * candidates * rounds,
            "knock-out": lists * n + (LOGIT + TARGET) * candidates + tokens * 2 * n,
        }

    @cached_property
    def _verifier(self) -> Verifier | None:
        return verifier_for(None, self.settings.rank, self.encoder)

    @property
    def _searched(self) -> int:
        rank = "margin" if self._verifier is None else "probability"
        return replace(self.settings, rank=rank).searched
