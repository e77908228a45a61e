"""Cross P19's recipe with the fast one: equal dimension, vocabulary and dropout, three seeds.

The recipes differ in objective, batch, learning rate, start of the embeddings and Adam. Dropout is
that of P19's released code, single numbers of the embeddings.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from benchmarks.models.bench import Results
from benchmarks.models.experiment_metrics import ExperimentBench, development
from benchmarks.models.training_text import bilingual, draw
from miner_train.recipes import RECIPES

NAMES = ("fast", "p19-tuned", "p19")
DROPOUTS = (0.0, 0.3)
SEEDS = (1, 2, 3)
# Passes over the text, dimensions, pieces and held-out pairs of all rows.
EPOCHS, DIMENSION, PIECES, HELDOUT = 3, 300, 20_000, 2000


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Train each recipe with each dropout; all rows of one seed before those of the next."""
    pairs = draw(bilingual(bench.data), bench.pairs)
    rows = []
    figures = partial(development, data=bench.data)
    for seed, dropout, name in product(SEEDS, DROPOUTS, NAMES):
        config = replace(
            RECIPES[name],
            dimension=DIMENSION,
            pieces=PIECES,
            heldout=HELDOUT,
            epochs=EPOCHS,
            dropout=0.0,
            embedding_dropout=dropout,
            seed=seed,
        )
        group = f"embedding dropout {dropout:g}"
        rows.append(bench.row(group, name, pairs, config, measure=figures, seed=seed))
        yield {"rows": rows}
