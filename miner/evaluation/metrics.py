"""Precision, recall and F1 of mined pairs against a gold standard: the BUCC protocol.

The protocol of the BUCC shared task, as Artetxe & Schwenk 2019 (section 4) use it: score the
pairs, choose on the training gold the threshold that maximises F1 (:func:`best_threshold`),
apply it to the test pairs (:func:`evaluate`). The best F1 on the test gold itself is an
oracle and must be labelled so.

Pairs are matched by id, never by text: a sentence that stands under several ids counts each
time. An id is anything hashable; those read from files are strings.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from miner.errors import CorpusError

IdPair: TypeAlias = tuple[Hashable, Hashable]
ScoredIds: TypeAlias = tuple[float, Hashable, Hashable]


@dataclass(frozen=True)
class Evaluation:
    """How the pairs kept by a threshold compare with the gold.

    precision: correct / proposed, 0..1; 0 when nothing is proposed
    recall: correct / gold, 0..1
    f1: 2 correct / (proposed + gold), the harmonic mean of the two, 0..1
    threshold: pairs of this score or more were kept; None = all were
    proposed, correct, gold: distinct pairs kept, those of them in the gold, all in the gold
    """

    precision: float
    recall: float
    f1: float
    threshold: float | None
    proposed: int
    correct: int
    gold: int

    def as_dict(self) -> dict[str, float | int | None]:
        """The fields by name, in order, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        # The threshold is printed in full because it is pasted into the next command.
        cut = "no threshold" if self.threshold is None else f"threshold {self.threshold!r}"
        return (
            f"precision {self.precision:.2%} recall {self.recall:.2%} F1 {self.f1:.2%} "
            f"({cut}: {self.correct} correct of {self.proposed} proposed, {self.gold} gold)"
        )


def evaluate(
    pairs: Iterable[ScoredIds], gold: Iterable[IdPair], threshold: float | None = None
) -> Evaluation:
    """Compare the pairs whose score is at least ``threshold`` (None = all pairs) with the gold.

    pairs: (score, source_id, target_id); copies of one id pair count once, with the best score
    gold: (source_id, target_id); copies count once
    Raises ``ValueError`` for an empty gold or a NaN score or threshold.
    """
    if threshold is not None:
        threshold = float(threshold)
        if math.isnan(threshold):
            raise ValueError("the threshold is NaN")
    expected = _gold_set(gold)
    best = _best_copies(pairs)
    kept = [pair for pair, score in best.items() if threshold is None or score >= threshold]
    correct = sum(pair in expected for pair in kept)
    return _evaluation(threshold, len(kept), correct, len(expected))


def best_threshold(pairs: Iterable[ScoredIds], gold: Iterable[IdPair]) -> Evaluation:
    """The threshold with the highest F1, and what it reaches (arguments as for :func:`evaluate`).

    A cut falls only between distinct scores, at the midpoint of the two, or at the lowest score
    when all pairs are kept. Of cuts with equal F1 the highest threshold wins, the one that
    keeps fewest pairs (at least one). Without pairs the threshold is None.

    The threshold always separates its two scores under ``>=``: where the midpoint is not
    strictly above the lower one, in float64 or rounded to float32, it is the upper score itself.

    Raises ``ValueError`` for an empty gold or a NaN score.
    """
    ranking = _rank(pairs, gold)
    if not len(ranking.proposed):
        return _evaluation(None, 0, 0, ranking.gold)
    # Cuts run from the highest score down, and argmax takes the first of equals.
    return ranking.at(int(np.argmax(2 * ranking.correct / (ranking.proposed + ranking.gold))))


def curve(pairs: Iterable[ScoredIds], gold: Iterable[IdPair], points: int = 10) -> list[Evaluation]:
    """Evaluations at about ``points`` evenly spaced numbers of pairs kept, fewest first.

    The last one keeps every pair. Pairs of equal score are kept or dropped together, so a count
    is moved up to the next possible cut, and the list is shorter where cuts coincide. Without
    pairs it is empty. Thresholds are those of :func:`best_threshold`.

    Raises ``ValueError`` for an empty gold, a NaN score, or ``points`` below 1.
    """
    if points < 1:
        raise ValueError(f"a curve needs at least 1 point, not {points}")
    ranking = _rank(pairs, gold)
    if not len(ranking.proposed):
        return []
    total = int(ranking.proposed[-1])
    wanted = [-(-total * step // points) for step in range(1, points + 1)]  # rounded up
    cuts = np.unique(np.searchsorted(ranking.proposed, wanted))
    return [ranking.at(cut) for cut in cuts.tolist()]


def explain_mismatch(pairs: Iterable[ScoredIds], gold: Iterable[IdPair]) -> str | None:
    """One line on why not a single pair is in the gold, or None where nothing looks wrong.

    Finds the two usual accidents: source and target are swapped, or the pairs (or the gold)
    hold text or other ids. A poor result over ids that the gold does know is no mismatch.
    """
    proposed = {(source, target) for _, source, target in pairs}
    expected = frozenset(gold)
    if not proposed or not expected or not proposed.isdisjoint(expected):
        return None
    sources, targets = {s for s, _ in proposed}, {t for _, t in proposed}
    gold_sources, gold_targets = {s for s, _ in expected}, {t for _, t in expected}
    reversed_hits = sum((target, source) in expected for source, target in proposed)
    source_known = not sources.isdisjoint(gold_sources)
    target_known = not targets.isdisjoint(gold_targets)
    crossed = not (sources.isdisjoint(gold_targets) and targets.isdisjoint(gold_sources))
    if reversed_hits or (crossed and not source_known and not target_known):
        return (
            "no proposed pair is in the gold, but their ids are, the other way round "
            f"({reversed_hits} whole pairs): source and target look swapped"
        )
    for side, known, ids, gold_ids in (
        ("source", source_known, sources, gold_sources),
        ("target", target_known, targets, gold_targets),
    ):
        if not known:
            return (
                f"none of the {len(ids)} proposed {side} ids is in the gold "
                f"({_example(ids)}, where the gold has {_example(gold_ids)}): "
                "are the pairs text, or ids of another corpus?"
            )
    return None


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[float, str, str]]:
    """Read a file of ``score, source_id, target_id`` lines (tab-separated), in file order.

    Empty lines are skipped; compression and bytes that are not UTF-8 are as in ``miner.text.corpus``.
    Raises ``CorpusError`` with file and line where a line has not three non-empty columns or
    its score is not a number.
    """
    pairs = []
    for line, (text, source, target) in _columns(path, ("score", "source_id", "target_id")):
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if math.isnan(score):
            raise CorpusError(
                f"{os.fspath(path)}, line {line}: the score {_short(text)} is not a number"
            )
        pairs.append((score, source, target))
    return pairs


def read_gold(path: str | os.PathLike[str]) -> set[tuple[str, str]]:
    """Read a gold file of ``source_id, target_id`` lines (tab-separated); copies collapse.

    Raises ``CorpusError`` with file and line where a line has not two non-empty columns.
    """
    return {(source, target) for _, (source, target) in _columns(path, ("source_id", "target_id"))}


@dataclass(frozen=True, eq=False)
class _Ranking:
    """Every possible cut of the ranked pairs, from the highest score to the lowest.

    score: (c,) float64, distinct scores, descending; cut i keeps the pairs of score[i] or more
    proposed, correct: (c,) int64, how many pairs that is, and how many of them are in the gold
    gold: the size of the gold
    """

    score: NDArray[np.float64]
    proposed: NDArray[np.int64]
    correct: NDArray[np.int64]
    gold: int

    def at(self, cut: int) -> Evaluation:
        """The evaluation of one cut."""
        upper = float(self.score[cut])
        last = cut + 1 == len(self.score)
        threshold = upper if last else _between(float(self.score[cut + 1]), upper)
        return _evaluation(threshold, int(self.proposed[cut]), int(self.correct[cut]), self.gold)


def _rank(pairs: Iterable[ScoredIds], gold: Iterable[IdPair]) -> _Ranking:
    """Sort the distinct pairs and count at every distinct score."""
    expected = _gold_set(gold)
    best = _best_copies(pairs)
    score = np.fromiter(best.values(), dtype=np.float64, count=len(best))
    correct = np.fromiter((pair in expected for pair in best), dtype=np.int64, count=len(best))
    order = np.argsort(-score, kind="stable")
    score, correct = score[order], np.cumsum(correct[order])
    ends = np.ones(len(score), dtype=np.bool_)  # the last pair of each run of equal scores
    ends[:-1] = score[:-1] != score[1:]
    cut = np.nonzero(ends)[0]
    return _Ranking(score[cut], cut + 1, correct[cut], len(expected))


def _between(lower: float, upper: float) -> float:
    """A threshold that keeps ``upper`` and drops ``lower``: their midpoint if it does, else upper.

    The midpoint of neighbouring floats rounds to one of them. It must hold in float32 too,
    because numpy rounds a Python float before it compares it with a float32 array.
    """
    middle = lower + (upper - lower) / 2
    with np.errstate(over="ignore"):
        rounded = float(np.float32(middle))
    return middle if lower < middle <= upper and lower < rounded <= upper else upper


def _evaluation(threshold: float | None, proposed: int, correct: int, gold: int) -> Evaluation:
    precision = correct / proposed if proposed else 0.0
    f1 = 2 * correct / (proposed + gold)
    return Evaluation(precision, correct / gold, f1, threshold, proposed, correct, gold)


def _best_copies(pairs: Iterable[ScoredIds]) -> dict[IdPair, float]:
    """The best score of each id pair. Raises ``ValueError`` for a NaN score."""
    best: dict[IdPair, float] = {}
    for score, source, target in pairs:
        value = float(score)
        if math.isnan(value):
            raise ValueError(f"the score of the pair {source!r}, {target!r} is NaN")
        pair = (source, target)
        if value > best.get(pair, -math.inf) or pair not in best:
            best[pair] = value
    return best


def _gold_set(gold: Iterable[IdPair]) -> frozenset[IdPair]:
    """The gold as a set. Raises ``ValueError`` when it is empty: recall would be undefined."""
    expected = frozenset(gold)
    if not expected:
        raise ValueError("the gold is empty: there is nothing to evaluate against")
    return expected


def _columns(
    path: str | os.PathLike[str], names: tuple[str, ...]
) -> Iterator[tuple[int, list[str]]]:
    """Line number and columns of each non-empty line. Raises ``CorpusError`` on a wrong count."""
    from miner.text.corpus import Reader  # here, so that evaluating arrays needs no file reading

    for block in Reader(path, format="plain"):
        for line, text in zip(block.lines.tolist(), block.sentences, strict=True):
            columns = text.split("\t")
            if len(columns) != len(names) or not all(columns):
                raise CorpusError(
                    f"{os.fspath(path)}, line {line}: expected {len(names)} tab-separated columns "
                    f"({', '.join(names)}), found {_short(text)}"
                )
            yield line, columns


def _example(ids: set[Hashable]) -> str:
    """One id to show; the least by its text, so that the message is the same in every run."""
    return _short(min(map(str, ids)))


def _short(text: str) -> str:
    """The text quoted on one line, cut to about 40 characters."""
    return repr(text if len(text) <= 40 else text[:39] + "…")
