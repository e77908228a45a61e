"""Rows of the experiments: a model of some pairs, and its metrics with intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.models import training_text
from benchmarks.models.bench import Bench, Row
from benchmarks.models.training_text import BILINGUAL, ENGLISH, Pair, Text
from miner import MinerError
from miner.encoder.model import load
from miner.evaluation import bucc, mining_sets, tatoeba
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.labelled_text import read_labelled, tsv_files
from miner.evaluation.mining_sets import SPLITS
from miner.evaluation.results import Metric
from miner_train.config import TrainConfig
from miner_train.papers import sts
from miner_train.recipes import RECIPES

# Passes over the text, the same in every row; more passes change little.
EPOCHS = 5
P19 = replace(RECIPES["p19-tuned"], epochs=EPOCHS)
# Both columns are English, so the nearest other sentence may be in either.
PARAPHRASE = replace(P19, negatives_from="either")
# Development set of the STS Benchmark.
STS_DEV = "stsb.en.dev"


class ExperimentBench(Bench):
    """A bench whose rows differ in their training pairs.

    pairs: their number, where fixed.
    """

    def __init__(
        self,
        data: Path,
        models: Path,
        old: Mapping[str, list[Row]],
        quick: bool = False,
        *,
        pairs: int,
    ):
        super().__init__(data, models, old, quick)
        self.pairs = pairs

    @property
    def default(self) -> str:
        """Fingerprint of the model that ships, which scores some of the pairs."""
        return load("default").fingerprint

    def text(self, group: str, name: str, pairs: Sequence[Pair]) -> Text:
        """Write the training text of a row."""
        return training_text.written(f"{group} {name}", pairs, self.work)

    def row(
        self,
        group: str,
        name: str,
        pairs: Sequence[Pair],
        config: TrainConfig = P19,
        languages: str = BILINGUAL,
        mine: bool = True,
        measure: Callable[[Path], dict[str, Any]] | None = None,
        **more: Any,
    ) -> Row:
        """Return one row of a table.

        ``mine``: measure mining too, which takes longest. ``measure``: other metrics of the model
        in a directory.
        """
        print(f"{group}: {name}, {len(pairs):,} pairs", flush=True)
        text = self.text(group, name, pairs)
        measure = measure or partial(metrics, data=self.data, languages=languages, mine=mine)
        return {
            "group": group,
            "name": name,
            "pairs": len(pairs),
            **more,
            "text": text.described,
            **self.measured(text, config, measure),
        }


def metrics(model: Path, data: Path, languages: str, mine: bool) -> dict[str, Any]:
    """Return metrics of a model on the sets of its languages, each with its interval."""
    evaluated = MinerModel(str(model))
    found: dict[str, Metric] = {}
    if mine and languages == BILINGUAL:
        task = next((one for one in mining_sets.sets(data) if one.pair == languages), None)
        if task is None:
            raise MinerError(f"{data}: no {languages} in the format of BUCC")
        found["bucc"] = bucc.metrics_of(bucc.mine_set(evaluated, task, ("margin",))[0])[0]
    if languages != ENGLISH:
        place = tatoeba.sets(data).get(languages)
        accuracies = tatoeba.accuracies(evaluated, languages, place)[0] if place else ()
        found["tatoeba"] = pick(accuracies, languages, "both ways by margin")
    found |= similarity(evaluated, data)
    return {name: metric.as_dict() for name, metric in found.items()}


def similarity(evaluated: MinerModel, data: Path) -> dict[str, Metric]:
    """Return the mean over the sets of STS 2012 to 2016, and STS-B."""
    wanted = (*sts.MEANS[sts.ALL_YEARS], sts.BENCHMARK.format("en"))
    result = sts.evaluate(evaluated, data, only=wanted)
    # The mean's name goes on after this prefix where some sets are missing.
    means = (one for one in result.metrics if one.dataset.startswith(sts.ALL_YEARS))
    mean = next((one for one in means if one.name == sts.PEARSON), None)
    if mean is None:
        raise MinerError(f"{data / sts.TASK}: no sets of STS 2012 to 2016")
    return {"sts 12-16": mean, "sts-b": pick(result.metrics, wanted[-1], sts.PEARSON)}


def development(model: Path, data: Path) -> dict[str, Any]:
    """Return metrics on development sets: mining by margin, and STS-B.

    Mining F1 is that of the best threshold of the training split, which is tuned on itself.
    """
    evaluated = MinerModel(str(model))
    task = next(one for one in mining_sets.sets(data) if one.pair == BILINGUAL)
    (mined,) = bucc.mine_set(evaluated, task, ("margin",), SPLITS[:1])
    pairs = read_labelled(tsv_files(data / sts.TASK)[STS_DEV])
    found = {
        "bucc training": bucc.metrics_of(mined)[0],
        "sts-b dev": pick(sts.correlations(evaluated, STS_DEV, pairs)[0], STS_DEV, sts.PEARSON),
    }
    return {name: metric.as_dict() for name, metric in found.items()}


def pick(found: Sequence[Metric], dataset: str, name: str) -> Metric:
    """Return the metric of that set and name."""
    for metric in found:
        if (metric.dataset, metric.name) == (dataset, name):
            return metric
    raise MinerError(f"{dataset}: not among the sets; the data is not all there")
