"""BUCC: mine translations hidden in two corpora.

The protocol of the shared task (Zweigenbaum et al. 2018): the threshold is the one with the best F1
on the training gold, and is applied to test. Precision, recall and F1 are those at that threshold;
the oracle's, tuned on the test gold itself, is labelled so and is no result.

What the mteb suite calls BUCC.v2 is another task: of the sentences in the gold alone, is the
nearest by cosine the translation? It stands under a name of its own.
"""

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import MinerError
from miner.evaluation import bootstrap, results, top_one
from miner.evaluation.metrics import Evaluation, best_threshold
from miner.evaluation.metrics import evaluate as compare
from miner.evaluation.mining_sets import SPLITS, Task, read_gold_of, sets
from miner.evaluation.results import Figure, Outcome
from miner.evaluation.subject import Subject, Trained, index_of
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.pairs import each_copy
from miner.mining.precision import estimate
from miner.mining.search import run, verifier_for
from miner.names import RANKS
from miner.progress import Reporter, silent
from miner.text.corpus import Reader
from miner.text_table import aligned

PLACE = "bucc"
# Estimated precision of the tool's own choice.
OWN = 0.95

Scored = list[tuple[float, str, str]]


@dataclass(frozen=True)
class Mined:
    """What mining one split gave: scored id pairs, the tool's own threshold, and seconds taken.

    The threshold, where it was asked for and probabilities rank, is that of an estimated precision
    of `OWN`; it knows no gold.
    """

    pairs: Scored
    own: float | None
    seconds: float


@dataclass(frozen=True)
class Result:
    """One pair of languages, ranked one way.

    tuned: on the training gold. test: with that threshold; None where there is no test gold, and
    so with oracle and own. mined: by split.
    """

    task: Task
    rank: str
    tuned: Evaluation
    test: Evaluation | None
    oracle: Evaluation | None
    own: Evaluation | None
    mined: dict[str, Mined]

    @property
    def threshold(self) -> float:
        """The tuned one; where nothing was mined to tune it on, one that keeps nothing."""
        return math.inf if self.tuned.threshold is None else self.tuned.threshold

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON, which has no infinity: a threshold that keeps nothing is None."""
        found: dict[str, Any] = {
            "set": self.task.name,
            "rank": self.rank,
            "training": self.tuned.as_dict(),
            "seconds": {split: round(one.seconds, 2) for split, one in self.mined.items()},
        }
        for name, one in (
            ("test", self.test),
            ("test, own choice", self.own),
            ("test oracle", self.oracle),
        ):
            if one is not None:
                found[name] = one.as_dict()
                if not math.isfinite(one.threshold or 0):
                    found[name]["threshold"] = None
        return found


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All sentences of the evaluation, with the language of each lot."""
    for task in sets(data):
        for split in task.splits:
            for language in task.languages:
                for block in Reader(task.need(f"{split}.{language}"), format="bucc"):
                    yield language, block.sentences


def evaluate(subject: Subject, data: Path, report: Reporter = silent) -> Outcome:
    """Mine every set of ``data``, ranked by margin and, if the model can, by probability.

    Raises CorpusError.
    """
    every: list[Figure] = []
    missing: list[str] = []
    mined: list[dict[str, Any]] = []
    found = sets(data)
    ranks = RANKS[::-1] if isinstance(subject, Trained) and subject.verifies else ("margin",)
    mined_so_far = count()
    total = len(found) * len(ranks) * len(SPLITS)

    def step() -> None:
        report(PLACE, next(mined_so_far), total)

    step()
    for task in found:
        # A test split without gold would be mined for nothing.
        splits = SPLITS[: 1 + (task.reported == SPLITS[1])]
        for result in measure(subject, task, ranks, splits, step):
            mined.append(result.as_dict())
            every += figures_of(result)
        every += top_one.figures_of(subject, task)
        if task.reported != SPLITS[1]:
            missing.append(
                f"{task.name}: test, whose text or gold is not there; its F1 is that of training, "
                "on whose gold the threshold was tuned"
            )
    report(PLACE, total, total)
    headline = tuple(figure for figure in every if figure.metric.startswith("f1"))
    return Outcome(
        PLACE, tuple(every), headline, tuple(missing), tuple(_notes(mined)), {"mining": mined}
    )


def _notes(mined: list[dict[str, Any]]) -> list[str]:
    """The thresholds, and what else they stand for."""
    rows = [
        ["", "ranked by", "tuned threshold", "oracle F1", "own threshold", "its F1", "precision"]
    ]
    for result in mined:
        own, oracle = result.get("test, own choice"), result.get("test oracle")
        cut = result["training"]["threshold"]
        row = [result["set"], result["rank"], "none" if cut is None else f"{cut:.4f}"]
        row.append(f"{oracle['f1']:.3f}" if oracle else "")
        row += (
            [f"{own['threshold']:.4f}", f"{own['f1']:.3f}", f"{own['precision']:.3f}"]
            if own
            else [""] * 3
        )
        rows.append(row)
    return [
        *aligned(rows, left=2),
        "oracle: tuned on the test gold itself, no result; own: what the tool keeps without any",
        f"gold, for an estimated precision of {OWN}",
    ]


def measure(
    subject: Subject,
    task: Task,
    ranks: Sequence[str],
    splits: Sequence[str] = (),
    step: Callable[[], None] = lambda: None,
    settings: SearchSettings = SearchSettings(),
) -> list[Result]:
    """Mine the splits, tune on training, apply to test; a result for each way to rank.

    ``splits`` are by default those whose text is there; ``step`` is called after each mining;
    ``settings``: of the search; ``ranks`` take the place of its rank.
    """
    mined: dict[str, dict[str, Mined]] = {rank: {} for rank in ranks}
    for split in splits or task.splits:
        with tempfile.TemporaryDirectory(prefix="bucc-") as work:
            begun = time.perf_counter()
            source, target = (
                index_of(subject, task.need(f"{split}.{language}"), language, Path(work) / language)
                for language in task.languages
            )
            seconds = time.perf_counter() - begun
            for rank in ranks:
                one = mine(subject, source, target, rank, split == "test", settings)
                mined[rank][split] = replace(one, seconds=one.seconds + seconds)
                step()
    return [_compared(task, rank, by_split) for rank, by_split in mined.items()]


def mine(
    subject: Subject,
    source: Index,
    target: Index,
    rank: str,
    own: bool = False,
    settings: SearchSettings = SearchSettings(),
) -> Mined:
    """Scored id pairs; a sentence under several ids counts under each.

    ``own``: also choose a threshold, without gold.
    """
    begun = time.perf_counter()
    encoder = subject.encoders[0] if isinstance(subject, Trained) else None
    verifier = verifier_for(source, rank, encoder)
    found = run(source, target, verifier, settings)
    choice = None
    if own and verifier is not None:
        with suppress(MinerError):  # too small a set, or a language without decoys
            choice = estimate(found).threshold(OWN)
    return Mined(list(each_copy(found.pairs).ids()), choice, time.perf_counter() - begun)


def _compared(task: Task, rank: str, mined: dict[str, Mined]) -> Result:
    """With the gold of both splits."""
    tuned = best_threshold(mined["training"].pairs, read_gold_of(task, "training"))
    if task.reported not in mined or task.reported == SPLITS[0]:
        return Result(task, rank, tuned, None, None, None, mined)
    cut = math.inf if tuned.threshold is None else tuned.threshold
    gold, pairs, choice = read_gold_of(task, "test"), mined["test"].pairs, mined["test"].own
    own = None if choice is None else compare(pairs, gold, choice)
    test, oracle = compare(pairs, gold, cut), best_threshold(pairs, gold)
    return Result(task, rank, tuned, test, oracle, own, mined)


def figures_of(result: Result) -> tuple[Figure, ...]:
    """F1, precision and recall of a result, drawn by source sentence.

    On the training split, as their name then says, where there is no test gold.
    """
    task = result.task
    split = "training" if result.test is None else "test"
    # Every line has an id that can be drawn, also where it holds no sentence.
    corpus = Reader(task.need(f"{split}.{task.languages[0]}"), format="bucc", every=True)
    gold = read_gold_of(task, split)
    ids = dict.fromkeys(chain.from_iterable(block.ids for block in corpus))
    ids |= dict.fromkeys(sorted(source for source, _ in gold))
    place = {name: number for number, name in enumerate(ids)}
    pairs = result.mined[split].pairs
    kept = {(source, target) for score, source, target in pairs if score >= result.threshold}

    def counts(pairs: set[tuple[str, str]]) -> np.ndarray:
        rows = [place[source] for source, _ in pairs]
        return np.bincount(rows, minlength=len(place)).astype(np.float64)

    proposed, correct, expected = counts(kept), counts(kept & gold), counts(gold)
    name = task.name if result.test is not None else f"{task.name}, training, tuned on itself"
    by = f"by {result.rank}"
    statistics = {
        f"f1 {by}": bootstrap.ratio(2 * correct, proposed + expected),
        f"precision {by}": bootstrap.ratio(correct, proposed),
        f"recall {by}": bootstrap.ratio(correct, expected),
    }
    return results.measure(name, statistics, len(place))
