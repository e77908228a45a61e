"""Bounds of P17's grids on back-translated text, at a fixed number of pairs, on STS-B dev.

The text is that of :mod:`benchmarks.models.translation_experiments`, three translations of a
sentence, the training that of ``miner paraphrase tune``: words from random embeddings, the recipe
of P17. Bounds of length, overlap and BLEU are P17's. The other scores have other ranges here, so
their bounds keep shares of the translations.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from benchmarks.models.back_translation_experiments import SEEDS
from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import STS_DEV, ExperimentBench
from benchmarks.models.translation_experiments import ENCODERS, classifier, references
from miner.evaluation.labelled_text import tsv_files
from miner.filters.ngram_overlap import overlap, sentence_bleu
from miner.scoring.classifier import Classifier
from miner.scoring.trigram_lm import Trigrams
from miner.text.words import tokens
from miner_train.development import read_graded
from miner_train.papers import sts, tune_bounds
from miner_train.papers.tune_bounds import LENGTHS, SHARES, Bounds
from miner_train.recipes import RECIPES

# References per row, out of all.
SHARE = 0.25
# Shares of the translations that a bound keeps.
KEPT = (0.4, 0.6, 0.8, 1.0)


def highest(scores: np.ndarray) -> list[Bounds]:
    """Return upper bounds of a score for which low is good, by its quantiles."""
    return [(0.0, round(float(np.quantile(scores, share)), 2)) for share in KEPT]


def lowest(scores: np.ndarray) -> list[Bounds]:
    """Return lower bounds of a probability, by its quantiles."""
    return [(round(float(np.quantile(scores, 1 - share)), 3), 1.0) for share in KEPT[:-1]] + [
        (0.0, 1.0)
    ]


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Tune the bounds of all filters of P17, from several seeds."""
    groups = references(bench)
    pairs = [(text, one) for text, own in groups.items() for one in own]
    sides = [text for text, _ in pairs], [one.text for _, one in pairs]
    words = [[tokens(text) for text in side] for side in sides]
    count = int(len(groups) * SHARE)
    graded = [read_graded(str(tsv_files(bench.data / sts.TASK)[STS_DEV]))]
    both = list(zip(*words, strict=True))
    overlaps = {
        f"overlap of {n}-grams": np.array([overlap(one, other, n) for one, other in both])
        for n in (1, 2, 3)
    }
    bleu = np.array([sentence_bleu(translation, reference) for reference, translation in both])
    lengths = np.array([len(own) for own in words[1]], dtype=np.float64)
    costs = np.array([one.cost for _, one in pairs])
    learned = Trigrams.train(words[0], "references")
    perplexities = learned.perplexity(words[1])
    # As in P17, the classifier may have learned from the translations that it judges.
    place, _ = classifier(groups, bench.work, ENCODERS[0])
    probabilities = Classifier.load(place).probability(sides[1])
    config = replace(RECIPES["p17"], heldout=0)
    if bench.quick:
        config = replace(config, epochs=1)
    rows: list[Row] = []
    for group, scores, grid in (
        *((name, scores, SHARES) for name, scores in overlaps.items()),
        ("BLEU", bleu, SHARES),
        ("words of the translation", lengths, LENGTHS),
        ("probability of a reference", probabilities, lowest(probabilities)),
        ("cost", costs, highest(costs)),
        ("perplexity", perplexities, highest(perplexities)),
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
