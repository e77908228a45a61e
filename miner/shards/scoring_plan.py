"""Plan of the scores of many files of pairs, and its one kind of task: to score a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from miner.cleaning import score_rows
from miner.cleaning.plan import Plan, read_plan, scores_of, scores_plan
from miner.errors import ArtifactError, CorpusError, MismatchError
from miner.filters.filter_types import Context
from miner.names import VERSION
from miner.shards.shard_plan import PLAN, stamp
from miner.shards.task import Task
from miner.text.bitext_format import USUAL_FORMAT, BitextFormat
from miner.text.output import atomic_file
from miner.text.rows import Rows

FORMAT = "bitext-miner scoring plan"
KIND = "rate"


@dataclass(frozen=True)
class Scores:
    """Scores to compute: ``names`` of filters, or the filters of the file ``config``.

    The languages are BCP-47 codes or None, ``model`` a directory, a name or None. ``only`` leaves
    out the rows. ``reading`` says where the texts are.
    """

    names: tuple[str, ...] = ("quality",)
    config: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    model: str | None = None
    only: bool = False
    reading: BitextFormat = USUAL_FORMAT

    def plan(self) -> Plan:
        """Return the filters. Raises ArtifactError."""
        context = Context(self.source_lang, self.target_lang, model=self.model)
        if self.config is None:
            return scores_plan(self.names, context)
        return scores_of(read_plan(self.config, context))


@dataclass(frozen=True)
class ScoringPlan:
    """Files to score, absolute, with their sizes and times of change, and the scores.

    ``fingerprint`` is that of the filters and their models.
    """

    files: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    scores: Scores
    fingerprint: str
    version: str = VERSION

    @classmethod
    def of(cls, files: Sequence[str], scores: Scores) -> ScoringPlan:
        """Return the plan for these files. Raises CorpusError and ArtifactError."""
        paths = tuple(str(Path(path).absolute()) for path in files)
        names: dict[str, str] = {}
        for path in paths:
            other = names.setdefault(Path(path).name, path)
            if other != path:
                raise CorpusError(f"{path} and {other} have one name; score them apart")
        # Workers may have another working directory.
        config, model = (
            str(Path(name).absolute()) if name and Path(name).exists() else name
            for name in (scores.config, scores.model)
        )
        scores = replace(scores, config=config, model=model)
        digest = hashlib.sha256(scores.plan().fingerprint().encode()).hexdigest()
        return cls(paths, tuple(map(stamp, paths)), scores, digest)

    @classmethod
    def read(cls, work: Path) -> ScoringPlan:
        """Read the plan of a work directory. Raises ArtifactError and MismatchError."""
        path = work / PLAN
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found.pop("format") != FORMAT:
                raise ValueError("another format")
            if found["version"] != VERSION:
                raise MismatchError(
                    f"{path}: made by bitext-miner {found['version']}, this worker has {VERSION}; "
                    "install one version everywhere, or name another --work"
                )
            scores = found["scores"]
            scores["names"] = tuple(scores["names"])
            scores["reading"] = BitextFormat(**scores["reading"])
            stamps = tuple((size, time) for size, time in found["stamps"])
            changed = {"files": tuple(found["files"]), "stamps": stamps, "scores": Scores(**scores)}
            return cls(**(found | changed))
        except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
            raise ArtifactError(
                f"{path}: not the plan of a scoring ({error}); name another --work"
            ) from None

    def write(self, work: Path) -> None:
        """Write the plan, or check that the one in the directory is the same.

        Raises ArtifactError, MismatchError, CorpusError for a changed file, and ResourceError.
        """
        if (work / PLAN).exists():
            old = ScoringPlan.read(work)
            for path, new, before in zip(self.files, self.stamps, old.stamps, strict=False):
                if self.files == old.files and new != before:
                    raise CorpusError(
                        f"{path}: changed since the plan in {work} was made; restore it, or name "
                        "another --work"
                    )
            if self != old:
                raise MismatchError(
                    f"{work}: its plan has other files or scores; name another --work"
                )
        with atomic_file(work / PLAN) as temporary:
            temporary.write_text(json.dumps({"format": FORMAT, **asdict(self)}), encoding="utf-8")

    def digest(self, kind: str) -> str:
        """Return a digest of the settings on which results depend."""
        content = json.dumps([self.version, self.fingerprint, asdict(self.scores)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def reading_tasks(self) -> list[Task]:
        """Return the tasks: one for each file."""
        return [
            Task(
                f"{KIND}/{number:04}", (), {"number": number, "file": path, "stamp": list(found)},
                float(found[0]),
            )
            for number, (path, found) in enumerate(zip(self.files, self.stamps, strict=True))
        ]  # fmt: skip

    def rows(self, work: Path) -> tuple[list[int], list[int]]:
        """Return nothing: all tasks are known from the beginning."""
        return [], []

    def tasks(self, rows: tuple[list[int], list[int]]) -> list[Task]:
        """Return all tasks."""
        return self.reading_tasks()


def rate(
    plan: ScoringPlan, threads: int, out: Path, number: int, file: str, **known: Any
) -> dict[str, Any]:
    """Score one file. Memory does not grow with it."""
    if stamp(file) != plan.stamps[number]:
        raise CorpusError(
            f"{file}: changed since the plan was made; restore it, or name another --work"
        )
    filters = plan.scores.plan()
    rows = Rows(file, None, plan.scores.reading, more=filters.columns, rewritable=True)
    place = out / Path(file).name
    unread, replaced = score_rows.write(
        rows, filters, place, only=plan.scores.only, threads=threads
    )
    return {"unreadable": unread, "replaced": replaced}
