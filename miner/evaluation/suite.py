"""Evaluation tasks by name, and runs of several tasks over one directory of test sets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from miner.errors import CorpusError, DependencyError, MinerError, MismatchError, NoTestSetError
from miner.evaluation import bucc, noisy, speed, tatoeba
from miner.evaluation.evaluated_model import EvaluatedModel
from miner.evaluation.results import TaskResult
from miner.progress import Reporter, silent

# Tasks by name, in the order in which they run. Each module has sets(data), evaluate(model, data,
# report) and texts(data); speed uses the texts of the others.
TASKS: dict[str, ModuleType] = {
    task.TASK: task for task in (tatoeba, bucc, noisy, *speed.further(), speed)
}


@dataclass(frozen=True)
class LeftOut:
    """Task that was skipped, with the reason; ``model`` is None if no model could do it."""

    task: str
    error: MinerError
    model: str | None = None

    def __str__(self) -> str:
        of = "" if self.model is None else f" of {self.model}"
        return f"left out: {self.task}{of}: {self.error}"

    def as_dict(self) -> dict[str, str | None]:
        """Return the entry ready for JSON."""
        return {"evaluation": self.task, "model": self.model, "reason": str(self.error)}


def choose(
    data: Path, names: Sequence[str], skip_missing: bool
) -> tuple[dict[str, ModuleType], list[LeftOut]]:
    """Return the tasks ``names``; ``skip_missing`` skips tasks without a test set.

    Raises CorpusError if ``data`` is missing, or all tasks are skipped.
    """
    if not data.is_dir():
        raise CorpusError(f"{data}: no such directory; 'miner data get' fetches public test sets")
    if not skip_missing:
        return {name: TASKS[name] for name in names}, []
    chosen, left_out = {}, []
    for name in names:
        try:
            TASKS[name].sets(data)
        except NoTestSetError as error:
            left_out.append(LeftOut(name, error))
        else:
            chosen[name] = TASKS[name]
    if not chosen:
        raise CorpusError(f"{data}: holds no test set; 'miner data list' lists public ones")
    return chosen, left_out


def run_tasks(
    tasks: Mapping[str, ModuleType],
    model: EvaluatedModel,
    data: Path,
    left_out: list[LeftOut] | None = None,
    report: Reporter = silent,
) -> list[TaskResult]:
    """Run the tasks on one model.

    With a list ``left_out``, a task that fails (CorpusError, DependencyError, MismatchError) is
    appended to it and the other tasks continue; otherwise the error is raised.
    """
    results = []
    for name, task in tasks.items():
        try:
            results.append(task.evaluate(model, data, report))
        except (DependencyError, MismatchError, CorpusError) as error:
            if left_out is None:
                raise
            left_out.append(LeftOut(name, error, model.name))
    return results


def sentences(data: Path, tasks: Iterable[ModuleType]) -> Iterator[str]:
    """Yield all sentences of the tasks, duplicates included."""
    for task in tasks:
        for _, lot in task.texts(data):
            yield from lot


def record(model: EvaluatedModel, results: Sequence[TaskResult]) -> dict[str, Any]:
    """Return a model and its results by task, ready for JSON."""
    return {
        "model": model.name,
        "fingerprint": getattr(model, "fingerprint", None),
        "evaluations": {result.task: result.as_dict() for result in results},
    }
