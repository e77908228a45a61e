"""How precise are the pairs, without gold: target-decoy competition.

Proteomics asks the same question of its matches and answers it with decoys (Elias & Gygi 2007):
things that cannot be right are put among those that may be, and go through the very same search.
Here they are sentences of the target's language from somewhere else. Added to the targets, they
compete for the same sources, are scored by the same margins and the same second look, and are
matched one to one. How many of them reach a threshold tells how many wrong pairs do.

Decoys are not the corpus, and that is corrected for in three ways. Only those whose vocabulary is
the corpus's stay. They are counted by strata of length, since short sentences match by chance far
more often. And in each stratum their number is scaled so that it agrees with the corpus among the
low scores, where nearly everything is wrong.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.encoder import Encoder
from miner.errors import ResourceError
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.vector_set import VectorSet
from miner.machine import thread_count
from miner.mining.search import Search, choose, side
from miner.scoring.pair_features import PreparedText, prepare

# Decoys in all, and how often at most they are drawn: never more at once than there are targets,
# or else they would crowd each other out.
DECOYS, DRAWS = 20_000, 32
# Fewer decoys, or fewer targets to put them among, say nothing.
FEWEST, FEWEST_TARGETS = 500, 50
# Strata of equal numbers of target sentences, by length in characters.
STRATA = 8
# Of a stratum's decoy pairs, the share from the bottom that the scale is found with.
BULK = (0.30, 0.95)
# Pairs of pull towards no scaling, for strata with few.
CAUTION = 20.0
# Best decoys that the fall of the number of decoys at high scores is fitted to.
TAIL = 100
SEED = 1
# Decoys whose words are rarer in the corpus than those of this share of its own sentences go.
UNLIKE = 0.05


# Doubts are raised where fewer pairs are in the running, where decoys must be scaled by more than
# this factor either way, and where one sentence is a neighbour of more than this share of the
# other side.
FEW_PAIRS, UNLIKE_CORPUS, HUB = 200, 4.0, 0.02


@dataclass(frozen=True)
class Row:
    """A threshold, the pairs it keeps, and their estimated precision and recall."""

    threshold: float
    kept: int
    precision: float | None = None
    recall: float | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Precision of mined pairs at every threshold, estimated without gold.

    Of the pairs, best first: ``score (m,) float64``; ``wrong (m,)`` how many of this and the better
    ones are wrong by estimate; ``q_value (m,)`` the least estimated share of wrong pairs of any
    threshold that keeps this one. ``decoys`` sentences were used, ``matched`` of them found a
    source; ``doubts`` says in words what speaks against the estimate.
    """

    score: np.ndarray
    wrong: np.ndarray
    q_value: np.ndarray
    decoys: int
    matched: int
    doubts: tuple[str, ...] = ()

    def threshold(self, precision: float) -> float | None:
        """The lowest score whose pairs have this precision by estimate; None if none has."""
        # 1 - 0.9 is a little less than 0.1.
        kept = int(np.searchsorted(self.q_value, 1 - precision + 1e-9, side="right"))
        return float(self.score[kept - 1]) if kept else None

    def count(self, threshold: float) -> int:
        """How many pairs have this score or more."""
        return int(np.count_nonzero(self.score >= threshold))

    def precision(self, kept: int) -> float:
        """Estimated precision of the best ``kept`` pairs."""
        return 1 - float(self.q_value[kept - 1]) if kept else 1.0

    def precision_at(self, threshold: float) -> float:
        """Estimated precision of the pairs with this score or more."""
        return self.precision(self.count(threshold))

    def recall(self, kept: int) -> float:
        """Estimated share of the right pairs that the best ``kept`` hold.

        All right pairs are those among the scores of which more are right than wrong: below, what
        is left when two large numbers are subtracted says nothing.
        """
        right = np.maximum.accumulate(np.arange(1, len(self.score) + 1) - self.wrong)
        most = right[self.q_value <= 0.5].max(initial=0.0)
        return float(min(right[kept - 1] / most, 1)) if kept and most > 0 else 0.0

    def table(self, precisions: Sequence[float]) -> Iterator[Row]:
        """The thresholds of these precisions, where there are any, each once."""
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
    """Down to six places: as printed, it keeps what is printed beside it."""
    return math.floor(threshold * 1_000_000) / 1_000_000


def false_discovery(
    score: np.ndarray,
    stratum: np.ndarray,
    decoy_score: np.ndarray,
    decoy_stratum: np.ndarray,
    targets: np.ndarray,
    decoys: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """``wrong`` and ``q_value`` of :class:`Estimate`.

    ``score (m,)`` of the pairs, best first, and ``decoy_score`` of the decoys' pairs; ``stratum``
    and ``decoy_stratum`` of their targets; ``targets`` and ``decoys``: how many there are of each
    stratum, matched or not.
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
    # Of pairs of one score, all are kept or none.
    kept = np.searchsorted(-score, -score, side="right")
    wrong = np.minimum(wrong, kept)
    return wrong, np.minimum.accumulate((wrong / np.maximum(kept, 1))[::-1])[::-1]


def _reached(decoy_score: np.ndarray, weights: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Weight of the decoys that reach each ``score (m,)``, smoothed where they are few.

    Beyond the ``TAIL`` best decoys, single ones would decide. The logits of scores fall off there
    like an exponential distribution, which is fitted to those best and takes their place.
    """
    order = np.argsort(-decoy_score, kind="stable")
    logit, weights = _logit(decoy_score[order]), weights[order]
    total = np.concatenate([[0.0], np.cumsum(weights)])
    at = _logit(score)
    reached = total[np.searchsorted(-logit, -at, side="right")]
    if len(logit) <= TAIL:
        # One more than was seen: that none reached a score does not mean that none would.
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

    ``sentences`` are the decoys, of the target's language, none a translation of any source; by
    default those of the model, of which only what resembles the targets is used.
    Raises :class:`~miner.errors.ResourceError` where there are too few.
    """
    pairs, threads = found.pairs, thread_count(found.settings.threads)
    assert found.verifier is not None and found.source_text is not None
    assert found.target_text is not None
    encoder = found.verifier.encoder
    pool = list(dict.fromkeys(encoder.model.read_decoys() if sentences is None else sentences))
    text = prepare(encoder.tokenizer, pool, threads)
    rows = pairs.target.store.distinct()
    usable = np.flatnonzero(np.diff(text.offsets) > 0)
    alike = _alike(found.target_text, rows, text, usable, encoder.tokenizer.size)
    if sentences is None:
        usable = usable[alike]
    if len(rows) < FEWEST_TARGETS:
        raise ResourceError(
            f"only {len(rows)} different targets, too few to mix decoys in among; "
            "give a --threshold"
        )
    # Whatever order a file of decoys has, the first of these are a sample.
    usable = np.random.default_rng(SEED).permutation(usable)[:DECOYS]
    draws = np.array_split(usable, -(-len(usable) // len(rows)) or 1)[:DRAWS]
    used = np.concatenate(draws)
    if len(used) < FEWEST:
        why = "resemble the targets" if sentences is None else "are distinct and have known pieces"
        raise ResourceError(
            f"only {len(used)} decoys {why}; give at least {FEWEST} sentences of the target's "
            "language and domain (--decoys FILE), or a --threshold"
        )
    score, row = [], []
    for chosen in draws:
        decoy_pairs = _compete(found, encoder, [pool[i] for i in chosen], text.take(chosen))
        score.append(decoy_pairs[0])
        row.append(chosen[decoy_pairs[1]])
    length = found.target_text.characters[rows]
    edges = np.unique(np.quantile(length, np.linspace(0, 1, STRATA + 1)[1:-1]))

    def strata(characters: np.ndarray) -> np.ndarray:
        return np.searchsorted(edges, characters, side="right")

    decoy_score = np.concatenate(score)
    targets, decoys = (
        np.bincount(strata(characters), minlength=len(edges) + 1)
        for characters in (length, text.characters[used])
    )
    wrong, q_value = false_discovery(
        pairs.score,
        strata(found.target_text.characters[pairs.target_row]),
        decoy_score,
        strata(text.characters[np.concatenate(row)]),
        targets,
        decoys,
    )
    doubts = _doubts(found, decoy_score, decoys)
    if sentences is not None and alike.mean() < 0.5:
        doubts += (f"only {alike.mean():.0%} of the decoys use the words of the targets",)
    return Estimate(pairs.score, wrong, q_value, len(used), len(decoy_score), doubts)


def _doubts(found: Search, decoy_score: np.ndarray, decoys: np.ndarray) -> tuple[str, ...]:
    """What speaks against an estimate, in words."""
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
                f"poor matches are {factor:.1f} times as many as the decoys let expect; give "
                "--decoys of the corpus's domain"
            )
    if (decoys < FEWEST // STRATA).any():
        doubts.append("too few decoys are as long, or as short, as some of the targets")
    for name, lists, other in (
        ("target", found.forward, pairs.source),
        ("source", found.backward, pairs.target),
    ):
        rows = lists.row[lists.row >= 0]
        most = int(np.bincount(rows).max()) if len(rows) else 0
        if most > max(HUB * other.distinct, 10 * found.settings.neighbors):
            number = int(np.bincount(rows).argmax())
            text = (pairs.target if name == "target" else pairs.source).sentences(
                np.array([number])
            )[0]
            doubts.append(f"one {name} is a neighbour of {most} sentences: {text[:60]!r}…")
    return tuple(doubts)


def _compete(
    found: Search, encoder: Encoder, sentences: list[str], text: PreparedText
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and positions of the decoys that are matched when they join the targets."""
    assert found.target_text is not None
    sources = side(found.pairs.source)
    vectors = encoder.encode(sentences).astype(sources.vectors.dtype)
    decoys = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
    # Without a compressed index of the sources: the decoys' neighbours are to be exact.
    forward, backward = nearest_both(replace(sources, ann=None), decoys, found.settings)
    first = len(found.backward)
    chosen, _, _ = choose(
        found.settings,
        _merged(found.forward, forward, first),
        Neighbors(
            np.concatenate([found.backward.similarity, backward.similarity]),
            np.concatenate([found.backward.row, backward.row]),
        ),
        found.verifier,
        found.source_text,
        found.target_text.join(text),
        found.alone,
    )
    decoy = chosen.target_row >= first
    return chosen.score[decoy], chosen.target_row[decoy] - first


def _merged(lists: Neighbors, more: Neighbors, first: int) -> Neighbors:
    """The k nearest of both, where row ``i`` of ``more`` is row ``first + i`` of the union."""
    k = lists.row.shape[1]
    row = np.concatenate([lists.row, np.where(more.row >= 0, more.row + first, -1)], axis=1)
    similarity = np.concatenate([lists.similarity, more.similarity], axis=1)
    similarity = np.where(row >= 0, similarity, -np.inf)
    order = np.lexsort((row, -similarity), axis=1)[:, :k]
    return Neighbors(
        np.take_along_axis(similarity, order, axis=1), np.take_along_axis(row, order, axis=1)
    )


def _alike(
    targets: PreparedText, rows: np.ndarray, decoys: PreparedText, usable: np.ndarray, size: int
) -> np.ndarray:
    """``(m,) bool``: which of the ``usable`` decoys could stand among the targets, by vocabulary.

    A sentence's likelihood is the mean log frequency of its pieces among the targets, its own
    occurrences left out. Decoys less likely than all but a few targets are of another language, or
    of a domain with words that the targets do not have.
    """
    count = np.bincount(targets.ids, minlength=size)

    def likelihood(text: PreparedText, rows: np.ndarray, own: int) -> np.ndarray:
        part = text.take(rows)
        lengths = np.diff(part.offsets)
        logs = np.log(np.maximum(count[part.ids] - own, 0) + 0.5)
        owner = np.repeat(np.arange(len(rows)), lengths)
        return np.bincount(owner, logs, minlength=len(rows)) / np.maximum(lengths, 1)

    return likelihood(decoys, usable, 0) >= np.quantile(likelihood(targets, rows, 1), UNLIKE)
