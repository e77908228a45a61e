"""Study of back-translations, as in P17 (section 5.6) and P18 (section 3).

The built-in translator writes up to three translations of each German sentence. Statistics compare
them with the references, classifiers learn to tell both apart, and translations are counted by
paraphrase score. One model is trained on each tenth of the translations, by score.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import choose
from benchmarks.models.back_translation_experiments import PIECES, copies, translated
from benchmarks.models.bench import Results, Row
from benchmarks.models.experiment_metrics import PARAPHRASE, ExperimentBench
from benchmarks.models.training_text import ENGLISH, Pair, draw
from miner.filters.ngram_overlap import overlap
from miner.scoring.classifier import Classifier
from miner.text.formats import USUAL_FORMAT
from miner.text.output import open_output
from miner.text.words import tokens
from miner_train.papers import bitext_statistics
from miner_train.papers.classifier_config import ClassifierConfig
from miner_train.papers.learn_classifier import matched_pairs, train_classifier
from miner_train.papers.translators import Translation

LANGUAGES, BEST = "de-en", 3
# Encoders of the classifiers; the probabilities of the first are correlated with statistics.
ENCODERS = ("average", "lstm")
# Share of the references held out to test a classifier.
TEST = 0.2
# Lower edges of the ranges of the paraphrase score; the first holds all below.
EDGES = tuple(step / 10 for step in range(10))


def measure(bench: ExperimentBench) -> Iterator[Results]:
    """Describe the translations, then train on their tenths by three scores."""
    groups = references(bench)
    pairs = [(text, one.text) for text, own in groups.items() for one in own]
    cost = np.array([one.cost for own in groups.values() for one in own])
    scores = {
        "paraphrase score": choose.scores("cosine", pairs, model="default"),
        "overlap of 3-grams": trigrams(pairs),
        "cost": cost,
    }
    described = {
        "ranks": ranks(groups),
        "ranges": ranges(*scores.values()),
        **judged(groups, bench.work),
    }
    rows: list[Row] = []
    for name, score in scores.items():
        of = dict(zip(pairs, score.tolist(), strict=True))
        for number, part in enumerate(choose.parts(pairs, score), 1):
            bounds = [round(of[pair], 4) for pair in (part[0], part[-1])]
            drawn, config = draw(part, len(part)), replace(PARAPHRASE, pieces=PIECES)
            row = bench.row(f"by {name}", str(number), drawn, config, ENGLISH, False, scores=bounds)
            rows.append(row)
            yield {"default": bench.default, "described": described, "rows": rows}


def references(bench: ExperimentBench) -> dict[str, list[Translation]]:
    """Return the references, written as the translator writes, with translations that differ."""
    found: dict[str, dict[str, Translation]] = {}
    for (_, reference), own in zip(*translated(bench, LANGUAGES, BEST)[:2], strict=True):
        kept = found.setdefault(" ".join(tokens(reference)), {})
        for one in own:
            if not copies(reference, one):
                kept.setdefault(one.text, one)
    return {text: list(own.values()) for text, own in found.items() if own}


def trigrams(pairs: Sequence[Pair]) -> np.ndarray:
    return np.array([overlap(tokens(one), tokens(other), 3) for one, other in pairs])


def ranks(groups: dict[str, list[Translation]]) -> list[dict[str, float]]:
    """Return the number of first, second and third translations, mean cost and overlap."""
    found = []
    for rank in range(BEST):
        own = [(text, each[rank]) for text, each in groups.items() if len(each) > rank]
        if own:
            cost = np.mean([one.cost for _, one in own])
            shared = trigrams([(text, one.text) for text, one in own]).mean()
            found.append({"count": len(own), "cost": float(cost), "overlap": float(shared)})
    return found


def ranges(score: np.ndarray, shared: np.ndarray, cost: np.ndarray) -> list[dict[str, float]]:
    """Return count, mean overlap and mean cost of the pairs in each range of the score."""
    place = np.maximum(np.searchsorted(EDGES, score, side="right") - 1, 0)
    return [
        {
            "from": edge,
            "count": int(np.count_nonzero(place == number)),
            "overlap": float(shared[place == number].mean()),
            "cost": float(cost[place == number].mean()),
        }
        for number, edge in enumerate(EDGES)
        if (place == number).any()
    ]


def judged(groups: dict[str, list[Translation]], work: Path) -> dict[str, Any]:
    """Tell references from translations; return accuracies, statistics and correlations."""
    accuracy, places = {}, []
    for encoder in ENCODERS:
        place, record = classifier(groups, work, encoder)
        accuracy[encoder] = {name: record[name] for name in record if name.startswith("test ")}
        places.append(place)
    firsts = [own[0].text for own in groups.values()]
    probability = Classifier.load(places[0]).probability(firsts)
    block = np.arange(len(firsts)), (list(groups), firsts), [(f"{p}",) for p in probability]
    names = "reference", "translation"
    found = bitext_statistics.count([block], names, ["P(reference)"], "", Counter(), keep=True)
    return {"accuracy": accuracy, "statistics": found.as_dict()}


def classifier(
    groups: dict[str, list[Translation]], work: Path, encoder: str
) -> tuple[Path, Mapping[str, Any]]:
    """Train a classifier of references and translations; return its directory and its record."""
    path = work / "matched.tsv"
    with open_output(path) as file:
        for text, own in groups.items():
            cells = [text, *(one.text for one in own)]
            file.write("\t".join(cells + [""] * (1 + BEST - len(cells))) + "\n")
    more = [str(column) for column in range(3, 2 + BEST)]
    read = partial(matched_pairs, [str(path)], USUAL_FORMAT, more)
    output = work / f"classifier-{encoder}"
    config = ClassifierConfig(encoder=encoder, units="word", test=TEST)
    return output, train_classifier(read, config, output).training
