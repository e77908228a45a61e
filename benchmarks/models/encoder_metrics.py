"""Measure one encoder: mining, retrieval, similarity, speed and parameters."""

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.mining import bucc_protocol
from benchmarks.models.training_text import BILINGUAL
from miner import Encoder, MinerError
from miner.evaluation import tatoeba
from miner.evaluation.evaluated_model import MinerModel
from miner.knn.settings import SearchSettings
from miner.text.corpus import read
from miner.text.language_codes import ENGLISH
from miner_train.papers import sts

# Speed: the first English sentences of the mining task, encoded ROUNDS times. Their number gives
# two or four threads equally many chunks (miner.encoder.encoder.CHUNK).
SENTENCES, ROUNDS = 8000, 5
STSB = sts.BENCHMARK.format(ENGLISH)


def metrics(model: Path, data: Path, bilingual: bool) -> dict[str, Any]:
    """Return metrics of a model on each set, its speed and its parameters.

    Only ``bilingual`` models are measured on mining and retrieval.
    """
    evaluated = MinerModel(str(model))
    found: dict[str, Any] = {}
    if bilingual:
        mined = bucc_protocol.measure(
            str(model), data / "bucc-style", BILINGUAL, None, SearchSettings(rank="margin")
        )
        found["bucc"] = {name: mined[name] for name in ("training", "test", "test oracle")}
        found["tatoeba"] = retrieval(evaluated, data)
    result = sts.evaluate(evaluated, data)
    by_set: dict[str, dict[str, float]] = {}
    for one in result.metrics:
        if one.dataset == STSB or one.dataset.split(".")[0] in sts.YEARS:
            by_set.setdefault(one.dataset, {"pairs": one.items})[one.name] = one.value
    # It is named although sets are missing.
    means = (one for one in result.metrics if one.dataset.startswith(sts.ALL_YEARS))
    mean = next((one for one in means if one.name == sts.PEARSON), None)
    if mean is None:
        raise MinerError(f"{data / 'sts'}: no data sets of STS 2012 to 2016 (2012.*.tsv)")
    found["sts 12-16"] = 100 * mean.value
    found["sts-b"] = 100 * by_set[STSB][sts.PEARSON]
    found["sts"] = {name: one for name, one in by_set.items() if one["pairs"]}
    english = evaluated.encoder(ENGLISH)
    assert isinstance(english, Encoder)
    found["sentences/s"] = speed(english, data)
    found["parameters"] = english.model.parameters
    return found


def retrieval(model: MinerModel, data: Path) -> dict[str, float]:
    """Return the accuracy on Tatoeba by cosine, in each direction and on average."""
    path = tatoeba.sets(data).get(BILINGUAL)
    if path is None:
        raise MinerError(f"{data / tatoeba.TASK}: no {BILINGUAL}.tsv, plain or compressed")
    by_metric = {one.name: one for one in tatoeba.accuracies(model, BILINGUAL, path)[0]}
    ways = {"to_target": "there", "to_source": "back", "mean": "both ways"}
    found: dict[str, float] = {
        name: by_metric[f"{way} by cosine"].value for name, way in ways.items()
    }
    return {**found, "pairs": by_metric["there by cosine"].items}


def speed(encoder: Encoder, data: Path) -> dict[str, int]:
    """Return the throughput from text to vectors in memory, in sentences/s."""
    task = bucc_protocol.located(data / "bucc-style", BILINGUAL)
    sample = read(task.need("test.en"), format="bucc").sentences[:SENTENCES]
    encoder.encode(sample[: SENTENCES // 20])  # compile, warm up
    rates = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        encoder.encode(sample)
        rates.append(len(sample) / (time.perf_counter() - started))
    return {
        "median": round(statistics.median(rates)),
        "min": round(min(rates)),
        "max": round(max(rates)),
        "sentences": len(sample),
    }
