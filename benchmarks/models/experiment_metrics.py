"""Train a row, unless its model is there, and take its figures, unless they are."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.models import encoder_metrics, experiment_text
from benchmarks.models.encoder_text import BILINGUAL, Pair
from miner import MinerError
from miner.encoder.model import load
from miner.evaluation import bucc, mining_sets, sts, tatoeba
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.results import Metric
from miner_train.config import RECIPES, TrainConfig

# Passes over the text, the same in every row: enough that more of them change little.
EPOCHS = 5
P19 = replace(RECIPES["p19"], epochs=EPOCHS)
# Two columns of English: the nearest other sentence may be of either.
PARAPHRASE = replace(P19, negatives_from="either")

Row = dict[str, Any]
# What a section finds so far, ``rows`` among it.
Results = dict[str, Any]


class Bench:
    """All that is measured, from one directory of data and one of models.

    pairs: of a row, where the question is not their number. known: figures that were taken before,
    by the model's fingerprint: the same vectors have the same figures.
    """

    def __init__(
        self,
        data: Path,
        models: Path,
        pairs: int,
        known: dict[str, Row],
        change: Callable[[TrainConfig], TrainConfig] = lambda config: config,
    ):
        self.data, self.models, self.pairs, self.known = data, models, pairs, known
        self.change = change

    @property
    def work(self) -> Path:
        return self.models / "text"

    def train(
        self, name: str, pairs: Sequence[Pair], config: TrainConfig
    ) -> tuple[Path, experiment_text.Text]:
        """The directory of a model of these pairs, and the text on disk."""
        prepared = experiment_text.written(name, pairs, self.work)
        return encoder_metrics.trained(self.change(config), prepared, self.models)[0], prepared

    def row(
        self,
        group: str,
        name: str,
        pairs: Sequence[Pair],
        config: TrainConfig = P19,
        languages: str = BILINGUAL,
        mine: bool = True,
        **more: Any,
    ) -> Row:
        """One line of a table; what went wrong, where that is what there is to tell.

        ``mine``: also take the figures of mining, which take longest, if it is for these languages.
        """
        print(f"{time.strftime('%H:%M:%S')}  {group}: {name}, {len(pairs):,} pairs", flush=True)
        found: Row = {"group": group, "name": name, "pairs": len(pairs), **more}
        found["settings"] = encoder_metrics.settings(self.change(config))
        try:
            model, prepared = self.train(f"{group} {name}", pairs, config)
            fingerprint = load(model).fingerprint
            if fingerprint not in self.known:
                self.known[fingerprint] = figures(model, self.data, languages, mine)
        except MinerError as error:  # one text that is too small, say; the others still tell
            print(f"error: {error}", flush=True)
            return {**found, "failed": str(error).splitlines()[0]}
        return {
            **found,
            "text": prepared.described,
            "fingerprint": fingerprint,
            "figures": self.known[fingerprint],
        }


def figures(model: Path, data: Path, languages: str, mine: bool) -> dict[str, Any]:
    """Metrics of a model on the sets of its languages, each with its interval, ready for JSON."""
    evaluated = MinerModel(str(model))
    found: dict[str, Metric] = {}
    if mine and languages == BILINGUAL:
        task = next((one for one in mining_sets.sets(data) if one.pair == languages), None)
        if task is None:
            raise MinerError(f"{data}: no {languages} in the format of BUCC")
        found["bucc"] = bucc.metrics_of(bucc.mine_set(evaluated, task, ("margin",))[0])[0]
    if languages != experiment_text.ENGLISH:
        result = tatoeba.evaluate(evaluated, data)
        found["tatoeba"] = pick(result.metrics, languages, "both ways by margin")
    result = sts.evaluate(evaluated, data)
    mean = sts.mean_in(result.metrics, sts.ALL_YEARS)
    if mean is None:
        raise MinerError(f"{data / sts.TASK}: no sets of STS 2012 to 2016")
    found["sts 12-16"] = mean
    found["sts-b"] = pick(result.metrics, sts.BENCHMARK.format("en"), sts.PEARSON)
    return {name: metric.as_dict() for name, metric in found.items()}


def pick(found: Sequence[Metric], dataset: str, name: str) -> Metric:
    """Return the metric of that set and name."""
    for metric in found:
        if (metric.dataset, metric.name) == (dataset, name):
            return metric
    raise MinerError(f"{dataset}: not among the sets; the data is not all there")
