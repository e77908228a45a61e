"""Bounds of P17's grids on back-translated text, at a fixed number of pairs, on STS-B dev.

The text is that of :mod:`benchmarks.models.translation_experiments`, three translations of a
sentence, the training that of ``miner paraphrase tune``: words from random embeddings, the recipe
of P17.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.models.back_translation_experiments import SEEDS
from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import STS_DEV, ExperimentBench
from benchmarks.models.translation_experiments import references
from miner.evaluation.labelled_text import tsv_files
from miner.filters.ngram_overlap import overlap
from miner.text.words import tokens
from miner_train.development import read_graded
from miner_train.papers import sts, tune_bounds
from miner_train.papers.bounds import Bounds
from miner_train.recipes import RECIPES

# References of a row, out of all; a part of P17's bounds.
SHARE = 0.25
SHARES: tuple[Bounds, ...] = (
    (0.0, 1.0), (0.0, 0.6), (0.0, 0.8), (0.2, 0.8), (0.2, 1.0), (0.3, 1.0)
)  # fmt: skip
LENGTHS: tuple[Bounds, ...] = ((0, 10), (0, 15), (0, 30), (10, 30))
# Shares of the translations that a bound of the cost keeps.
COSTS = (0.4, 0.6, 0.8, 1.0)


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Tune the bounds of 1-gram overlap, length and cost, from several seeds."""
    groups = references(bench)
    pairs = [(text, one) for text, own in groups.items() for one in own]
    sides = [text for text, _ in pairs], [one.text for _, one in pairs]
    words = [[tokens(text) for text in side] for side in sides]
    count = int(len(groups) * SHARE)
    graded = [read_graded(str(tsv_files(bench.data / sts.TASK)[STS_DEV]))]
    shares = np.array([overlap(one, other, 1) for one, other in zip(*words, strict=True)])
    lengths = np.array([len(own) for own in words[1]], dtype=np.float64)
    costs = np.array([one.cost for _, one in pairs])
    # The costs of this translator are higher than a neural one's: bounds by its own quantiles.
    highest = [(0.0, round(float(np.quantile(costs, share)), 2)) for share in COSTS]
    config = replace(RECIPES["p17"], heldout=0)
    if bench.quick:
        config = replace(config, epochs=1)
    rows: list[Row] = []
    for group, scores, grid in (
        ("overlap of 1-grams", shares, SHARES),
        ("words of the translation", lengths, LENGTHS),
        ("cost", costs, highest),
    ):
        for seed in SEEDS:
            begun = time.process_time()
            own = replace(config, seed=seed)
            found = tune_bounds.tune(sides, scores, grid, graded, own, count, print)
            spent = (time.process_time() - begun) / len(grid)
            for one in found:
                row: Row = {"group": group, "name": f"{one.bounds[0]:g} to {one.bounds[1]:g}"}
                row |= {"pairs": count, "within": one.within, "seed": seed}
                if one.correlation is None:
                    row["failed"] = "too few pairs"
                else:
                    row["figures"] = {"sts-b dev": {"value": one.correlation}}
                    row["training CPU seconds"] = round(spent, 1)
                rows.append(row)
            yield {"rows": rows}
