"""All evaluations of the papers for the model that ships, our recipes, and untrained baselines.

    python -m benchmarks.evaluations --data DIR [--only default …] [--task sts …]

The models of ``benchmarks.quality`` are trained where they are not there yet; the untrained ones of
P19 (table 2) get their pieces or trigrams from the de-en text. A model of one pair of languages is
evaluated on the sets of that pair, and on English. It is ``miner evaluate all``, model by model.
What ``--only`` and ``--task`` leave out stays as it is in the result.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.quality import trained
from miner.tasks import table
from miner.tasks.figures import Outcome
from miner.tasks.subject import Trained
from train.config import RECIPES, TrainConfig

# What the names of sets say of languages other than English.
LANGUAGES = ("ar", "cs", "de", "es", "fi", "fr", "ru", "sv", "tr", "zh")
RANDOM = RECIPES["random"]
PAIRS = ("de-en", "fr-en")
RECIPE_NAMES = ("fast", "p19")


@dataclass(frozen=True)
class Row:
    """One model. ``place``: its directory below those of ``benchmarks.quality``.

    config, pair: what it is trained by, and on, if it is not there. None for the model that ships,
    which has more than one pair.
    """

    name: str
    place: str = ""
    config: TrainConfig | None = None
    pair: str | None = None

    @property
    def random(self) -> bool:
        return self.config is not None and not self.config.epochs


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
    """The sets of ``data`` of one pair of languages (None: of all), as links in ``directory``."""
    known = {*(pair or "-".join(LANGUAGES)).split("-")}
    for path in sorted(data.rglob("*")):
        parts = path.relative_to(data)
        words = {word for part in parts.parts for word in part.replace("-", ".").split(".")}
        if path.is_file() and words & {*LANGUAGES} <= known and parts.parts[0] != "train":
            link = directory / parts
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(path.resolve())
    return directory


def measure(
    row: Row, data: Path, models: Path, tasks: Sequence[str]
) -> tuple[dict[str, Any], list[Outcome]]:
    """The figures of one model, as a dict for JSON and as they are."""
    model = "default"
    if row.config is not None:
        assert row.pair is not None
        # A second look would mine by the translations of words, and not by the encoder.
        model, _ = trained(row.config, row.pair, data, models / row.place, not row.random)
    subject = Trained(model)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="sets-") as work:
        sets = view(data, Path(work), row.pair)
        for task in tasks:
            outcomes.append(table.TASKS[task].evaluate(subject, sets, show))
            print(f"{row.name}\n{table.summary(outcomes[-1:])}", flush=True)
    return {"name": row.name, "pair": row.pair, **table.record(subject, outcomes)}, outcomes


def show(task: str, done: int, total: int | None) -> None:
    """A line where a task begins."""
    if not done:
        print(f"{task} …", flush=True)


def main() -> None:
    options = report.parser(__doc__, "evaluations.json", models=True)
    options.add_argument("--only", nargs="+", choices=[row.name for row in ROWS])
    options.add_argument("--task", nargs="+", choices=[*table.TASKS], default=[*table.TASKS])
    arguments = options.parse_args()
    results: dict[str, dict[str, Any]] = {}
    if arguments.json.exists():
        old = json.loads(arguments.json.read_text(encoding="utf-8"))["results"]
        results = {one["name"]: one for one in old}
    found: dict[str, list[Outcome]] = {}
    for row in ROWS:
        if arguments.only and row.name not in arguments.only:
            continue
        new, found[row.name] = measure(row, arguments.data, arguments.models, arguments.task)
        before = results.get(row.name, {})
        if before.get("fingerprint") == new["fingerprint"]:
            new["evaluations"] = {**before["evaluations"], **new["evaluations"]}
        results[row.name] = new
        for pair in PAIRS:
            one, other = (f"{recipe} {pair}" for recipe in RECIPE_NAMES)
            apart = []
            if row.name == other and one in found:
                apart = table.apart(found[one], found[other], brief=True)
            if apart:
                name = f"{one} less {other}"
                results[name] = {"name": name, "differences": [each.as_dict() for each in apart]}
        # Each time, so that a run that is cut short leaves what it measured.
        report.write(arguments.json, "benchmarks.evaluations", list(results.values()))


if __name__ == "__main__":
    report.run(main)
