"""Metrics against the number of training pairs, by two recipes.

Each sample contains the smaller ones.
"""

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import EPOCHS, ExperimentBench
from benchmarks.models.training_text import bilingual, draw
from miner_train.recipes import RECIPES

SIZES = (1000, 3000, 10_000, 30_000, 100_000, 300_000)


def measure(bench: ExperimentBench) -> Iterator[Results]:
    pairs = bilingual(bench.data)
    pairs = draw(pairs, len(pairs))
    rows = []
    for size in [*(size for size in SIZES if size < len(pairs)), len(pairs)]:
        for recipe in ("p19-tuned", "fast"):
            config = replace(RECIPES[recipe], epochs=EPOCHS)
            rows.append(bench.row(recipe, f"{size:,}", pairs[:size], config))
            yield {"rows": rows}
