"""BUCC: mine translations hidden in two corpora.

The protocol of the shared task (Zweigenbaum et al. 2018): the threshold with the best F1 on the
training gold is applied to test. The oracle, tuned on the test gold itself, is no result.

The task that the mteb suite calls BUCC.v2 is another one; see :func:`top_one`.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError, MinerError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel, MinerModel, build_index
from miner.evaluation.metrics import Evaluation, best_threshold
from miner.evaluation.mining_sets import SPLITS, MiningSet, sets
from miner.evaluation.results import Metric, TaskResult, measure
from miner.evaluation.tatoeba import nearest_rows
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes
from miner.option_values import RANKS
from miner.precision.estimate import calibrate
from miner.progress import Reporter, silent
from miner.scoring.pairs import each_duplicate
from miner.text.corpus import CorpusReader, read
from miner.text.durable import scratch_directory
from miner.text_table import aligned

TASK = "bucc"
# Estimated precision at which the engine chooses a threshold without gold.
OWN_PRECISION = 0.95


@dataclass(frozen=True)
class MinedSplit:
    """Pairs mined from one split.

    pairs: (score, source id, target id).
    own_threshold: chosen without gold for an estimated precision of `OWN_PRECISION`; infinite if no
        threshold reaches it, None if scores are not calibrated probabilities.
    seconds: from text to pairs.
    raw: the pairs by the model's own scores, if ``pairs`` are calibrated.
    """

    pairs: list[tuple[float, str, str]]
    own_threshold: float | None
    seconds: float
    raw: list[tuple[float, str, str]] | None = None


@dataclass(frozen=True)
class MiningResult:
    """Result of one set, ranked one way.

    tuned: evaluation on the training gold at its best threshold
    test: evaluation on test at that threshold; None where there is no test gold
    oracle: evaluation on test at the threshold tuned on test itself
    own: evaluation on test at the threshold that the engine chose without gold
    mined: the mined pairs by split
    """

    mining_set: MiningSet
    rank: str
    tuned: Evaluation
    test: Evaluation | None
    oracle: Evaluation | None
    own: Evaluation | None
    mined: dict[str, MinedSplit]

    @property
    def threshold(self) -> float:
        """Tuned threshold; infinite, so that nothing is kept, if there were no pairs to tune it
        on.
        """
        return math.inf if self.tuned.threshold is None else self.tuned.threshold

    def as_dict(self) -> dict[str, Any]:
        """Return the result ready for JSON, where infinity is None."""
        record: dict[str, Any] = {
            "set": self.mining_set.name,
            "rank": self.rank,
            "training": self.tuned.as_dict(),
            "seconds": {split: round(result.seconds, 2) for split, result in self.mined.items()},
        }
        for name, result in (
            ("test", self.test),
            ("test, own choice", self.own),
            ("test oracle", self.oracle),
        ):
            if result is not None:
                record[name] = result.as_dict()
                if not math.isfinite(result.threshold or 0):
                    record[name]["threshold"] = None
        return record


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield all sentences of the evaluation in lists, with the language of each list."""
    for mining_set in sets(data):
        for split in mining_set.splits:
            for language in mining_set.languages:
                for block in CorpusReader(mining_set.need(f"{split}.{language}"), format="bucc"):
                    yield language, block.sentences


def evaluate(model: EvaluatedModel, data: Path, report: Reporter = silent) -> TaskResult:
    """Mine every set of ``data``, ranked by margin and, if the model can, by probability.

    Raises CorpusError.
    """
    every: list[Metric] = []
    missing: list[str] = []
    mined: list[dict[str, Any]] = []
    mining_sets = sets(data)
    ranks = RANKS[::-1] if isinstance(model, MinerModel) and model.verifies else ("margin",)
    mined_so_far = count()
    total = len(mining_sets) * len(ranks) * len(SPLITS)

    def step() -> None:
        report(TASK, next(mined_so_far), total)

    step()
    for mining_set in mining_sets:
        # Mining a test split without gold would be useless.
        splits = SPLITS[: 1 + (mining_set.reported == SPLITS[1])]
        for result in mine_set(model, mining_set, ranks, splits, step):
            mined.append(result.as_dict())
            every += metrics_of(result)
        every += top_one(model, mining_set)
        if mining_set.reported != SPLITS[1]:
            missing.append(
                f"{mining_set.name}: no text or gold of the test split; F1 is measured on "
                "training, on whose gold the threshold was tuned"
            )
    report(TASK, total, total)
    headline = tuple(metric for metric in every if metric.name.startswith("f1"))
    notes = tuple(_threshold_table(mined))
    return TaskResult(TASK, tuple(every), headline, tuple(missing), notes, {"mining": mined})


def mine_set(
    model: EvaluatedModel,
    mining_set: MiningSet,
    ranks: Sequence[str],
    splits: Sequence[str] = (),
    step: Callable[[], None] = lambda: None,
    settings: SearchSettings = SearchSettings(),
) -> list[MiningResult]:
    """Mine the splits, tune on training, apply to test; return a result for each of ``ranks``.

    splits: by default those with text. step: called after each mining. settings: of the search;
    ``ranks`` replace its rank.
    """
    mined: dict[str, dict[str, MinedSplit]] = {rank: {} for rank in ranks}
    for split in splits or mining_set.splits:
        with scratch_directory() as work:
            begun = time.perf_counter()
            source, target = (
                build_index(
                    model, mining_set.need(f"{split}.{language}"), language, work / language
                )
                for language in mining_set.languages
            )
            seconds = time.perf_counter() - begun
            for rank in ranks:
                result = _mine(model, source, target, rank, settings)
                mined[rank][split] = replace(result, seconds=result.seconds + seconds)
                step()
    return [
        _against_gold(mining_set, rank, _on_one_scale(by_split)) for rank, by_split in mined.items()
    ]


def _mine(
    model: EvaluatedModel,
    source: Index,
    target: Index,
    rank: str,
    settings: SearchSettings,
) -> MinedSplit:
    """Mine two indexes; probabilities are calibrated, and give a threshold without gold."""
    begun = time.perf_counter()
    encoder = model.encoders[0] if isinstance(model, MinerModel) else None
    verifier = verifier_for(source, rank, encoder)
    result = search_indexes(source, target, verifier, settings, estimating=verifier is not None)
    threshold = raw = None
    if verifier is not None:
        with suppress(MinerError):  # the set may be too small, or its language have no decoys
            calibrated, estimate = calibrate(result)
            raw = list(each_duplicate(result.pairs).ids())
            result = calibrated
            threshold = estimate.threshold(OWN_PRECISION)
            threshold = math.inf if threshold is None else threshold
    # A sentence with several ids makes a pair under each id.
    pairs = list(each_duplicate(result.pairs).ids())
    return MinedSplit(pairs, threshold, time.perf_counter() - begun, raw)


def _on_one_scale(mined: dict[str, MinedSplit]) -> dict[str, MinedSplit]:
    """Return the uncalibrated scores unless all splits could be calibrated.

    Otherwise a threshold of one split would not apply to the other.
    """
    if all(result.raw is not None for result in mined.values()):
        return mined
    return {
        split: result
        if result.raw is None
        else replace(result, pairs=result.raw, own_threshold=None)
        for split, result in mined.items()
    }


def _against_gold(mining_set: MiningSet, rank: str, mined: dict[str, MinedSplit]) -> MiningResult:
    """Tune the threshold on training and evaluate it on test, if there is test gold."""
    tuned = best_threshold(mined["training"].pairs, mining_set.gold("training"))
    if mining_set.reported not in mined or mining_set.reported == SPLITS[0]:
        return MiningResult(mining_set, rank, tuned, None, None, None, mined)
    cut = math.inf if tuned.threshold is None else tuned.threshold
    gold, test = mining_set.gold("test"), mined["test"]
    at_chosen = None
    if test.own_threshold is not None:
        at_chosen = metrics.evaluate(test.pairs, gold, test.own_threshold)
    at_cut = metrics.evaluate(test.pairs, gold, cut)
    oracle = best_threshold(test.pairs, gold)
    return MiningResult(mining_set, rank, tuned, at_cut, oracle, at_chosen, mined)


def metrics_of(result: MiningResult) -> tuple[Metric, ...]:
    """Return F1, precision and recall of a result, resampled by source sentence.

    Measured on test, or on training without test gold; the name says which.
    """
    mining_set = result.mining_set
    split = "training" if result.test is None else "test"
    # Every line has an id that can be resampled, even without a sentence.
    corpus = CorpusReader(
        mining_set.need(f"{split}.{mining_set.languages[0]}"), format="bucc", every=True
    )
    gold = mining_set.gold(split)
    ids = dict.fromkeys(chain.from_iterable(block.ids for block in corpus))
    ids |= dict.fromkeys(sorted(source for source, _ in gold))
    row_of = {name: row for row, name in enumerate(ids)}
    pairs = result.mined[split].pairs
    kept = {(source, target) for score, source, target in pairs if score >= result.threshold}

    def counts(pairs: set[tuple[str, str]]) -> np.ndarray:
        """Count the pairs of each source sentence: ``(sentences,) float64``."""
        rows = [row_of[source] for source, _ in pairs]
        return np.bincount(rows, minlength=len(row_of)).astype(np.float64)

    proposed, correct, expected = counts(kept), counts(kept & gold), counts(gold)
    name = mining_set.name
    if result.test is None:
        name += ", training, tuned on itself"
    by = f"by {result.rank}"
    statistics = {
        f"f1 {by}": metrics.ratio(2 * correct, proposed + expected),
        f"precision {by}": metrics.ratio(correct, proposed),
        f"recall {by}": metrics.ratio(correct, expected),
    }
    return measure(name, statistics, len(row_of))


def top_one(model: EvaluatedModel, mining_set: MiningSet) -> tuple[Metric, ...]:
    """Measure top-1 retrieval of gold sentences: the task that the mteb suite calls BUCC.v2.

    It uses only the sentences of the gold, from test or, without test gold, training. A source
    is right if its nearest target by cosine is the translation. There is no threshold and no
    distractor: its metrics are far above BUCC's, and not comparable with them. (The suite takes the
    training split; its first version, BUCC, leaves all targets in as distractors.) The F1 is the
    mean over targets of the gold; each target is a class, and sources are classified.
    """
    split = mining_set.reported
    gold = sorted(mining_set.gold(split))
    vectors, row = [], []
    for side, language in enumerate(mining_set.languages):
        corpus = read(mining_set.need(f"{split}.{language}"), format="bucc")
        text = dict(zip(corpus.ids, corpus.sentences, strict=True))
        ids = sorted({pair[side] for pair in gold if pair[side] in text})
        vectors.append(model.encode([text[identifier] for identifier in ids], language))
        row.append({identifier: number for number, identifier in enumerate(ids)})
    known = [(row[0][s], row[1][t]) for s, t in gold if s in row[0] and t in row[1]]
    if not known:
        raise CorpusError(
            f"{mining_set.directory}: no id of {mining_set.pair}.{split}.gold is in the corpora"
        )
    source, target = np.array(known).T  # (gold pairs,) rows
    nearest = nearest_rows(vectors[0], vectors[1])[0][source]
    right = (nearest == target).astype(float)
    name = f"{mining_set.name} {split}, as mteb's BUCC.v2"
    (accuracy,) = measure(name, {"accuracy of top 1": metrics.mean(right)}, len(right))
    # A resample lacks some classes, which makes this F1 too high: no interval.
    return Metric(name, "f1 of top 1", weighted_f1(target, nearest), len(right)), accuracy


def weighted_f1(label: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean F1 over classes, weighted by their frequency as a label (``(n,) int``
    both).
    """
    # Number the classes of both together.
    every, number = np.unique(np.concatenate([label, predicted]), return_inverse=True)
    label, predicted = number[: len(label)], number[len(label) :]
    support, guessed, both = (
        np.bincount(kind, minlength=len(every))
        for kind in (label, predicted, label[label == predicted])
    )
    f1 = 2 * both / np.maximum(support + guessed, 1)
    return float((f1 * support).sum() / support.sum())


def _threshold_table(mined: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a table of thresholds: tuned, oracle, and chosen without gold."""
    rows = [
        ["", "ranked by", "tuned threshold", "oracle F1", "own threshold", "its F1", "precision"]
    ]
    for result in mined:
        chosen, oracle = result.get("test, own choice"), result.get("test oracle")
        cut = result["training"]["threshold"]
        row = [result["set"], result["rank"], "none" if cut is None else f"{cut:.4f}"]
        row.append(f"{oracle['f1']:.3f}" if oracle else "")
        row += (
            [
                "none" if chosen["threshold"] is None else f"{chosen['threshold']:.4f}",
                f"{chosen['f1']:.3f}",
                f"{chosen['precision']:.3f}",
            ]
            if chosen
            else [""] * 3
        )
        rows.append(row)
    return [
        *aligned(rows, left=2),
        "oracle: tuned on the test gold itself, no result; own: the engine's choice without gold",
        f"for an estimated precision of {OWN_PRECISION}",
    ]
