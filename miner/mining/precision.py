"""Precision of mined pairs without gold: target-decoy competition.

Proteomics estimates the precision of its matches with decoys (Elias & Gygi 2007): items that cannot
be right join those that may be, and go through the very same search. Here decoys are sentences of
the target's language from elsewhere. Added to the targets, they compete for the same sources, are
scored by the same margins and the same verifier, and are matched one to one. The number of decoys
that reach a threshold estimates the number of wrong pairs that do.

Decoys differ from the corpus, which is corrected in three ways. Only decoys with the vocabulary of
the corpus are used. They are counted by strata of length, since short sentences match by chance far
more often. And in each stratum their number is scaled so that it agrees with the corpus among the
low scores, where nearly all pairs are wrong. One estimate in 420 lines: its steps stay together.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.errors import ResourceError
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.vector_set import VectorSet
from miner.machine import thread_count
from miner.mining.search import Search
from miner.mining.verification import choose_by_probability, held_bytes, release
from miner.ragged import take_lists
from miner.scoring.margin import CandidateBlocks
from miner.scoring.pair_features import PreparedText, prepare

# Decoys in all, and draws of them at most: a draw has no more decoys than there are targets, since
# they would crowd each other out otherwise.
DECOYS, DRAWS = 20_000, 32
# With fewer decoys, or fewer targets to put them among, there is no estimate.
FEWEST, FEWEST_TARGETS = 500, 50
# Strata of equal numbers of target sentences, by length in characters.
STRATA = 8
# Range of quantiles of a stratum's decoy scores from which its scale is found.
BULK = (0.30, 0.95)
# Pseudo-counts that pull the scale of strata with few pairs towards 1.
CAUTION = 20.0
# Number of best decoys to which the tail of the scores is fitted.
TAIL = 100
SEED = 1
# Decoys are dropped if their words are rarer in the corpus than those of this share of its own
# sentences.
UNLIKE = 0.05
# Sentences whose token ids, or neighbours, are compared at a time; token ids counted at a time.
BLOCK, IDS = 16_384, 1 << 20
# Doubts are raised for fewer pairs than this, for decoys that must be scaled by more than this
# factor either way, and for a sentence that is a neighbour of more than this share of the other
# side.
FEW_PAIRS, UNLIKE_CORPUS, HUB = 200, 4.0, 0.02
# A decoy that matches a source with this probability or more is as good as a translation. Chance
# matches hardly get there: if more than this share of the decoys do, the sources hold translations
# of decoys, as where the corpus contains the model's training text.
TRANSLATION, TRANSLATIONS = 0.5, 0.01
# Memory for the blocks of the decoys' search.
DECOY_SEARCH = 48 << 20


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
    assert found.verifier is not None and found.target_text is not None
    encoder = found.verifier.encoder
    pool = list(dict.fromkeys(encoder.model.read_decoys() if sentences is None else sentences))
    text = prepare(encoder.tokenizer, pool, thread_count(found.settings.threads))
    rows = found.sides[1].rows
    usable = np.flatnonzero((np.diff(text.offsets) > 0) & ~_among(text, found.target_text))
    alike = _alike(found.target_text, rows, text, usable, encoder.tokenizer.size)
    if sentences is None:
        usable = usable[alike]
    if len(rows) < FEWEST_TARGETS:
        raise ResourceError(
            f"only {len(rows)} different targets, too few to mix decoys in among; "
            "give a --threshold"
        )
    # A sample, whatever the order of the decoys.
    usable = np.random.default_rng(SEED).permutation(usable)[:DECOYS]
    draws = np.array_split(usable, -(-len(usable) // len(rows)) or 1)[:DRAWS]
    used = np.concatenate(draws)
    if len(used) < FEWEST:
        why = "resemble the targets" if sentences is None else "are distinct, known, and no targets"
        raise ResourceError(
            f"only {len(used)} decoys {why}; give at least {FEWEST} sentences of the target's "
            "language and domain (--decoys FILE), or a --threshold"
        )
    score, row = [], []
    for chosen in draws:
        decoys = text.take(chosen)
        vectors = encoder.encode_pieces(
            decoys.ids, decoys.offsets, [pool[i] for i in chosen]
        ).astype(found.sides[0].vectors.dtype)
        decoy_pairs = _compete(found, vectors, decoys)
        score.append(decoy_pairs[0])
        row.append(chosen[decoy_pairs[1]])
    length = found.target_text.characters[rows]
    edges = np.unique(np.quantile(length, np.linspace(0, 1, STRATA + 1)[1:-1]))

    def strata(characters: np.ndarray) -> np.ndarray:
        return np.searchsorted(edges, characters, side="right")

    decoy_score, decoy_row = np.concatenate(score), np.concatenate(row)
    translated = decoy_score >= TRANSLATION
    dropped = int(translated.sum()) if translated.sum() > TRANSLATIONS * len(used) else 0
    if dropped:
        used = np.setdiff1d(used, decoy_row[translated])
        decoy_score, decoy_row = decoy_score[~translated], decoy_row[~translated]
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
        decoy_score,
        strata(text.characters[decoy_row]),
        targets,
        decoy_count,
    )
    doubts = _doubts(found, decoy_score, decoy_count)
    if dropped:
        doubts += (
            f"{dropped} decoys match a source as translations do and were dropped; the corpus may "
            "contain the model's training text",
        )
    if sentences is not None and alike.mean() < 0.5:
        doubts += (f"only {alike.mean():.0%} of the decoys use the words of the targets",)
    return Estimate(pairs.score, wrong, q_value, len(used), len(decoy_score), doubts, dropped)


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
    found: Search, vectors: np.ndarray, text: PreparedText
) -> tuple[np.ndarray, np.ndarray]:
    """Let one draw of decoys join the targets; return the scores and positions of those matched.

    ``vectors (n, d)`` and ``text`` are those of the decoys. The logits of the search's own
    candidates are known, and only those of decoys are computed.
    """
    verifier, logits, source_text = found.verifier, found.logits, found.source_text
    assert verifier is not None and logits is not None and source_text is not None
    decoys = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
    settings, first = found.settings, len(found.backward)
    assert settings.memory is not None
    # At least what its lists and small blocks take: the work is not to end here.
    memory = max(
        settings.memory - held_bytes((len(found.forward), first), settings.neighbors),
        (20 * settings.neighbors + 100) * (len(found.forward) + len(vectors)) + DECOY_SEARCH,
    )
    # Without a compressed index of the sources: the neighbours of decoys are to be exact.
    forward, backward = nearest_both(
        replace(found.sides[0], ann=None), decoys, replace(settings, memory=memory)
    )
    joined = Neighbors(
        np.concatenate([found.backward.similarity, backward.similarity]),
        np.concatenate([found.backward.row, backward.row]),
    )
    blocks = CandidateBlocks(_merged(found.forward, forward, first), joined, settings.margin)

    def logits_of(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        logit = np.empty(len(source_row))
        new = target_row >= first
        logit[~new] = logits.of(source_row[~new], target_row[~new])
        logit[new] = verifier.pair_logits(
            source_text, text, source_row[new], target_row[new] - first
        )
        release(source_text)
        return logit

    chosen = choose_by_probability(blocks, settings.retrieval, verifier, logits_of, memory)[0]
    matched = chosen.target_row >= first
    return chosen.score[matched], chosen.target_row[matched] - first


def _merged(lists: Neighbors, more: Neighbors, first: int) -> Neighbors:
    """Merge lists into the k nearest of both, in place of ``more``.

    Row ``i`` of the lists of ``more`` becomes ``first + i``.
    """
    k = lists.row.shape[1]
    for start in range(0, len(lists), BLOCK):
        part = slice(start, start + BLOCK)
        new = more.row[part]
        row = np.concatenate([lists.row[part], np.where(new >= 0, new + first, -1)], axis=1)
        similarity = np.concatenate([lists.similarity[part], more.similarity[part]], axis=1)
        similarity = np.where(row >= 0, similarity, -np.inf)
        order = np.lexsort((row, -similarity), axis=1)[:, :k]
        more.similarity[part] = np.take_along_axis(similarity, order, axis=1)
        more.row[part] = np.take_along_axis(row, order, axis=1)
    return more


def _among(decoys: PreparedText, targets: PreparedText) -> np.ndarray:
    """Return a ``(n,) bool`` mask of the decoys that have the token ids of a target."""
    wanted = list(_keys(decoys, 0, len(decoys)))
    own, found = set(wanted), set()
    for start in range(0, len(targets), BLOCK):
        found |= own.intersection(_keys(targets, start, min(start + BLOCK, len(targets))))
        release(targets)
    return np.array([key in found for key in wanted], dtype=bool)


def _keys(text: PreparedText, start: int, end: int) -> Iterator[bytes]:
    """Yield the token ids of the sentences from ``start`` to ``end`` as bytes."""
    offsets = text.offsets[start : end + 1]
    ids = np.asarray(text.ids[offsets[0] : offsets[-1]]).tobytes()
    edges = ((offsets - offsets[0]) * text.ids.itemsize).tolist()
    for first, last in zip(edges[:-1], edges[1:], strict=True):
        yield ids[first:last]


def _alike(
    targets: PreparedText, rows: np.ndarray, decoys: PreparedText, usable: np.ndarray, size: int
) -> np.ndarray:
    """Return a ``(m,) bool`` mask of the ``usable`` decoys with the vocabulary of the targets.

    The likelihood of a sentence is the mean log frequency of its tokens among the targets, without
    its own occurrences. Decoys less likely than all but a few targets are of another language, or
    of a domain with other words.
    """
    count = np.zeros(size, dtype=np.int64)
    for start in range(0, len(targets.ids), IDS):
        count += np.bincount(targets.ids[start : start + IDS], minlength=size)
        release(targets)

    def likelihood(text: PreparedText, rows: np.ndarray, own: int) -> np.ndarray:
        out = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            lengths = text.offsets[rows[part] + 1] - text.offsets[rows[part]]
            ids, offsets = take_lists(text.ids, text.offsets, rows[part])
            logs = np.log(np.maximum(count[ids] - own, 0) + 0.5)
            owner = np.repeat(np.arange(len(lengths)), lengths)
            out[part] = np.bincount(owner, logs, minlength=len(lengths))
            out[part] /= np.maximum(lengths, 1)
            release(text)
        return out

    return likelihood(decoys, usable, 0) >= np.quantile(likelihood(targets, rows, 1), UNLIKE)
