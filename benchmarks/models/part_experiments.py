"""Recipes of the papers with one part changed: shuffled pairs, mega-batches, parts of the BLSTM.

Averages are trained from several seeds, recurrent networks from one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import STS_DEV, ExperimentBench, metrics, pick
from benchmarks.models.training_text import (
    BILINGUAL,
    ENGLISH,
    SEED,
    Pair,
    bilingual,
    draw,
    paraphrases,
)
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.labelled_text import read_labelled, tsv_files
from miner_train.config import TrainConfig
from miner_train.papers import paraphrase_detection as paraphrase
from miner_train.papers import sts
from miner_train.recipes import recipe

SEEDS = (1, 2, 3)
# Shares of the pairs that are shuffled.
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
# P19 chooses epochs by it, P18 compares mega-batches on it.
STS_2017 = "2017.track5.en-en"
MEGABATCHES = (1, 20, 40)
# Passes of the BLSTM over the text, fewer than the ten of P19.
EPOCHS = 3
# Changes of P19's recipe for the BLSTM.
PARTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "full mega-batches at once": {"anneal": 0},
    "without shuffling": {"scramble": 0.0},
    "without dropout": {"embedding_dropout": 0.0},
}


def measure_shuffled(bench: ExperimentBench) -> Iterator[Results]:
    """Train S18's average and GRAN on paraphrases by pivoting, a part of them shuffled."""

    def detection(model: Path) -> dict[str, Any]:
        found = paraphrase.evaluate(MinerModel(str(model)), bench.data).metrics
        accuracy = pick(found, "msrpc", "accuracy by MLP (u, v)")
        return {
            "msrpc": accuracy.as_dict(),
            **metrics(model, bench.data, ENGLISH, mine=False),
        }

    def rows() -> Iterator[tuple[str, str, list[Pair], TrainConfig]]:
        pairs = draw(paraphrases(bench.data), 2 * bench.pairs)
        few = pairs[: bench.pairs]
        # Select the last epoch: held-out pairs are shuffled as well, so they cannot select.
        average, gran = (replace(recipe("s18", name), heldout=0) for name in ("word", "gran-gru"))
        group = "average of morphs"
        for share in SHARES:
            yield group, f"{share:.0%}", shuffled(few, share), average
        yield group, "30% of twice the pairs", shuffled(pairs, 0.3), average
        yield group, "0%, words in place of morphs", few, replace(average, segmentation="none")
        for share in SHARES[::2]:
            yield "GRAN over morphs", f"{share:.0%}", shuffled(few, share), gran

    return _each(bench, rows(), detection)


def measure_megabatches(bench: ExperimentBench) -> Iterator[Results]:
    """Train P18's words and BLSTM with negatives from some numbers of batches."""

    def rows() -> Iterator[tuple[str, str, list[Pair], TrainConfig]]:
        pairs = draw(paraphrases(bench.data), bench.pairs)
        for encoder in ("word", "blstm"):
            for size in MEGABATCHES:
                config = replace(recipe("p18", encoder), megabatch=size)
                yield encoder, str(size), pairs, config

    return _each(bench, rows(), lambda model: similarity(model, bench.data))


def measure_blstm(bench: ExperimentBench) -> Iterator[Results]:
    """Train P19's BLSTM over pieces, and without each of its parts."""
    pairs = draw(bilingual(bench.data), bench.pairs)
    config = replace(recipe("p19", "blstm-sp"), epochs=EPOCHS)
    rows = (
        ("BLSTM over pieces", name, pairs, replace(config, **changes))
        for name, changes in PARTS.items()
    )
    return _each(bench, rows, lambda model: similarity(model, bench.data), BILINGUAL)


def _each(
    bench: ExperimentBench,
    rows: Iterable[tuple[str, str, list[Pair], TrainConfig]],
    measure: Any,
    languages: str = ENGLISH,
) -> Iterator[Results]:
    """Train and measure each row, of group, name, pairs and configuration, the first seed first."""
    found: list[Row] = []
    every = list(rows)
    for seed in SEEDS:
        for group, name, pairs, config in every:
            if seed > SEEDS[0] and any(kind.network for kind in config.kinds):
                continue
            own = replace(config, seed=seed)
            found.append(bench.row(group, name, pairs, own, languages, measure=measure, seed=seed))
            yield {"rows": found}


def shuffled(pairs: list[Pair], share: float) -> list[Pair]:
    """Replace the second sentence of a random share of the pairs by that of another of them."""
    # Other random numbers than those of held-out pairs, which would else be the shuffled ones.
    order = np.random.default_rng([SEED, 101]).permutation(len(pairs))
    rows = order[: round(share * len(pairs))]
    found = list(pairs)
    for row, other in zip(rows.tolist(), np.roll(rows, 1).tolist(), strict=True):
        found[row] = pairs[row][0], pairs[other][1]
    return found


def similarity(model: Path, data: Path) -> dict[str, Any]:
    """Return Pearson's correlation on English STS 2017 and on the development part of STS-B."""
    evaluated, files = MinerModel(str(model)), tsv_files(data / sts.TASK)
    return {
        label: pick(
            sts.correlations(evaluated, name, read_labelled(files[name]))[0], name, sts.PEARSON
        ).as_dict()
        for label, name in (("sts 2017", STS_2017), ("sts-b dev", STS_DEV))
    }
