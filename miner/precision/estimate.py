"""Precision and recall of mined pairs without gold: target-decoy competition.

Proteomics estimates the precision of its matches with decoys (Elias & Gygi 2007): items that cannot
be right are added to the others, and go through the same search. Here decoys are sentences of the
target's language from elsewhere (:mod:`miner.precision.decoys`), weighted to resemble the targets
(:mod:`miner.precision.decoy_weights`). The verifier's function is fitted again to this corpus
(:mod:`miner.precision.corpus_fit`). A mixture of right and wrong pairs gives P(right) of each pair
(:mod:`miner.precision.mixture`). Score = P(right) × P(no fault) (:mod:`miner.precision.faults`);
the mean score above a threshold is its estimated precision.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from miner.errors import ResourceError
from miner.precision import decoy_weights, knock_out, refit
from miner.precision import labels as labelling
from miner.precision.corpus_fit import fit_to_corpus
from miner.precision.decoys import FEWEST, DecoyPairs
from miner.precision.knock_out import NEAR_COPIES, near_copies
from miner.precision.mixture import UNLIKE_LENGTH, USUAL, drawn_spreads, interval
from miner.precision.near_decoys import NearDecoys
from miner.precision.search_result import SearchResult
from miner.scoring.language_notes import little_known
from miner.scoring.logistic import log_odds
from miner.scoring.quality import has_quality
from miner.text.language_codes import describe
from miner.text_table import count_of, quoted

# Limits for doubts: minimum number of right pairs, maximum factor by which decoys are rescaled, and
# maximum share HUB of all neighbour lists that HUBS sentences may take.
FEW_RIGHT, UNLIKE_CORPUS, HUB, HUBS = 200, 4.0, 0.1, 10
# Probability from which a matched decoy looks like a translation, and the maximum share of such
# decoys. Chance matches hardly reach it: more means that sources have translations among the
# decoys, for example because the corpus contains the model's training text.
TRANSLATION, TRANSLATIONS = 0.5, 0.01
# Minimum share of decoys that hold nearly all the weight; with fewer, their lengths differ from the
# targets'. For lines of three words, wrong pairs are then 4 to 10 times the estimate
# (benchmarks/LOG.md).
ALIKE = 0.02
# Minimum number of matched decoys: with fewer the estimate is doubtful, and margins have none.
FEWEST_MATCHED = 20
# Share of wrong pairs among those for which knock-outs may doubt the estimate.
WRONG = 0.05
# Spread of the scores of right pairs with labels (benchmarks/LOG.md).
LABELLED_SPREAD = 1.9
# Recall is not estimated if scores find less than the share FOUND of SEVERAL right pairs.
FOUND, SEVERAL = 0.2, 50
# Iterations in which the number of right pairs updates the weights of knock-outs.
ROUNDS = 2

Resample = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Interval = tuple[float, float]


@dataclass(frozen=True)
class EstimateRow:
    """Threshold, number of pairs that it keeps, and their estimated precision and recall.

    The intervals should contain the true value in nine of ten corpora.
    """

    threshold: float
    kept: int
    precision: float | None = None
    recall: float | None = None
    precision_interval: Interval | None = None
    recall_interval: Interval | None = None


@dataclass(frozen=True, eq=False)
class Estimate:
    """Precision and recall of mined pairs at every threshold, estimated without gold.

    Columns of the pairs, best first: ``score (m,) float64``, the probability of being right;
    ``wrong (m,) float64``, the expected number of wrong pairs among this and the better ones;
    ``q_value (m,) float64``, the least estimated false discovery rate of any threshold that keeps
    the pair. ``decoys``: number of decoys used; ``matched``: how many were matched with a source;
    ``dropped``: how many more matched like translations. ``doubts`` are reasons to distrust the
    estimate, ``notes`` describe its method. ``resample`` bootstraps precision and recall ``(b, t)
    float64`` of the best ``(t,)`` pairs. ``near`` are near-decoys of likely pairs, which do not
    count as wrong. ``labels``: number of labelled pairs used. ``total``: number of right pairs,
    found or missed; None if recall is relative to the pairs found. ``no_recall``: why recall is not
    estimated, or "".
    """

    score: np.ndarray
    wrong: np.ndarray
    q_value: np.ndarray
    decoys: int
    matched: int
    doubts: tuple[str, ...] = ()
    dropped: int = 0
    notes: tuple[str, ...] = ()
    resample: Resample | None = None
    near: NearDecoys | None = None
    labels: int = 0
    total: float | None = None
    no_recall: str = ""

    def threshold(self, precision: float) -> float | None:
        """Return the lowest score whose pairs have this estimated precision; None if there is
        none.
        """
        # Tolerance, because 1 - 0.9 is slightly less than 0.1 in floating point.
        kept = int(np.searchsorted(self.q_value, 1 - precision + 1e-9, side="right"))
        return float(self.score[kept - 1]) if kept else None

    def count(self, threshold: float) -> int:
        """Count the pairs with this score or more."""
        return int(np.count_nonzero(self.score >= threshold))

    def precision(self, kept: int) -> float:
        """Return the estimated precision of the ``kept`` best pairs."""
        return 1 - float(self.q_value[kept - 1]) if kept else 1.0

    def precision_at(self, threshold: float) -> float:
        """Return the estimated precision of the pairs with this score or more."""
        return self.precision(self.count(threshold))

    @property
    def right(self) -> float:
        """Number of right pairs; :attr:`total`, if known, includes missed pairs."""
        right_pairs = len(self.score) - float(self.wrong[-1]) if len(self.score) else 0.0
        return max(right_pairs, self.total or 0.0)

    @property
    def recall_of(self) -> str:
        """Complete "recall is …": what it is relative to, or why it is not estimated."""
        if self.no_recall:
            return f"not estimated: {self.no_recall}"
        if self.total is None:
            return "relative to the pairs found"
        return f"of about {self.right:,.0f} right pairs"

    def recall(self, kept: int) -> float | None:
        """Return the estimated recall of the ``kept`` best pairs, relative to :attr:`right`.

        None if :attr:`no_recall` is set.
        """
        if self.no_recall:
            return None
        if not kept or self.right <= 0:
            return 0.0
        return min((kept - float(self.wrong[kept - 1])) / self.right, 1.0)

    def intervals(self, kept: Sequence[int]) -> list[tuple[Interval, Interval | None] | None]:
        """Return intervals of precision and of recall for each number of best pairs.

        None without resamples, and for a recall that is not estimated. Both are widened if needed
        to contain the estimate. An interval does not depend on the other numbers in ``kept``.
        """
        if self.resample is None:
            return [None] * len(kept)
        precision, recall = self.resample(np.asarray(kept, dtype=np.float64))
        intervals: list[tuple[Interval, Interval | None] | None] = []
        for column, count in enumerate(kept):
            mean = self.recall(count)
            intervals.append(
                (
                    _around(self.precision(count), interval(precision[:, column])),
                    None if mean is None else _around(mean, interval(recall[:, column])),
                )
            )
        return intervals

    def table(self, precisions: Sequence[float]) -> Iterator[EstimateRow]:
        """Yield a row for each of the precisions that a threshold reaches, each threshold once."""
        rows: dict[float, EstimateRow] = {}
        for precision in precisions:
            threshold = self.threshold(precision)
            if threshold is None:
                continue
            threshold = rounded(threshold)
            if threshold > 0 and threshold not in rows:
                kept = self.count(threshold)
                rows[threshold] = EstimateRow(
                    threshold, kept, self.precision(kept), self.recall(kept)
                )
        estimates = list(rows.values())
        for row, both in zip(
            estimates, self.intervals([row.kept for row in estimates]), strict=True
        ):
            yield (
                row
                if both is None
                else replace(row, precision_interval=both[0], recall_interval=both[1])
            )


def _around(value: float, bounds: Interval) -> Interval:
    return min(bounds[0], value), max(bounds[1], value)


def interval_text(bounds: Interval) -> str:
    """Format an interval; a dash for one that covers everything."""
    text = "{:.3f}-{:.3f}".format(*bounds)
    return "–" if text == "0.000-1.000" else text


def rounded(threshold: float) -> float:
    """Round down to six decimals, so that the printed threshold keeps all the pairs of its row."""
    return math.floor(threshold * 1_000_000) / 1_000_000


def calibrate(
    result: SearchResult,
    sentences: Sequence[str] | None = None,
    *,
    refitting: bool = True,
    labels: labelling.Labels | None = None,
) -> tuple[SearchResult, Estimate]:
    """Replace the scores of a search's pairs by their probability of being right on this corpus.

    Returns the search with its pairs in the new order, and the estimate of their precision and
    recall. ``sentences``: decoys of the user, if any. Without ``refitting`` the model's own
    function ranks, as for a model without a quality function. ``labels`` of pairs are evidence
    besides decoys. Raises :class:`~miner.errors.ResourceError` for too few decoys, and ValueError
    for a search without decoys.
    """
    if result.competed is None:
        raise ValueError("no decoys took part in this search; search with estimating=True")
    if isinstance(result.competed, str):
        raise ResourceError(result.competed)
    assert result.target_text is not None and result.knocked is not None
    pairs, (decoys, matched) = result.pairs, result.competed
    labelled = None if labels is None else labelling.Labelled.of(pairs, labels)
    refined = None
    resample: Resample | None = None
    used = np.concatenate(decoys.draws)
    if not len(matched):
        raise ResourceError(
            f"none of {len(used)} decoys was matched, so they tell nothing of the pairs; are both "
            "sides equal, or translations line by line? Give a --threshold, or --top-n"
        )
    matched, used, dropped = _without_translations(matched, used)
    lengths = decoys.text.characters
    weight = np.zeros(len(lengths))
    weight[used] = decoy_weights.length_weights(
        result.target_text.characters[result.sides[1].rows], lengths[used]
    )
    # Effective number of decoys of equal weight.
    equal = weight.sum() ** 2 / (weight**2).sum()
    weight = weight[matched.decoy]
    sources = len(result.sides[0].rows)
    most = min(sources, len(result.sides[1].rows))
    rivals = log_odds(result.knocked.score)
    usual = USUAL if equal >= ALIKE * len(used) else replace(USUAL, unlike=UNLIKE_LENGTH)
    fitted = refit.scored(log_odds(pairs.score), log_odds(matched.score), weight, law=usual)
    wrong_pairs = [(matched, decoys.text)]
    knocked, length_weight = result.knocked.take(slice(0)), weight
    for _ in range(ROUNDS):
        right = fitted.mixture.probability(fitted.logit)
        some, each, share = knock_out.weighted(result.knocked, pairs, right, sources)
        if not len(some):
            break
        knocked, weight = some, np.concatenate([(1 - share) * length_weight, each])
        both = np.concatenate([matched.score, knocked.score])
        law = knock_out.law(share, usual)
        fitted = refit.scored(log_odds(pairs.score), log_odds(both), weight, law=law)
    if len(knocked):
        wrong_pairs.append((knocked, result.target_text))
    factor, notes, near = float(np.exp(fitted.mixture.scale)), [], None
    score = fitted.mixture.probability(fitted.logit)
    totals = fitted.mixture.all_right(fitted.logit, rivals, most, drawn_spreads())
    total = float(totals[0])
    assert result.verifier is not None
    encoder = result.verifier.encoder
    if refitting and not has_quality(encoder):
        notes.append(f"{encoder.name} has no quality function: its own scoring is used")
    elif refitting:
        enough = None if labelled is None or len(labelled) < labelling.FEWEST else labelled
        # Labels show the right pairs directly: the number of missed ones follows from the
        # distribution of scores.
        alone = fitted.mixture.all_right(fitted.logit, rivals[:0], np.inf, (LABELLED_SPREAD,))
        fit = fit_to_corpus(result, wrong_pairs, fitted, weight, float(alone[0]), enough)
        fitted, score, near, notes = fit.scored, fit.score, fit.near, list(fit.notes)
        refined = fit.refined
    order = np.lexsort((pairs.target_row, pairs.source_row, -score))
    wrong, q_value = expected_wrong(score[order])
    foreseen = knock_out.Foreseen.of(result.knocked, pairs, score, sources)
    usual_kept = int(np.searchsorted(q_value, WRONG, side="right"))
    near_copied = foreseen.doubtful(usual_kept)
    resample = partial(
        fitted.histogram.resampled,
        fitted.mixture,
        totals[1:],
        most,
        near=foreseen.drawn if near_copied else None,
    )
    if labelled is not None and labels is not None:
        note = f"{len(labelled)} of {count_of(len(labels), 'label')} are of pairs that were found"
        if refined is not None:
            resample, total = refined.resample, refined.total
            note += f"; about {refined.calibrated.errors:.0%} of them err"
        elif len(labelled) < labelling.FEWEST:
            note += f", too few to use; {labelling.FEWEST} are enough"
        else:
            note += "; they are not used, as nothing is fitted to this corpus"
        notes.append(note)
    pairs = replace(pairs, score=score, raw_score=pairs.score).take(order)
    result = replace(result, pairs=replace(pairs, q_value=q_value))
    judged = 0 if refined is None or labelled is None else len(labelled)
    known = little_known(result.languages, encoder.model.languages)
    doubts = doubts_of(result, factor, judged, bool(known))
    if len(matched) + len(knocked) < FEWEST_MATCHED:
        doubts += (
            f"only {count_of(len(matched), 'decoy')} found a source; give more (--decoys FILE)",
        )
    if near_copied and judged < labelling.FEW:
        doubts += (
            f"near-copies are foreseen badly: each likely source stands for {foreseen.each:,.0f} "
            f"without a partner, and {foreseen.matched[usual_kept]:,} match as well when their "
            f"partner is hidden; up to {min(foreseen.most(usual_kept), usual_kept):,.0f} of the "
            f"{usual_kept:,} best pairs may be wrong, where {wrong[usual_kept - 1]:,.0f} are "
            "estimated; read some (miner review)",
        )
    if dropped:
        doubts += (
            f"{dropped} decoys match a source as translations do and were dropped; the corpus may "
            "contain the model's training text",
        )
    if equal < ALIKE * len(used):
        doubts += (
            f"the targets have the length of few decoys, which count like {equal:,.0f}: there may "
            "be several times as many wrong pairs; give --decoys of such lines",
        )
    if sentences is not None and decoys.alike < 0.5:
        doubts += (f"only {decoys.alike:.0%} of the decoys use the words of the targets",)
    return result, Estimate(
        pairs.score,
        wrong,
        q_value,
        len(used),
        len(matched),
        doubts,
        dropped,
        tuple(notes),
        resample,
        near,
        judged,
        total,
        _no_recall(known, float(pairs.score.sum()), total),
    )


def _no_recall(little: Sequence[str], matched: float, total: float) -> str:
    """Explain why recall is not estimated: the search has ``matched`` of ``total`` right pairs."""
    if little:
        return f"the model is blind to many translations in {' and '.join(map(describe, little))}"
    if total >= SEVERAL and matched < FOUND * total:
        return f"scores tell few of about {total:,.0f} right pairs from chance"
    return ""


def expected_wrong(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``wrong`` and ``q_value`` of :class:`Estimate` for scores ``(m,)``, best first."""
    # Pairs of equal score are kept together.
    kept = np.searchsorted(-score, -score, side="right")
    wrong = np.cumsum(1 - score)[kept - 1] if len(score) else np.empty(0)
    return wrong, np.minimum.accumulate((wrong / np.maximum(kept, 1))[::-1])[::-1]


def counted_wrong(
    score: np.ndarray, decoy_score: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``wrong`` and ``q_value`` by counting decoys ``(n,)`` at each score ``(m,)`` or above.

    One decoy is added to each count, because none among few decoys does not mean none among many.
    """
    order = np.argsort(-decoy_score, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    wrong = total[np.searchsorted(-decoy_score[order], -score, side="right")]
    wrong += max(1.0, weight.mean() if len(weight) else 0.0)
    kept = np.searchsorted(-score, -score, side="right")
    wrong = np.minimum(wrong, kept)
    return wrong, np.minimum.accumulate((wrong / np.maximum(kept, 1))[::-1])[::-1]


def _without_translations(
    matched: DecoyPairs, used: np.ndarray
) -> tuple[DecoyPairs, np.ndarray, int]:
    """Drop decoys that match like translations, if there are many; return their number too."""
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
    return matched, used, dropped


def doubts_of(
    result: SearchResult, factor: float, labels: int = 0, little_known: bool = False
) -> tuple[str, ...]:
    """Return reasons to distrust an estimate.

    ``factor``: number of poor matches relative to the decoys' prediction. ``labels``: number of
    labelled pairs; enough of them show near-copies. ``little_known``: the model knows a language
    badly.
    """
    doubts = []
    pairs = result.pairs
    right = float(pairs.score.sum())
    if right < FEW_RIGHT:
        doubts.append(f"only about {count_of(round(right), 'right pair')} to judge by")
    if not 1 / UNLIKE_CORPUS <= factor <= UNLIKE_CORPUS:
        doubts.append(
            f"poor matches are {factor:.1f} times as many as the decoys predict; give --decoys "
            "of the corpus's domain"
        )
    near = near_copies(pairs, pairs.score >= 0.5)
    if labels < labelling.FEW and near.sum() > max(NEAR_COPIES * len(near), 5):
        why = (
            "the model tells few sentences of such languages apart, and the true precision may be "
            "another"
            if little_known
            else "the corpus has near-copies, which decoys do not foresee, and the true precision "
            "may be far lower"
        )
        doubts.append(
            f"{near.sum()} of the {len(near)} likely pairs have a rival that is nearly as good: "
            f"{why}"
        )
    # In a small corpus a few sentences always fill the lists, because there are no others.
    large = min(pairs.source.distinct, pairs.target.distinct) >= 100 * HUBS
    for name, lists, index in (
        ("targets", result.forward, pairs.target),
        ("sources", result.backward, pairs.source),
    ):
        count = np.bincount(lists.row[lists.row >= 0], minlength=100 * HUBS)
        hubs = np.argsort(-count, kind="stable")[:HUBS]
        share = count[hubs].sum() / max(count.sum(), 1)
        if large and share > HUB:
            (text,) = index.sentences(hubs[:1])
            doubts.append(
                f"{HUBS} {name} fill {share:.0%} of all neighbour lists, most of all "
                f"{quoted(text)}; remove such lines from the corpus, or search with a larger -k"
            )
    return tuple(doubts)
