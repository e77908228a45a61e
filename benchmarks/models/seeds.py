"""Measure models of one recipe with several seeds.

    python -m benchmarks seeds --data DIR --model default --model models/seed2 ...

The shipped model has seed 1. The others have seed N in the second command of ``make model``, the
further training, and start from the same model; the third command learns their verifier. Mining is
that of ``benchmarks mining``: F1 on test with the threshold of training, and with the one that the
tool chose for an estimated precision of 0.95. Other metrics are those of ``benchmarks languages``,
``miner evaluate contrast`` (the critical and major kinds of DEMETR in five languages; cases made
from the gold pairs of the training splits) and ``miner evaluate noisy``.
"""

import argparse
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import report
from benchmarks.markdown import table
from benchmarks.mining import bucc_protocol
from benchmarks.models import language_accuracy
from miner.encoder.model import load
from miner.evaluation import contrast, noisy
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.labelled_text import find_file
from miner.knn.settings import SearchSettings
from miner.text.corpus import read
from miner.text.corruptions import KINDS

# Languages of DEMETR that the first models were trained on.
DEMETR = ("german", "french", "spanish", "russian", "czech")
HARD = "mean, critical and major"


def measure(name: str, data: Path) -> dict[str, float]:
    """Return all metrics of one model, shares in [0, 1], by name. Raises MinerError."""
    model, found = MinerModel(name), {}
    for pair in ("de-en", "fr-en"):
        for rank in ("margin", "probability"):
            result = bucc_protocol.measure(
                name, data / "bucc-style", pair, None, SearchSettings(rank=rank)
            )
            found[f"{pair} by {rank}, best F1 on training"] = result["training"]["f1"]
            found[f"{pair} by {rank}, F1 on test"] = result["test"]["f1"]
            if own := result.get("test, own choice"):
                found[f"{pair}, F1 on test by the tool's own threshold"] = own["f1"]
                found[f"{pair}, precision on test by it"] = own["precision"]
    languages = [code for code in load(name).languages if code != language_accuracy.ENGLISH]
    sets = [language_accuracy.measure(model, data, code) for code in languages]
    for test in (language_accuracy.TATOEBA, *language_accuracy.UNSEEN):
        values = [one[test] for one in sets if test in one]
        found[f"{test}, mean accuracy"] = mean(values)
        found[f"{test}, least accuracy"] = min(values)
    path = find_file(data / "contrast", "demetr.tsv")
    assert path is not None
    for metric in contrast.evaluate(model, contrast.read_cases(path, DEMETR)).metrics:
        if metric.dataset == HARD and metric.name == "quality":
            found["DEMETR, critical and major"] = metric.value
    for pair in ("de-en", "fr-en"):
        cases = contrast.evaluate(model, news_cases(data / "bucc-style", pair))
        (value,) = (metric.value for metric in cases.headline if metric.name == "quality")
        found[f"{pair} contrast cases, mean of the kinds"] = value
        shares = {
            metric.dataset: metric.value
            for metric in cases.metrics
            if metric.name == "quality" and metric.dataset in KINDS
        }
        for kind, share in shares.items():
            found[f"{pair} contrast cases, {kind.replace('_', ' ')}"] = share
    for metric in noisy.evaluate(model, data).metrics:
        if metric.name == "auc by quality":
            found[f"{metric.dataset}, AUC by quality"] = metric.value
    return found


def news_cases(data: Path, pair: str) -> list[contrast.Case]:
    """Make contrast cases from the gold pairs of the training split of a BUCC-style set."""
    task = bucc_protocol.located(data, pair)
    sides = []
    for language in pair.split("-"):
        corpus = read(task.need(f"training.{language}"), format="bucc")
        sides.append(dict(zip(corpus.ids, corpus.sentences, strict=True)))
    gold = sorted(task.gold("training"))
    return contrast.make_cases(
        [sides[0][source] for source, _ in gold], [sides[1][target] for _, target in gold]
    )


def seeds(record: dict[str, Any]) -> list[str]:
    """Return the table: a row for each metric, a column for each model, and the range."""
    models = record["results"]
    rows = []
    for name in models[0]["metrics"]:
        values = [one["metrics"][name] for one in models]
        spread = f"{min(values):.3f}–{max(values):.3f}"
        rows.append((name, *(f"{value:.3f}" for value in values), spread))
    return table(("metric", *(Path(one["model"]).name for one in models), "range"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="directory of the data sets")
    parser.add_argument("--model", action="append", required=True, help="repeatable")
    parser.add_argument("--json", type=Path, default=report.RESULTS / "seeds.json")
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    for name in arguments.model:
        model = load(name)
        metrics = measure(name, arguments.data)
        results.append({"model": name, "fingerprint": model.fingerprint, "metrics": metrics})
        print("\n".join(seeds({"results": results})), flush=True)
    report.write(arguments.json, "seeds", results)
