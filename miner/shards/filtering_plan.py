"""Plan of a filtering of many files of pairs, as if they were one.

Filters that look at one pair work piece by piece. Those that compare all pairs follow one upon the
other: each piece sends keys of the pairs that are left, partitions of all keys find the best pairs,
and each piece computes its scores from them. Filters by place merge sorted pieces instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from miner.cleaning.choice import Choice
from miner.cleaning.clean import sample_size
from miner.cleaning.plan import Plan, default_plan, read_plan
from miner.cleaning.text_languages import needs_languages
from miner.errors import ArtifactError, MismatchError
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL, Comparison, Context
from miner.names import VERSION
from miner.shards.bitext_files import CUT, BitextFiles, absolute, with_suffix
from miner.shards.joined_outputs import JOIN, joining_tasks
from miner.shards.plan_file import PLAN, not_whole, read_plan_file, write_plan_file
from miner.shards.task import Task

FORMAT = "bitext-miner filtering plan"
LANGUAGES, SAMPLE, CHECK, RATE = "languages", "sample", "check", "rate"
KEYS, BEST, ORDER, COMPARE, WRITE = "keys", "best", "order", "compare", "write"
KINDS = (CUT, LANGUAGES, SAMPLE, CHECK, RATE, KEYS, BEST, ORDER, COMPARE, WRITE, JOIN)


@dataclass(frozen=True)
class Filters:
    """Filters to run: the default ones, or those of the file ``config``.

    The languages are BCP-47 codes or None, ``model`` a directory, a name or None. ``threshold`` is
    the bound of the score that ranks, ``repair`` repairs broken encoding first, ``all_scores``
    scores rejected pairs by expensive filters, too. ``choice`` is that among the pairs left.
    """

    config: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    model: str | None = None
    threshold: float | None = None
    repair: bool = False
    all_scores: bool = False
    choice: Choice = Choice()

    def plan(self) -> Plan:
        """Return the filters. Raises ArtifactError."""
        context = Context(self.source_lang, self.target_lang, model=self.model)
        plan = default_plan(context) if self.config is None else read_plan(self.config, context)
        plan = replace(plan, repair=plan.repair or self.repair)
        return plan if self.threshold is None else plan.with_bound(self.threshold)

    def absolute(self) -> Filters:
        """Return the same filters for workers of other working directories."""
        return replace(self, config=absolute(self.config), model=absolute(self.model))


@dataclass(frozen=True)
class FilteringPlan:
    """Bitexts to filter, the filters, and the ``roles`` of the outputs beside the kept rows.

    ``fingerprint`` is that of the filters and their models; bounds are no part of it.
    """

    files: BitextFiles
    given: Filters
    roles: tuple[str, ...]
    fingerprint: str
    version: str = VERSION
    # What progress is called.
    stage: ClassVar[str] = "filtering"

    @classmethod
    def of(cls, files: BitextFiles, given: Filters, roles: Sequence[str] = ()) -> FilteringPlan:
        """Return the plan for these files.

        Raises ArtifactError, also for filters that hold all pairs at once.
        """
        given = given.absolute()
        plan = given.plan()
        for step in plan.stage(GLOBAL):
            comparison = step.filter.build(step.settings, plan.context)
            if not comparison.by_place and comparison.keys(_no_sketches(comparison)) is None:
                settings = ", ".join(f"{name} = {value}" for name, value in step.settings.items())
                raise ArtifactError(
                    f"{step.label}: with {settings}, each pair depends on others of all files; "
                    "filter without shards, or choose other settings"
                )
        if sample_size(plan) == 0:
            label = next(step.label for step in plan.steps if step.filter.sampled)
            raise ArtifactError(
                f"{label}: with pairs = 0, every worker would hold the text of all files; give a "
                "number, or filter without shards"
            )
        content = json.dumps([plan.fingerprint(), plan.libraries()], sort_keys=True)
        return cls(files, given, tuple(roles), hashlib.sha256(content.encode()).hexdigest())

    @classmethod
    def read(cls, work: Path) -> FilteringPlan:
        """Read the plan of a work directory. Raises ArtifactError and MismatchError."""
        found = read_plan_file(work, FORMAT, "a filtering")
        try:
            given = found["given"]
            given["choice"] = Choice(**given["choice"])
            changed = {
                "files": BitextFiles.of_json(found["files"]),
                "given": Filters(**given),
                "roles": tuple(found["roles"]),
            }
            return cls(**(found | changed))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise not_whole(work, error) from None

    def write(self, work: Path) -> None:
        """Write the plan in place of an older one of the same files and filters.

        Bounds, choice and outputs may differ: scores that stand are used again. Raises
        ArtifactError, MismatchError, CorpusError for a changed file, and ResourceError.
        """
        if (work / PLAN).exists():
            old = FilteringPlan.read(work)
            self.files.compare(old.files, work)
            if self.fingerprint != old.fingerprint:
                raise MismatchError(
                    f"{work}: its plan has other filters, settings or models; name another --work"
                )
        write_plan_file(work, FORMAT, self)

    def digest(self, kind: str) -> str:
        """Return a digest of the settings on which results of tasks of this kind depend."""
        content: list[Any] = [self.version, asdict(self.files.reading), self.files.shard_lines]
        if kind != CUT:
            content.append(self.fingerprint)
        if kind not in (CUT, LANGUAGES, SAMPLE, CHECK):
            stages = (LOCAL,) if kind == RATE else (LOCAL, MODEL, GLOBAL)
            steps = (step for stage in stages for step in self.filters.stage(stage))
            content.append([[step.label, step.minimum, step.maximum] for step in steps])
            content.append(self.given.all_scores)
        if kind in (KEYS, BEST, ORDER, COMPARE, WRITE, JOIN):
            content += [self.filters.rank, asdict(self.given.choice)]
        if kind in (WRITE, JOIN):
            content.append(self.roles)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def filters(self) -> Plan:
        """The filters that run."""
        return self.given.plan()

    @property
    def labels(self) -> list[str]:
        """Labels of the stages of the funnel, in order."""
        return [
            *(step.label for step in self.filters.steps),
            *(label for label, _ in self.given.choice.limits),
        ]

    def outputs(self, file: int) -> dict[str, str]:
        """Return the names of the outputs of a bitext, by role: ``kept 1`` is that of a target."""
        paths = self.files.paths[file]
        name, *other = (Path(path).name for path in paths)
        found = {"kept": name}
        if other:
            found["kept 1"] = other[0]
        suffixes = {"rejected": ".tsv" if other else "", "scores": ".jsonl"}
        return found | {role: with_suffix(name, suffixes[role]) for role in self.roles}

    def reading_tasks(self) -> list[Task]:
        """Return the tasks that count and cut the files."""
        return self.files.tasks()

    def all_tasks(self, work: Path) -> list[Task]:
        """Return all tasks, once the files are counted."""
        return self.tasks(self.rows(work))

    def rows(self, work: Path) -> list[int]:
        """Return the number of rows of each bitext, once all are counted."""
        return self.files.rows(work)

    def partitions(self, rows: Sequence[int]) -> int:
        """Return the number of partitions of all keys."""
        return max(1, -(-sum(rows) // self.files.shard_lines))

    def tasks(self, rows: Sequence[int]) -> list[Task]:
        """Return all tasks, given the number of rows of each bitext; inputs come first."""
        pieces, tasks = self.files.pieces(rows), self.reading_tasks()
        cuts = tuple(task.name for task in tasks)
        shared: tuple[str, ...] = ()
        filters = self.filters
        if needs_languages(filters):
            tasks.append(Task(f"{LANGUAGES}/all", cuts, {"rows": list(rows)}))
            shared = (f"{LANGUAGES}/all",)
        done: dict[str, tuple[str, ...]] = {}

        def each(kind: str, *more: str, **arguments: Any) -> tuple[str, ...]:
            """Add a task of every piece, which follows upon those before it; return their names."""
            prefix = f"{kind}/{arguments['level']}-" if "level" in arguments else f"{kind}/"
            names = []
            for piece in pieces:
                name = f"{prefix}{piece.name}"
                inputs = (*done.get(piece.name, (f"{CUT}/{piece.file:04}",)), *more)
                given = {"piece": asdict(piece), **arguments}
                tasks.append(Task(name, inputs, given, float(piece.rows)))
                names.append(name)
            return tuple(names)

        def follow(names: Sequence[str]) -> None:
            for piece, name in zip(pieces, names, strict=True):
                done[piece.name] = (*done.get(piece.name, ()), name)

        size = sample_size(filters)
        if size is not None:
            shared += each(SAMPLE, *cuts, size=size, total=sum(rows))
        follow(each(CHECK))
        if filters.stage(MODEL):
            follow(each(RATE, *shared))
        for level, step in enumerate(filters.stage(GLOBAL)):
            comparison = step.filter.build(step.settings, filters.context)
            partitions = 0 if comparison.by_place else self.partitions(rows)
            keys = each(KEYS, level=level, partitions=partitions)
            follow(keys)
            found = _compared(level, keys, partitions, float(sum(rows)))
            tasks += found
            names = (task.name for task in found)
            follow(each(COMPARE, *names, level=level, partitions=partitions))
        level = len(filters.stage(GLOBAL))
        chosen: tuple[str, ...] = ()
        if self.given.choice.any:
            keys = each(KEYS, level=level, partitions=0)
            follow(keys)
            tasks += _compared(level, keys, 0, float(sum(rows)))
            chosen = (tasks[-1].name,)
        each(WRITE, *chosen)
        return tasks + joining_tasks(pieces, WRITE)


def _compared(level: int, keys: tuple[str, ...], partitions: int, size: float) -> list[Task]:
    """Return the tasks that compare the keys of all pieces: by partition, or in order."""
    if not partitions:
        return [Task(f"{ORDER}/{level}", keys, {"level": level}, size)]
    return [
        Task(
            f"{BEST}/{level}-{number:04}",
            keys,
            {"level": level, "partition": number},
            size / partitions,
        )
        for number in range(partitions)
    ]


def _no_sketches(comparison: Comparison) -> np.ndarray:
    """Return the sketches of no pair."""
    if comparison.field is None:
        return np.empty((0, 0))
    _, kind, size = comparison.field
    return np.empty((0, size), dtype=kind)
