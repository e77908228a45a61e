"""Precision of mined pairs without gold: target-decoy competition.

Proteomics estimates the precision of its matches with decoys (Elias & Gygi 2007): items that cannot
be right join those that may be, and go through the very same search. Here decoys are sentences of
the target's language from elsewhere. Added to the targets, they compete for the same sources, are
scored by the same margins and the same verifier, and are matched one to one. The number of decoys
that reach a threshold estimates the number of wrong pairs that do.

Decoys differ from the corpus, which is corrected in three ways. Only decoys with the vocabulary of
the corpus are used. They are counted by strata of length, since short sentences match by chance far
more often. And in each stratum their number is scaled so that it agrees with the corpus among the
low scores, where nearly all pairs are wrong.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import ResourceError
from miner.mining.decoys import FEWEST, choose, match
from miner.mining.search import Search

# Strata of equal numbers of target sentences, by length in characters.
STRATA = 8
# Range of quantiles of a stratum's decoy scores from which its scale is found.
BULK = (0.30, 0.95)
# Pseudo-counts that pull the scale of strata with few pairs towards 1.
CAUTION = 20.0
# Number of best decoys to which the tail of the scores is fitted.
TAIL = 100
# Doubts are raised for fewer pairs than this, for decoys that must be scaled by more than this
# factor either way, and for lists of neighbours of which more than this share is taken by a few
# sentences, and how many of them are counted.
FEW_PAIRS, UNLIKE_CORPUS, HUB, HUBS = 200, 4.0, 0.1, 10
# A decoy that matches a source with this probability or more is as good as a translation. Chance
# matches hardly get there: if more than this share of the decoys do, the sources hold translations
# of decoys, as where the corpus contains the model's training text.
TRANSLATION, TRANSLATIONS = 0.5, 0.01


@dataclass(frozen=True)
class Row:
    """A threshold, the number of pairs it keeps, and their estimated precision and recall."""

    threshold: float
    kept: int
    precision: float | None = None
    recall: float | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Precision of mined pairs at every threshold, estimated without gold.

    Columns of the pairs, best first: ``score (m,) float64``; ``wrong (m,) float64``, the estimated
    number of wrong pairs among this and the better ones; ``q_value (m,) float64``, the least
    estimated false discovery rate of any threshold that keeps the pair. ``decoys`` sentences were
    used, ``matched`` of them found a source; ``dropped`` others matched one as translations do.
    ``doubts`` are reasons to distrust the estimate.
    """

    score: np.ndarray
    wrong: np.ndarray
    q_value: np.ndarray
    decoys: int
    matched: int
    doubts: tuple[str, ...] = ()
    dropped: int = 0

    def threshold(self, precision: float) -> float | None:
        """Return the lowest score whose pairs have this estimated precision; None if none has."""
        # 1 - 0.9 is a little less than 0.1.
        kept = int(np.searchsorted(self.q_value, 1 - precision + 1e-9, side="right"))
        return float(self.score[kept - 1]) if kept else None

    def count(self, threshold: float) -> int:
        """Count the pairs with this score or more."""
        return int(np.count_nonzero(self.score >= threshold))

    def precision(self, kept: int) -> float:
        """Return the estimated precision of the best ``kept`` pairs."""
        return 1 - float(self.q_value[kept - 1]) if kept else 1.0

    def precision_at(self, threshold: float) -> float:
        """Return the estimated precision of the pairs with this score or more."""
        return self.precision(self.count(threshold))

    def recall(self, kept: int) -> float:
        """Return the estimated recall of the best ``kept`` pairs, relative to the pairs found.

        The total is counted over scores at which more pairs are right than wrong. Below, it would
        be a small difference of two large numbers.
        """
        right = np.maximum.accumulate(np.arange(1, len(self.score) + 1) - self.wrong)
        most = right[self.q_value <= 0.5].max(initial=0.0)
        return float(min(right[kept - 1] / most, 1)) if kept and most > 0 else 0.0

    def table(self, precisions: Sequence[float]) -> Iterator[Row]:
        """Yield the thresholds of these precisions, as far as they exist, each once."""
        seen = set()
        for precision in precisions:
            threshold = self.threshold(precision)
            if threshold is None:
                continue
            threshold = rounded(threshold)
            if threshold > 0 and threshold not in seen:
                seen.add(threshold)
                kept = self.count(threshold)
                yield Row(threshold, kept, self.precision(kept), self.recall(kept))


def rounded(threshold: float) -> float:
    """Round down to six places, so that the printed threshold keeps the pairs printed with it."""
    return math.floor(threshold * 1_000_000) / 1_000_000


def false_discovery(
    score: np.ndarray,
    stratum: np.ndarray,
    decoy_score: np.ndarray,
    decoy_stratum: np.ndarray,
    targets: np.ndarray,
    decoys: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``wrong`` and ``q_value`` of :class:`Estimate`.

    ``score (m,)`` of the pairs, best first, and ``decoy_score (n,)`` of the decoys' pairs;
    ``stratum (m,)`` and ``decoy_stratum (n,)`` of their targets; ``targets (s,)`` and ``decoys
    (s,)``: the number of each in every stratum, matched or not.
    """
    weights = np.zeros(len(decoy_score))
    for number in range(len(targets)):
        own, theirs = score[stratum == number], decoy_score[decoy_stratum == number]
        if not len(theirs):
            continue
        share = targets[number] / decoys[number]
        low, high = np.quantile(theirs, BULK)
        found = np.count_nonzero((own >= low) & (own < high))
        expected = np.count_nonzero((theirs >= low) & (theirs < high)) * share
        weights[decoy_stratum == number] = share * (found + CAUTION) / (expected + CAUTION)
    wrong = _reached(decoy_score, weights, score)
    # Pairs of equal score are kept together or not at all.
    kept = np.searchsorted(-score, -score, side="right")
    wrong = np.minimum(wrong, kept)
    return wrong, np.minimum.accumulate((wrong / np.maximum(kept, 1))[::-1])[::-1]


def _reached(decoy_score: np.ndarray, weights: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the weight of the decoys that reach each ``score (m,)``, smoothed where they are few.

    Above the score of the ``TAIL``-th best decoy, single ones would decide. There the logits of
    scores fall off exponentially: a distribution is fitted to the best decoys and replaces them.
    """
    order = np.argsort(-decoy_score, kind="stable")
    logit, weights = _logit(decoy_score[order]), weights[order]
    total = np.concatenate([[0.0], np.cumsum(weights)])
    at = _logit(score)
    reached = total[np.searchsorted(-logit, -at, side="right")]
    if len(logit) <= TAIL:
        # One more than was seen: none of few decoys reached a score, but of more some would.
        return reached + max(1.0, weights.mean() if len(weights) else 0.0)
    start = logit[TAIL]
    excess = weights[:TAIL] @ (logit[:TAIL] - start) / max(weights[:TAIL].sum(), 1e-9)
    beyond = at > start
    reached[beyond] = total[TAIL] * np.exp(-(at[beyond] - start) / max(excess, 1e-3))
    return reached


def _logit(probability: np.ndarray) -> np.ndarray:
    inside = np.clip(probability, 1e-15, 1 - 1e-15)
    return np.log(inside) - np.log1p(-inside)


def estimate(found: Search, sentences: Sequence[str] | None = None) -> Estimate:
    """Estimate the precision of a search's pairs with decoys.

    ``sentences`` are the decoys, in the target's language, none a translation of any source; by
    default those of the model, as far as they resemble the targets.
    Raises :class:`~miner.errors.ResourceError` where there are too few.
    """
    pairs = found.pairs
    assert found.target_text is not None
    decoys = choose(found, sentences)
    matched = match(found, decoys)
    text, used, rows = decoys.text, np.concatenate(decoys.draws), found.sides[1].rows
    length = found.target_text.characters[rows]
    edges = np.unique(np.quantile(length, np.linspace(0, 1, STRATA + 1)[1:-1]))

    def strata(characters: np.ndarray) -> np.ndarray:
        return np.searchsorted(edges, characters, side="right")

    translated = matched.score >= TRANSLATION
    dropped = int(translated.sum()) if translated.sum() > TRANSLATIONS * len(used) else 0
    if dropped:
        used = np.setdiff1d(used, matched.decoy[translated])
        matched = matched.take(~translated)
    if len(used) < FEWEST:
        raise ResourceError(
            f"only {len(used)} decoys are left without the {dropped} that match a source as "
            "translations do; give others (--decoys FILE), or a --threshold"
        )
    targets, decoy_count = (
        np.bincount(strata(characters), minlength=len(edges) + 1)
        for characters in (length, text.characters[used])
    )
    wrong, q_value = false_discovery(
        pairs.score,
        strata(found.target_text.characters[pairs.target_row]),
        matched.score,
        strata(text.characters[matched.decoy]),
        targets,
        decoy_count,
    )
    doubts = _doubts(found, matched.score, decoy_count)
    if dropped:
        doubts += (
            f"{dropped} decoys match a source as translations do and were dropped; the corpus may "
            "contain the model's training text",
        )
    if sentences is not None and decoys.alike < 0.5:
        doubts += (f"only {decoys.alike:.0%} of the decoys use the words of the targets",)
    return Estimate(pairs.score, wrong, q_value, len(used), len(matched), doubts, dropped)


def _doubts(found: Search, decoy_score: np.ndarray, decoys: np.ndarray) -> tuple[str, ...]:
    """List reasons to distrust an estimate."""
    doubts = []
    pairs = found.pairs
    if len(pairs) < FEW_PAIRS:
        doubts.append(f"only {len(pairs)} pairs to judge by")
    if len(decoy_score) >= 20:
        low, high = np.quantile(decoy_score, BULK)
        seen = np.count_nonzero((pairs.score >= low) & (pairs.score < high)) + CAUTION
        share = pairs.target.distinct / decoys.sum()
        expected = share * np.count_nonzero((decoy_score >= low) & (decoy_score < high)) + CAUTION
        factor = seen / expected
        if not 1 / UNLIKE_CORPUS <= factor <= UNLIKE_CORPUS:
            doubts.append(
                f"poor matches are {factor:.1f} times as many as the decoys predict; give --decoys "
                "of the corpus's domain"
            )
    if (decoys < FEWEST // STRATA).any():
        doubts.append("too few decoys are as long, or as short, as some of the targets")
    for name, lists, own in (
        ("targets", found.forward, pairs.target),
        ("sources", found.backward, pairs.source),
    ):
        # Of a small corpus, few sentences fill the lists because there are no more.
        count = np.bincount(lists.row[lists.row >= 0], minlength=100 * HUBS)
        hubs = np.argsort(-count, kind="stable")[:HUBS]
        share = count[hubs].sum() / max(count.sum(), 1)
        if own.distinct >= 100 * HUBS and share > HUB:
            (text,) = own.sentences(hubs[:1])
            doubts.append(
                f"{HUBS} {name} fill {share:.0%} of all neighbour lists, most of all "
                f"{text[:60]!r}; remove such lines from the corpus, or search with a larger -k"
            )
    return tuple(doubts)
