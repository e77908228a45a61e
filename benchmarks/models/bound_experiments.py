"""Bounds of P17's grids on back-translated text, at a fixed number of pairs, on STS-B dev.

The text is that of :mod:`benchmarks.models.back_translation_experiments`, the training that of
``miner paraphrase tune``: words from random embeddings, the recipe of P17.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.models.back_translation_experiments import SEEDS, texts
from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import STS_DEV, ExperimentBench
from miner.evaluation import sts
from miner.evaluation.labelled_text import tsv_files
from miner.filters.ngram_overlap import overlap
from miner.papers.bounds import Bounds
from miner.text.words import tokens
from miner_train.development import read_graded
from miner_train.papers import tune_bounds
from miner_train.recipes import RECIPES

LANGUAGES = "de-en"
# Pairs of a row, out of all that are translated; a part of P17's bounds.
SHARE = 0.25
SHARES: tuple[Bounds, ...] = (
    (0.0, 1.0), (0.0, 0.6), (0.0, 0.8), (0.2, 0.8), (0.2, 1.0), (0.3, 1.0)
)  # fmt: skip
LENGTHS: tuple[Bounds, ...] = ((0, 10), (0, 15), (0, 30), (10, 30))


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Tune the bounds of 1-gram overlap and of length, from several seeds."""
    pairs = texts(bench, LANGUAGES)[1]
    sides = [one for one, _ in pairs], [other for _, other in pairs]
    words = [[tokens(text) for text in side] for side in sides]
    count = int(len(pairs) * SHARE)
    graded = [read_graded(str(tsv_files(bench.data / sts.TASK)[STS_DEV]))]
    shares = np.array([overlap(one, other, 1) for one, other in zip(*words, strict=True)])
    lengths = np.array([len(own) for own in words[0]], dtype=np.float64)
    config = replace(RECIPES["p17"], heldout=0)
    if bench.quick:
        config = replace(config, epochs=1)
    rows: list[Row] = []
    for group, scores, grid in (
        ("overlap of 1-grams", shares, SHARES),
        ("words of the translation", lengths, LENGTHS),
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
