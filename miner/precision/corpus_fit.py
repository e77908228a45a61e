"""Fit of the verifier's function to a search: to all its pairs, then to the likely ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.precision import decoy_weights, faults, refit
from miner.precision.decoys import DecoyPairs
from miner.precision.labels import FEW, Labelled, Refined, ScoredRows, refine
from miner.precision.near_decoys import NearDecoys, near_decoys
from miner.precision.search_result import SearchResult
from miner.scoring.pair_features import TokenizedText
from miner.scoring.quality import Quality
from miner.scoring.second_opinion import counted

# Number of right pairs below which the refit stays close to the model, as the report says.
FEW_RIGHT = 300


@dataclass(frozen=True, eq=False)
class CorpusFit:
    """Log-odds fitted to the corpus, and the quality of likely pairs.

    ``score (m,) float64``: probability of each pair of being right, without faults if these were
    checked; ``near``: near-decoys, or None; ``notes`` for the user. ``refined``: scores by labels,
    or None.
    """

    scored: refit.FittedScores
    score: np.ndarray
    near: NearDecoys | None
    notes: tuple[str, ...]
    refined: Refined | None = None


def fit_to_corpus(
    result: SearchResult,
    wrong: Sequence[tuple[DecoyPairs, TokenizedText]],
    start: refit.FittedScores,
    weight: np.ndarray,
    total: float,
    labels: Labelled | None = None,
) -> CorpusFit:
    """Fit the function of ``start`` again to the pairs of a search, wrong pairs and ``labels``.

    ``wrong`` are decoys and knock-outs, with the text of their targets; ``weight (n,)`` is the
    weight of each. ``total`` is the number of right pairs, found or missed.
    """
    pairs, text, targets = result.pairs, result.source_text, result.target_text
    assert pairs.features is not None and text is not None and targets is not None
    assert result.verifier is not None
    quality = Quality(result.verifier)
    matched = DecoyPairs.joined(decoy_pairs for decoy_pairs, _ in wrong)
    features = pairs.features, matched.features
    logit = start.logit, start.decoy_logit
    weight = decoy_weights.feature_weights(features, logit, weight, start.mixture)
    folds = refit.folds(text, pairs.source_row), refit.folds(text, matched.source_row)
    most = refit.MORE_RIGHT * float(start.mixture.probability(start.logit).sum())
    fitted = refit.refit(start, weight, features, folds, most=most)
    last, notes = fitted or start, _notes(start, fitted)
    pair_faults = faults.read(
        quality,
        (text, targets),
        (pairs.source_row, pairs.target_row),
        pairs.cosine,
        last.mixture.probability(last.logit),
    )
    if fitted is None and labels is None:
        return CorpusFit(last, *_score(last, pair_faults, result, quality), notes)
    parts, first = [], 0
    probability = last.mixture.probability(last.decoy_logit)
    for decoy_pairs, its in wrong:
        part = slice(first, first + len(decoy_pairs))
        rows = decoy_pairs.source_row, decoy_pairs.decoy
        read = faults.read(quality, (text, its), rows, decoy_pairs.cosine, probability[part])
        parts.append((read.rows + first, read.features, read.quality))
        first += len(decoy_pairs)
    decoy_faults = faults.FaultFeatures(*map(np.concatenate, zip(*parts, strict=True)))
    if pairs.second is not None:
        pair_faults, decoy_faults = (
            replace(read, features=np.column_stack([read.features, counted(*added)[read.rows]]))
            for read, added in (
                (pair_faults, (pairs.second, pairs.score)),
                (decoy_faults, (matched.second, matched.score)),
            )
        )
    rows = pair_faults.rows, decoy_faults.rows
    columns = (
        np.hstack([features[0][pair_faults.rows], pair_faults.features]),
        np.hstack([features[1][decoy_faults.rows], decoy_faults.features]),
    )
    folds = folds[0][pair_faults.rows], folds[1][decoy_faults.rows]
    for _ in range(refit.ROUNDS if fitted else 0):
        penalty = refit.LIKELY_PENALTY
        again = refit.refit(last, weight, columns, folds, rows=rows, penalty=penalty, most=most)
        last = again or last
    score, near = _score(last, pair_faults, result, quality)
    if labels is None:
        return CorpusFit(last, score, near, notes)
    logit = last.decoy_logit[decoy_faults.rows]
    evidence = [
        ScoredRows(read.rows, sound, np.hstack([values, read.quality[:, None]]))
        for read, sound, values in (
            (pair_faults, score[pair_faults.rows], columns[0]),
            (
                decoy_faults,
                faults.scores(last.mixture.probability(logit), decoy_faults.quality),
                columns[1],
            ),
        )
    ]
    expected = weight[decoy_faults.rows] * last.mixture.wrong(logit)
    refined = refine(score, evidence[0], evidence[1], expected, labels, total)
    near = near if len(labels) < FEW else None
    return CorpusFit(last, refined.score, near, notes, refined)


def _score(
    last: refit.FittedScores,
    pair_faults: faults.FaultFeatures,
    result: SearchResult,
    quality: Quality,
) -> tuple[np.ndarray, NearDecoys | None]:
    """Return each pair's probability of being right, ``(m,) float64``, and near-decoys."""
    score = last.mixture.probability(last.logit)
    sound = score.copy()
    raised = pair_faults.raised(sound[pair_faults.rows])
    score[pair_faults.rows] = faults.scores(sound[pair_faults.rows], pair_faults.quality, raised)

    def score_of(rows: np.ndarray, logit: np.ndarray) -> np.ndarray:
        return faults.scores(sound[rows], logit, raised)

    return score, near_decoys(result.pairs, np.flatnonzero(score >= 0.5), quality, score_of)


def _notes(start: refit.FittedScores, fitted: refit.FittedScores | None) -> tuple[str, ...]:
    """Return a note if too few right pairs left the function unchanged, or nearly so."""
    right = float(start.mixture.probability(start.logit).sum())
    if fitted is None:
        return (f"ranked by the model's own function: about {right:.0f} pairs to fit it to",)
    if right < FEW_RIGHT:
        return (
            f"few likely pairs (about {right:.0f}): the model's scoring is used almost unchanged",
        )
    return ()
