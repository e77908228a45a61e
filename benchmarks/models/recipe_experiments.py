"""Compare recipes: steps from P19's to the fast one, initial embeddings, the papers' recipes.

The steps keep dimension, vocabulary, number of epochs and dropout, and change objective, batch,
learning rate, initial embeddings and Adam. Dropout zeroes single components of the embeddings, as
in P19's released code. The papers' recipes are compared whole.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import ExperimentBench, development
from benchmarks.models.training_text import ENGLISH, bilingual, draw, paraphrases
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES, recipe

NAMES = ("fast", "p19-tuned", "p19")
DROPOUTS = (0.0, 0.3)
SEEDS = (1, 2, 3)
# Passes over the text, dimensions, pieces and held-out pairs of crossed recipes.
EPOCHS, DIMENSION, PIECES, HELDOUT = 3, 300, 20_000, 2000
# Starts of the embeddings: distribution and scale.
STARTS = {"U(±0.1)": ("uniform", 0.1), "N(0, 1)": ("normal", 1.0)}
# Recipes of the papers with their encoders. P19 learns from translations; of two columns of
# English, negatives may be in either.
PAPERS: dict[str, TrainConfig] = {
    "p19: pieces": replace(recipe("p19"), negatives_from="either"),
    "p18: words and trigrams": recipe("p18"),
    "p17: words": recipe("p17"),
    "s18: morphs": recipe("s18", "word"),
    "s18: GRAN over morphs": recipe("s18"),
}


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Train each recipe with each dropout; all rows of one seed before those of the next."""
    pairs = draw(bilingual(bench.data), bench.pairs)
    rows: list[Row] = []
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


def measure_starts(bench: ExperimentBench) -> Iterator[Results]:
    """Train ``p19-tuned`` from each start, in the ten passes of the recipe, with one seed."""
    pairs = draw(bilingual(bench.data), bench.pairs)
    rows: list[Row] = []
    figures = partial(development, data=bench.data)
    for name, (distribution, scale) in STARTS.items():
        config = replace(
            RECIPES["p19-tuned"], distribution=distribution, initial=scale, heldout=HELDOUT
        )
        group = f"p19-tuned, {config.epochs} passes"
        rows.append(bench.row(group, name, pairs, config, measure=figures, seed=config.seed))
        yield {"rows": rows}


def measure_papers(bench: ExperimentBench) -> Iterator[Results]:
    """Train the recipes of the papers on English paraphrases; averages from several seeds."""
    pairs = draw(paraphrases(bench.data), bench.pairs)
    rows: list[Row] = []
    for name, config in PAPERS.items():
        # A recurrent network takes ten times as long.
        recurrent = any(kind.network for kind in config.kinds)
        for seed in SEEDS[:1] if recurrent else SEEDS:
            own = replace(config, seed=seed)
            row = bench.row("English paraphrases", name, pairs, own, ENGLISH, mine=False, seed=seed)
            rows.append(row)
            yield {"rows": rows}
