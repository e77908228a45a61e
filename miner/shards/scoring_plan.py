"""Plan of the scores of many files of pairs, and its tasks: to score a piece, to join pieces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from miner.cleaning.clean import sample_size
from miner.cleaning.plan import Plan, read_plan, scores_of, scores_plan
from miner.errors import MismatchError
from miner.filters.filter_types import Context
from miner.names import VERSION
from miner.shards.bitext_files import CUT, WHOLE, BitextFiles, absolute, with_suffix
from miner.shards.joined_outputs import JOIN, joining_tasks
from miner.shards.plan_file import PLAN, not_whole, read_plan_file, write_plan_file
from miner.shards.task import Task

FORMAT = "bitext-miner scoring plan"
RATE = "rate"
KINDS = (CUT, RATE, JOIN)


@dataclass(frozen=True)
class Scores:
    """Scores to compute: ``names`` of filters, or the filters of the file ``config``.

    The languages are BCP-47 codes or None, ``model`` a directory, a name or None. ``only`` leaves
    out the rows.
    """

    names: tuple[str, ...] = ("quality",)
    config: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    model: str | None = None
    only: bool = False

    def plan(self) -> Plan:
        """Return the filters. Raises ArtifactError."""
        context = Context(self.source_lang, self.target_lang, model=self.model)
        if self.config is None:
            return scores_plan(self.names, context)
        return scores_of(read_plan(self.config, context))

    def absolute(self) -> Scores:
        """Return the same scores for workers of other working directories."""
        return replace(self, config=absolute(self.config), model=absolute(self.model))


@dataclass(frozen=True)
class ScoringPlan:
    """Bitexts to score, and the scores. ``fingerprint`` is that of the filters and their models."""

    files: BitextFiles
    scores: Scores
    fingerprint: str
    version: str = VERSION
    # What progress is called.
    stage: ClassVar[str] = "scoring"

    @classmethod
    def of(cls, files: BitextFiles, scores: Scores) -> ScoringPlan:
        """Return the plan for these files. Raises ArtifactError."""
        scores = scores.absolute()
        plan = scores.plan()
        if sample_size(plan) is not None:  # a score depends on the whole file
            files = replace(files, shard_lines=WHOLE)
        return cls(files, scores, hashlib.sha256(plan.fingerprint().encode()).hexdigest())

    @classmethod
    def read(cls, work: Path) -> ScoringPlan:
        """Read the plan of a work directory. Raises ArtifactError and MismatchError."""
        found = read_plan_file(work, FORMAT, "a scoring")
        try:
            scores = found["scores"]
            scores["names"] = tuple(scores["names"])
            changed = {"files": BitextFiles.of_json(found["files"]), "scores": Scores(**scores)}
            return cls(**(found | changed))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise not_whole(work, error) from None

    def write(self, work: Path) -> None:
        """Write the plan, or check that the one in the directory is the same.

        Raises ArtifactError, MismatchError, CorpusError for a changed file, and ResourceError.
        """
        if (work / PLAN).exists():
            old = ScoringPlan.read(work)
            self.files.compare(old.files, work)
            if self != old:
                raise MismatchError(f"{work}: its plan has other scores; name another --work")
        write_plan_file(work, FORMAT, self)

    def digest(self, kind: str) -> str:
        """Return a digest of the settings on which results of tasks of this kind depend."""
        content: list[Any] = [self.version, asdict(self.files.reading), self.files.shard_lines]
        if kind != CUT:
            content += [self.fingerprint, asdict(self.scores)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @cached_property
    def filters(self) -> Plan:
        """The filters that score."""
        return self.scores.plan()

    def reading_tasks(self) -> list[Task]:
        """Return the tasks that count and cut the files."""
        return self.files.tasks()

    def all_tasks(self, work: Path) -> list[Task]:
        """Return all tasks, once the files are counted."""
        return self.tasks(self.rows(work))

    def rows(self, work: Path) -> list[int]:
        """Return the number of rows of each bitext, once all are counted."""
        return self.files.rows(work)

    def tasks(self, rows: Sequence[int]) -> list[Task]:
        """Return all tasks, given the number of rows of each bitext."""
        pieces = self.files.pieces(rows)
        tasks = self.reading_tasks()
        for piece in pieces:
            arguments = {"piece": asdict(piece)}
            inputs = (f"{CUT}/{piece.file:04}",)
            tasks.append(Task(f"{RATE}/{piece.name}", inputs, arguments, float(piece.rows)))
        return tasks + joining_tasks(pieces, RATE)

    def outputs(self, file: int) -> dict[str, str]:
        """Return the names of the outputs of a bitext, by what they hold."""
        name = Path(self.files.paths[file][0]).name
        two = len(self.files.paths[file]) == 2 and not self.scores.only
        return {"scored": with_suffix(name, ".tsv") if two else name}
