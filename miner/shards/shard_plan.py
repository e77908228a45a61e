"""Plan of a sharded mining: its inputs and settings, kept on disk, and the tasks that follow.

A shard are the rows ``i · shard_lines`` to ``(i + 1) · shard_lines`` of one side. Tasks know each
other by name; the number of shards is known when all files are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, CorpusError, MismatchError
from miner.index.index import model_entry
from miner.knn.settings import SearchSettings
from miner.names import SIDES, VERSION
from miner.shards import block_plan
from miner.shards.block_plan import Span
from miner.shards.plan_file import PLAN, not_whole, read_plan_file, write_plan_file
from miner.shards.task import Task, record
from miner.text.corpus import Reader
from miner.text.remote import is_remote, remote_stamp

FORMAT = "bitext-miner plan"
Texts = tuple[tuple[str, ...], tuple[str, ...]]
# Settings that a task's result depends on, by the kinds of task. Threads and memory change nothing.
SEARCHING = ("k", "engine", "exact", "device", "rank")
SCORING = (*SEARCHING, "margin", "retrieval", "languages")
# Up to this size of a shard, lists of a block start from those of another block of the same rows.
# Lists change mostly among the first rows that they meet, which small blocks pay for often. For
# large blocks, reading the other lists costs more.
BEGUN = 1 << 17


@dataclass(frozen=True)
class Plan:
    """All that the tasks of one work directory need to know.

    ``texts`` are the files of both sides, absolute or in an object store, and ``stamps`` the size
    and time of change of each. ``entries`` are what an index of each side says about the model.
    ``decoys`` are sentences that the user gave. ``estimating``: decoys take part. ``dtype`` is the
    type of the vectors; an index keeps float16. ``hybrid_from`` are the pairs of sentences from
    which on the search is the hybrid one; None: never.
    """

    texts: Texts
    stamps: tuple[tuple[tuple[int, int], ...], ...]
    reading: dict[str, Any]
    entries: tuple[dict[str, Any], dict[str, Any]]
    settings: SearchSettings
    shard_lines: int
    estimating: bool
    decoys: tuple[str, ...] | None = None
    dtype: str = "float16"
    hybrid_from: int | None = None
    version: str = field(default=VERSION)
    # What progress is called.
    stage: ClassVar[str] = "mining"

    @classmethod
    def of(
        cls,
        texts: tuple[Sequence[str], Sequence[str]],
        encoders: tuple[SentenceEncoder, SentenceEncoder],
        settings: SearchSettings,
        shard_lines: int,
        **others: Any,
    ) -> Plan:
        """Return the plan for these files. Raises CorpusError for one that cannot be read."""
        paths = [
            tuple(path if is_remote(path) else str(Path(path).absolute()) for path in side)
            for side in texts
        ]
        left, right = encoders
        return cls(
            (paths[0], paths[1]),
            tuple(tuple(map(stamp, side)) for side in paths),
            entries=(model_entry(left), model_entry(right)),
            settings=settings,
            shard_lines=shard_lines,
            **others,
        )

    @classmethod
    def read(cls, work: Path) -> Plan:
        """Read the plan of a work directory. Raises ArtifactError and MismatchError."""
        found = read_plan_file(work, FORMAT, "a sharded mining")
        try:
            return cls._of_json(found)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise not_whole(work, error) from None

    @classmethod
    def _of_json(cls, found: dict[str, Any]) -> Plan:
        settings = found["settings"] | {"languages": tuple(found["settings"]["languages"])}
        stamps = tuple(tuple((size, time) for size, time in side) for side in found["stamps"])
        left, right = found["texts"]
        decoys = found["decoys"]
        changed = {
            "texts": (tuple(left), tuple(right)),
            "stamps": stamps,
            "entries": tuple(found["entries"]),
            "settings": SearchSettings(**settings),
            "decoys": None if decoys is None else tuple(decoys),
        }
        return cls(**(found | changed))

    def write(self, work: Path) -> None:
        """Write the plan, or check that the one in the directory is the same.

        Raises MismatchError that names the first difference, CorpusError for a changed file, and
        ResourceError.
        """
        if (work / PLAN).exists():
            self._compare(Plan.read(work), work)
        write_plan_file(work, FORMAT, self)

    def _compare(self, old: Plan, work: Path) -> None:
        for side, paths in enumerate(self.texts):
            if paths != old.texts[side]:
                odd = sorted(set(paths) ^ set(old.texts[side])) or ["their order"]
                raise MismatchError(
                    f"{work}: its plan has other {SIDES[side]} files ({odd[0]}"
                    f"{' and others' * (len(odd) > 1)}); restore them, or name another --work"
                )
            for path, now, before in zip(paths, self.stamps[side], old.stamps[side], strict=True):
                if now != before:
                    raise CorpusError(
                        f"{path}: changed since the plan in {work} was made; restore it, or name "
                        "another --work"
                    )
        if (self.entries, self.reading) != (old.entries, old.reading):
            raise MismatchError(
                f"{work}: its plan has another model or reads the files in another way; name "
                "another --work"
            )
        if self.shard_lines != old.shard_lines:
            raise MismatchError(
                f"{work}: its plan has --shard-lines {old.shard_lines}, not {self.shard_lines}; "
                "give that, or name another --work"
            )

    def header(self, side: int, number: int) -> bool:
        """Return True if the first line of a file is a header, and no sentence."""
        if not self.reading.get("header"):
            return False
        return Reader(self.texts[side][number], **self.reading).format == "tsv"

    def check_text(self, side: int, number: int) -> None:
        """Raise CorpusError for a file that is not what it was when the plan was made."""
        path = self.texts[side][number]
        if stamp(path) != self.stamps[side][number]:
            raise CorpusError(
                f"{path}: changed since the plan was made; restore it, or name another --work"
            )

    @cached_property
    def verifying(self) -> bool:
        """True if probabilities rank, not margins."""
        return self.settings.rank == "probability"

    def digest(self, kind: str) -> str:
        """Return a digest of the settings on which results of tasks of this kind depend."""
        settings = asdict(self.settings)
        names = SCORING if kind not in ("read", "encode", "duplicates", "index") else ("rank",)
        content: list[Any] = [self.version, self.entries, self.reading, self.shard_lines]
        content += [[settings[name] for name in names]]
        if kind == "encode":
            content += [self.dtype]
        if kind == "read":
            content += [self.texts, self.stamps]
        if kind == "decoys":
            content += [self.decoys]
        if kind == "probe":
            content += [self.hybrid_from]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    # --- tasks ---------------------------------------------------------------------------------

    def reading_tasks(self) -> list[Task]:
        """Return the tasks that read the files: one for each."""
        return [
            Task(f"read/{name}-{number:04}", (), {"side": side, "number": number}, float(size))
            for side, name in enumerate(SIDES)
            for number, (size, _) in enumerate(self.stamps[side])
        ]

    def rows(self, work: Path) -> tuple[list[int], list[int]]:
        """Return the number of sentences of each file, once all are read."""
        counts: tuple[list[int], list[int]] = ([], [])
        for task in self.reading_tasks():
            counts[task.arguments["side"]].append(record(work, task.name)["result"]["rows"])
        return counts

    def all_tasks(self, work: Path) -> list[Task]:
        """Return all tasks, once the files are read.

        Until the probe has chosen the search, they are those of an exhaustive one.
        """
        hybrid = False
        with suppress(ArtifactError):
            hybrid = record(work, "probe/all")["result"]["hybrid"]
        return self.tasks(self.rows(work), hybrid)

    def tasks(self, rows: tuple[list[int], list[int]], hybrid: bool = False) -> list[Task]:
        """Return all tasks, given the number of sentences of each file; inputs come first."""
        shards = self.shards((sum(rows[0]), sum(rows[1])))
        tasks = self.reading_tasks()
        for side, name in enumerate(SIDES):
            reads, encodes, found = [], [], list[str]()
            for number, size in enumerate(rows[side]):
                reads.append(f"read/{name}-{number:04}")
                for part, (start, end) in enumerate(cut(size, self.shard_lines)):
                    task = Task(
                        f"encode/{name}-{number:04}-{part:04}",
                        (reads[-1],),
                        {"side": side, "number": number, "start": start, "end": end},
                        float(end - start),
                    )
                    encodes.append(task.name)
                    tasks.append(task)
            inputs, size = (*reads, *encodes), sum(rows[side])
            partitions = max(1, -(-size // self.shard_lines))
            given = {"side": side, "partitions": partitions}
            for number in range(partitions):
                own = {**given, "partition": number}
                found.append(f"duplicates/{name}-{number:04}")
                tasks.append(Task(found[-1], inputs, own, size / partitions))
            tasks.append(Task(f"index/{name}", (*inputs, *found), given, float(size)))
        return tasks + self._search_tasks(*shards, hybrid)

    def shards(self, sizes: tuple[int, int]) -> tuple[list[Span], list[Span]]:
        """Return the rows (start, end) of the shards of both sides; at least one each."""
        left, right = (cut(size, self.shard_lines) or [(0, 0)] for size in sizes)
        return left, right

    def _search_tasks(self, sources: list[Span], targets: list[Span], hybrid: bool) -> list[Task]:
        indexes = tuple(f"index/{name}" for name in SIDES)
        n, m = sources[-1][1], targets[-1][1]
        tasks = [Task("probe/all", indexes)]
        base = (*indexes, "probe/all")
        if self.estimating:
            tasks.append(Task("decoys/all", base, {}, float(m)))
        if hybrid:
            tasks += block_plan.hybrid(sources, targets, base, lexicon=self.verifying)
        else:
            beginning = self.shard_lines <= BEGUN
            tasks += block_plan.exhaustive(sources, targets, base, beginning=beginning)
        kind = "hybrid" if hybrid else "search"
        merges: tuple[list[str], list[str]] = ([], [])
        for side, spans in enumerate((sources, targets)):
            others = range(len(targets if side == 0 else sources))
            for i, span in enumerate(spans):
                blocks = tuple(
                    f"{kind}/{i:04}-{j:04}" if side == 0 else f"{kind}/{j:04}-{i:04}"
                    for j in others
                )
                name = f"merge/{SIDES[side]}-{i:04}"
                merges[side].append(name)
                given = {"side": side, "span": list(span), "blocks": list(blocks)}
                given["shards"] = len(sources)
                tasks.append(Task(name, (*base, *blocks), given, float(span[1] - span[0])))
        lists = []
        for side in (0, 1):
            name = f"lists/{SIDES[side]}"
            lists.append(name)
            size = float(n if side == 0 else m)
            tasks.append(Task(name, tuple(merges[side]), {"parts": merges[side]}, size))
        if hybrid:
            tasks.append(Task("recall/all", (*base, *lists), {}, float(n + m)))
        own = [list(span) for span in sources]
        if self.estimating:
            against = []
            for s, part in enumerate(own):
                against.append(f"against/{s:04}")
                inputs = (*base, "decoys/all")
                arguments: dict[str, Any] = {"span": part}
                # The first shard's lists of the decoys are there when the others begin.
                if s and self.shard_lines <= BEGUN:
                    arguments["begun"] = against[0]
                    inputs = (*inputs, against[0])
                tasks.append(Task(against[-1], inputs, arguments, float(part[1] - part[0])))
            inputs = (*base, "decoys/all", *against, "lists/target")
            parts = {"parts": [], "against": against}
            tasks.append(Task("lists/decoys", inputs, parts, float(m)))
            lists.append("lists/decoys")
            base = (*base, "decoys/all", *against)
        return tasks + self._scoring_tasks(own, targets, (*base, *lists))

    def _scoring_tasks(
        self, sources: list[list[int]], targets: list[Span], base: tuple[str, ...]
    ) -> list[Task]:
        tasks = []
        inputs = base
        verifies = []
        if self.verifying:
            rivals = []
            for s, span in enumerate(sources):
                verifies.append(f"verify/{s:04}")
                arguments = {"shard": s, "span": span, "targets": len(targets)}
                tasks.append(Task(verifies[-1], base, arguments, float(span[1] - span[0])))
            for t, (start, end) in enumerate(targets):
                rivals.append(f"rivals/{t:04}")
                last = t == len(targets) - 1
                arguments = {"shard": t, "span": [start, end], "last": last, "parts": verifies}
                inputs = (*base, *verifies)
                tasks.append(Task(rivals[-1], inputs, arguments, float(end - start)))
            tasks.append(Task("contest/all", (*base, *rivals), {"parts": rivals}))
            inputs = (*base, *verifies, "contest/all")
        scores, columns = [], []
        for s, span in enumerate(sources):
            scores.append(f"score/{s:04}")
            arguments = {"shard": s, "span": span, "targets": len(targets)}
            tasks.append(Task(scores[-1], inputs, arguments, float(span[1] - span[0])))
        size = float(sources[-1][1] + targets[-1][1])
        tasks.append(Task("match/all", (*base, *scores), {"parts": scores}, size))
        if self.verifying:
            for s, span in enumerate(sources):
                columns.append(f"features/{s:04}")
                arguments = {"shard": s, "span": span}
                after = (*inputs, "match/all")
                tasks.append(Task(columns[-1], after, arguments, float(span[1] - span[0])))
        return tasks


def cut(size: int, lines: int) -> list[Span]:
    """Cut ``size`` rows into spans (start, end) of ``lines`` rows; the last may be shorter."""
    return [(start, min(size, start + lines)) for start in range(0, size, lines)]


def stamp(path: str) -> tuple[int, int]:
    """Return size and time of change of a file. Raises CorpusError if it is not there."""
    if is_remote(path):
        return remote_stamp(path)
    try:
        found = Path(path).stat()
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}") from None
    if not Path(path).is_file():
        raise CorpusError(f"{path}: not a file; sharded mining reads each input by name")
    return found.st_size, found.st_mtime_ns
