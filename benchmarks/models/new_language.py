"""Measure a language that a model lacks after few pairs, with and without a teacher.

    python -m benchmarks new-language --data DIR [--teacher hf:models/e5-small] [--only ka]

A small model of eight languages is trained without Icelandic, Swahili and Georgian. Then
``miner train --from`` adds one of these, from 500, 2,000 or 10,000 pairs drawn from its text, with
and without ``--pieces-from TEACHER``. Sentences of the test sets are left out of all text. The
metric is the accuracy of retrieval on Tatoeba by ratio margin, mean of both directions.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.models.language_accuracy import TATOEBA, measure
from miner import MinerError
from miner.evaluation.evaluated_model import MinerModel
from miner.text.bitext import read_bitext
from miner.text.language_codes import describe

BASE = ("de", "es", "ru", "zh", "ar", "hi", "fi", "da")
NEW = ("is", "sw", "ka")
PAIRS = (500, 2_000, 10_000)
# Pairs of each language of the base model.
BASE_PAIRS = 10_000
BASE_SETTINGS = (
    "--pieces 12000 --dimension 256 --coverage 0.99995 --one-script --epochs 8 --no-verifier"
)
# Further pieces of the new language at most.
NEW_SETTINGS = "--pieces 3000"
SEED = 1


def write_text(data: Path, language: str, count: int, path: Path) -> None:
    """Write ``count`` pairs drawn from a language's text; fewer are the first of more."""
    pairs: list[tuple[str, str]] = []
    for file in sorted((data / "train" / f"{language}-en").glob("*.tsv.xz")):
        bitext = read_bitext(file)
        pairs += zip(bitext.source, bitext.target, strict=True)
    if not pairs:
        raise MinerError(f"{data / 'train' / language}-en: no training text (*.tsv.xz)")
    pairs = [(one, other) for one, other in dict.fromkeys(pairs) if one.strip() and other.strip()]
    order = np.random.default_rng(SEED).permutation(len(pairs))[:count]
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ("\t".join(pairs[i]) + "\n" for i in order.tolist())
    path.write_text("".join(lines), encoding="utf-8")


def train(output: Path, texts: list[Path], data: Path, *options: str) -> None:
    """Train a model by the command line, unless it is there."""
    if output.exists():
        return
    command = [*report.PROGRAM, "train", "-o", str(output), *options]
    for path in texts:
        command += ["--bitext", str(path)]
    for language in NEW:
        command += ["--without", str(data / "tatoeba" / f"{language}-en.tsv.xz")]
    subprocess.run(command, check=True)


def accuracy(model: Path, data: Path, language: str) -> float:
    return measure(MinerModel(str(model)), data, language)[TATOEBA]


def tables(record: dict[str, Any], conditions: Callable[[dict[str, Any]], str]) -> list[str]:
    """Return the table of accuracies by language and number of pairs, with its conditions."""
    rows = []
    for row in record["results"]["rows"]:
        cells = (f"{row[name]:.3f}" for name in ("before", "without teacher", "with teacher"))
        rows.append((describe(row["language"]), f"{row['pairs']:,}", *cells))
    columns = "language", "pairs", "before", "trained", "trained with `--pieces-from`"
    return [*table(columns, rows), "", conditions(record), ""]


def main() -> None:
    parser = report.parser(__doc__, "new-language.json", "models/new-language", NEW)
    parser.add_argument("--teacher", default="hf:models/e5-small", help="encoder of the pieces")
    parser.add_argument("--pairs", type=int, nargs="+", default=PAIRS, help="numbers of pairs")
    arguments = parser.parse_args()
    data, models = arguments.data, arguments.models
    teacher = ("--pieces-from", arguments.teacher)
    texts = [models / "text" / f"{language}-en.tsv" for language in BASE]
    for language, path in zip(BASE, texts, strict=True):
        write_text(data, language, BASE_PAIRS, path)
    base = models / "base"
    train(base, texts, data, *BASE_SETTINGS.split(), *teacher)
    rows: list[dict[str, Any]] = []
    for language in arguments.only:
        before = accuracy(base, data, language)
        for count in arguments.pairs:
            path = models / "text" / str(count) / f"{language}-en.tsv"
            write_text(data, language, count, path)
            row = {"language": language, "pairs": count, "before": before}
            for name, options in (("without teacher", ()), ("with teacher", teacher)):
                output = models / f"{language}-{count} {name}".replace(" ", "-")
                train(output, [path], data, "--from", str(base), *NEW_SETTINGS.split(), *options)
                row[name] = accuracy(output, data, language)
            rows.append(row)
            print(row, flush=True)
            # Written after each row, so that a killed run leaves its results.
            results = {"teacher": Path(arguments.teacher).name, "base": BASE, "rows": rows}
            report.write(arguments.json, "new-language", results)
