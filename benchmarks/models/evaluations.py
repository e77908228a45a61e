"""Run all evaluations of ``miner evaluate`` on the shipped model, both recipes, random baselines.

    python -m benchmarks evaluations --data DIR [--models models/bench] [--only default]

The models of ``benchmarks mining`` are trained if they do not exist. The random baselines of P19
(table 2) take their pieces or trigrams from the de-en text. A model of one language pair is
evaluated on the sets of that pair and on English. Test sentences in the training text are counted.
``--only default`` measures the model that ships again and keeps the rows of the others.
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.mining.mining_quality import PAIRS, trained_on
from benchmarks.models import seen
from miner.evaluation import suite, summary
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.results import TaskResult
from miner.text.patterns import files_below
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES

# Languages other than English in the names of sets.
LANGUAGES = (
    *("ar", "cs", "de", "es", "fi", "fr", "hu", "it", "ja"),
    *("nl", "pl", "pt", "ru", "sv", "tr", "uk", "zh"),
)
RANDOM = RECIPES["random"]
RECIPE_NAMES = ("fast", "p19-tuned")


@dataclass(frozen=True)
class Row:
    """Model. ``place``: its directory in the output of ``benchmarks mining``.

    config, pair: configuration and text of its training; None for the shipped model.
    """

    name: str
    place: str = ""
    config: TrainConfig | None = None
    pair: str | None = None


ROWS = (
    Row("default"),
    *(
        Row(f"{name} {pair}", f"{pair}-{name}", RECIPES[name], pair)
        for pair in PAIRS
        for name in RECIPE_NAMES
    ),
    Row("random sp, 20k", "random-sp-20k", replace(RANDOM, pieces=20_000), "de-en"),
    Row("random sp, 40k", "random-sp-40k", replace(RANDOM, pieces=40_000), "de-en"),
    Row("random trigram", "random-trigram", replace(RANDOM, encoder="trigram"), "de-en"),
)


def view(data: Path, directory: Path, pair: str | None) -> Path:
    """Link the sets of one language pair (None: all) from ``data`` into ``directory``."""
    known = {*(pair or "-".join(LANGUAGES)).split("-")}
    for path in files_below(data):
        parts = path.relative_to(data)
        words = {word for part in parts.parts for word in part.replace("-", ".").split(".")}
        if words & {*LANGUAGES} <= known and parts.parts[0] != "train":
            link = directory / parts
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())
    return directory


def measure(row: Row, data: Path, models: Path) -> tuple[dict[str, Any], list[TaskResult]]:
    """Return the metrics of one model, as a dict for JSON and as task results."""
    model = "default"
    if row.config is not None and row.pair is not None:
        model = str(models / row.place)
        trained_on(row.pair, row.config, data, models / row.place)
    evaluated = MinerModel(model)
    task_results: list[TaskResult] = []
    with tempfile.TemporaryDirectory(prefix="sets-") as work:
        sets = view(data, Path(work), row.pair)
        for name, task in suite.TASKS.items():
            # Speed is measured on the same text for all models.
            task_results.append(task.evaluate(evaluated, data if name == "speed" else sets, show))
            print(f"{row.name}\n{summary.summary_text(task_results[-1:])}", flush=True)
    return {
        "name": row.name,
        "pair": row.pair,
        **suite.record(evaluated, task_results),
    }, task_results


def show(task: str, done: int, total: int | None) -> None:
    """Print a line at the start of a task."""
    if not done:
        print(f"{task} …", flush=True)


def main() -> None:
    names = [row.name for row in ROWS]
    arguments = report.parser(__doc__, "evaluations.json", "models/bench", names).parse_args()
    results: list[dict[str, Any]] = []
    found: dict[str, list[TaskResult]] = {}
    for row in ROWS:
        if row.name in arguments.only:
            result, found[row.name] = measure(row, arguments.data, arguments.models)
            results.append(result)
    for pair in PAIRS:
        one, other = (f"{recipe} {pair}" for recipe in RECIPE_NAMES)
        if one in found and other in found:
            apart = [each.as_dict() for each in summary.compare(found[one], found[other])]
            results.append({"name": f"{one} less {other}", "differences": apart})
    results.append({"name": "seen", "seen": seen.count(arguments.data, PAIRS)})
    report.replace(arguments.json, "evaluations", results, lambda row: row["name"])
