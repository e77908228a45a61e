"""Measure mining by the BUCC protocol: threshold from the training split, metrics on test.

    python -m benchmarks bucc --data DIR --pair de-en --model M [--model M2 ...]

DIR holds the files of BUCC 2018, or of any set in its format: ``de-en.training.de``,
``de-en.training.en``, ``de-en.training.gold`` and the same for ``test``, plain or compressed, in
DIR itself or in ``DIR/de-en``. The test gold of BUCC 2018 was never published: ``--submit FILE``
writes the pairs mined from test.

``miner evaluate bucc`` (:mod:`miner.evaluation.bucc`) does the same with default settings. If
probabilities rank the pairs, those that the tool keeps for an estimated precision of 0.95, without
gold, are measured too. The oracle F1 has its threshold tuned on the test gold; it is no result.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import report
from miner import MinerError
from miner.evaluation import bucc
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.mining_sets import MiningSet
from miner.knn.settings import SearchSettings
from miner.option_values import MARGINS, RANKS, RETRIEVALS


def located(data: Path, pair: str) -> MiningSet:
    """Find the files of a pair in ``data`` or ``data/PAIR``. Raises MinerError."""
    source = pair.split("-")[0]
    for directory in (data / pair, data):
        task = MiningSet(pair, directory, pair)
        if task.file(f"training.{source}") or task.file(f"test.{source}"):
            return task
    raise MinerError(
        f"{data}: no {pair}.training.{source}, plain or compressed, there or in {pair}/"
    )


def measure(
    model: str, data: Path, pair: str, submit: Path | None, settings: SearchSettings
) -> dict[str, Any]:
    """Return the metrics of one model on one language pair, for JSON."""
    evaluated = MinerModel(model)
    rank = settings.rank or ("probability" if evaluated.verifies else "margin")
    (found,) = bucc.mine_set(evaluated, located(data, pair), (rank,), settings=settings)
    if submit is not None:
        if "test" not in found.mined:
            raise MinerError(f"{data}: no {pair}.test to submit pairs of")
        lines = [
            f"{source}\t{target}\n"
            for score, source, target in found.mined["test"].pairs
            if score >= found.threshold
        ]
        submit.write_text("".join(lines), encoding="utf-8")
    return {
        "model": model,
        "fingerprint": evaluated.fingerprint,
        "pair": pair,
        "settings": {
            "rank": rank,
            "k": replace(settings, rank=rank).neighbors,
            "margin": settings.margin_function,
            "retrieval": settings.retrieval,
        },
        **found.as_dict(),
    }


def table(results: list[dict]) -> str:
    """Format the results as text."""
    lines = [
        f"{'model':28} {'pair':6} {'threshold':>9} {'train F1':>9} "
        f"{'test P':>8} {'test R':>8} {'test F1':>8} {'(oracle)':>9}"
    ]
    for result in results:
        test, oracle = result.get("test"), result.get("test oracle")
        line = f"{result['model'][-28:]:28} {result['pair']:6} "
        line += f"{_number(result['training']['threshold'])} {result['training']['f1']:9.4f} "
        if test and oracle:
            line += f"{test['precision']:8.4f} {test['recall']:8.4f} {test['f1']:8.4f} "
            line += f"{oracle['f1']:9.4f}"
        else:
            line += "no test gold here"
        lines.append(line)
    return "\n".join(lines)


def _number(threshold: float | None) -> str:
    return "     none" if threshold is None else f"{threshold:9.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="directory of the data sets")
    parser.add_argument("--pair", action="append", required=True, help="de-en; repeatable")
    parser.add_argument("--model", action="append", required=True, help="directory; repeatable")
    parser.add_argument("--rank", choices=RANKS, help="[probability, if the model has a verifier]")
    parser.add_argument("--margin", choices=MARGINS)
    parser.add_argument("--retrieval", default="max", choices=RETRIEVALS)
    parser.add_argument("-k", type=int, help="neighbours [8 for probability, 4 for margin]")
    parser.add_argument("--submit", type=Path, help="write the test pairs at the tuned threshold")
    parser.add_argument("--json", type=Path, help="file of the results")
    arguments = parser.parse_args()
    if arguments.submit and len(arguments.pair) * len(arguments.model) > 1:
        parser.error("--submit takes one --pair and one --model: it writes one file")
    settings = SearchSettings(arguments.k, arguments.rank, arguments.margin, arguments.retrieval)
    results = [
        measure(model, arguments.data, pair, arguments.submit, settings)
        for pair in arguments.pair
        for model in arguments.model
    ]
    print(table(results))
    if arguments.json:
        report.write(arguments.json, "bucc", results)
