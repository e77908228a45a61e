"""Second stage of an alignment: likely beads are compared word by word.

Features of a bead: the features of the first stage; the quality of the pair, and of each pair of
its sentences; the association of its tokens; the cosine of its weakest sentence with the other
side; and its number of sentences, times the log frequency of joined beads in these documents.
Quality and association are relative to their usual level in these documents. The level differs by
domain: the text that a model was trained on has two to four times the association of other text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.alignment.anchors import Band
from miner.alignment.beads import FINE, KINDS, MOST, Beads, best, cells_of, spans_of
from miner.alignment.lattice import Lattice
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.kernels.beads import FEATURES, forward_backward
from miner.knn.settings import SearchSettings
from miner.scoring.logistic import log_odds
from miner.scoring.quality import FEATURES as QUALITY_FEATURES
from miner.scoring.quality import Quality, features_of_rows
from miner.scoring.second_opinion import BEADS, bead_in_doubt, doubt_limit, standard_margins
from miner.scoring.second_reading import encoded

# Minimum probability of a bead by the flattened first stage, and the factor that flattens it.
LEAST, TEMPER = 1e-3, np.float32(0.5)
# Quantile of the source sentences' best values that counts as the usual level.
USUAL = 0.65
# Share of joined sentences below which joining counts as unused.
SELDOM = 0.02
# Maximum absolute logit of a quality.
CLIP = 8.0
# Test of whether the text around a bead is related, by the mean quality logit of its neighbours:
# the mean at which both are equally likely, the slope, and the number of neighbours on either side.
# Medians by the shipped model on 17 held-out texts: -4 to -7 in unrelated documents, 0 to 4 in
# related ones (Kannada -.5).
RELATED, TURN, NEAR = -3.0, 2.0, 2
# Tokens of both sides at which association has the weight of a feature.
PER_TOKENS = 20.0
_ASSOCIATION, _COSINE = QUALITY_FEATURES.index("association"), FEATURES.index("cosine")


@dataclass(frozen=True)
class LikelyBeads:
    """Likely beads of two documents: cells and kinds ``(p,)``, and features ``(p, F) float64``.

    ``quality (p,)`` are the logits of the quality of beads with sentences on both sides.
    """

    cell: np.ndarray
    kind: np.ndarray
    features: np.ndarray
    quality: np.ndarray

    def scores(self, weights: np.ndarray, cells: int) -> np.ndarray:
        """Return the scores ``(cells, K) float32``; minus infinity for other beads."""
        scores = np.full((cells, len(KINDS)), -np.inf, np.float32)
        count = len(KINDS)
        scores[self.cell, self.kind] = weights[self.kind] + self.features @ weights[count:]
        return scores

    def second(
        self,
        scores: np.ndarray,
        limits: Band,
        texts: tuple[Sequence[str], Sequence[str]],
        encoders: tuple[SentenceEncoder, SentenceEncoder],
        settings: SearchSettings,
        most: int | None = None,
    ) -> tuple[np.ndarray, int]:
        """Return scores ``(cells, K)`` by both opinions, and the number of texts that were read.

        Beads are in doubt by their posterior probability. At most ``most`` of them get further
        log-odds, from margins among the distinct texts of these beads. Raises ResourceError for a
        faulty encoder.
        """
        posterior = np.empty_like(scores)
        forward_backward(scores, limits, KINDS, posterior)
        sure = posterior[self.cell, self.kind]
        paired = (KINDS[self.kind] > 0).all(axis=1)
        doubtful = paired & bead_in_doubt(sure)
        limit = doubt_limit(sure[doubtful], most)
        some = np.flatnonzero(doubtful & (np.abs(log_odds(sure)) < limit))
        spans = spans_of(self.cell[some], self.kind[some], limits)
        sides, read = [], 0
        for side, (side_texts, encoder) in enumerate(zip(texts, encoders, strict=True)):
            blocks, rows = _blocks(side_texts, spans[:, 2 * side : 2 * side + 2])
            vectors = np.zeros((len(blocks), encoder.dimension), np.float32)
            for places, values in encoded(encoder, blocks):
                vectors[places] = values
            sides.append((vectors, rows))
            read += len(blocks)
        (left, source), (right, target) = sides
        means = {"threads": settings.threads, "memory": settings.memory}
        added = BEADS.added(standard_margins(left, right, source, target, **means))
        scores = scores.copy()
        scores[self.cell[some], self.kind[some]] += np.where(np.isnan(added), 0, added)
        return scores, read

    def doubted(self, beads: Beads, limits: Band) -> Beads:
        """Multiply probabilities by the probability that the text around each bead is related.

        Features show which beads suit best in these documents, because quality and association are
        relative to the usual level. Unrelated documents or paragraphs have a best alignment too,
        which only the absolute quality reveals.
        """
        sizes = beads.spans[:, [1, 3]] - beads.spans[:, [0, 2]]
        paired = np.flatnonzero((sizes > 0).all(axis=1))
        wanted = cells_of(beads.spans[paired], limits)
        rows = np.searchsorted(self.cell * len(KINDS) + self.kind, wanted)  # these ascend
        total = np.concatenate([[0.0], np.cumsum(self.quality[rows])])
        places = np.arange(len(paired))
        first = np.maximum(places - NEAR, 0)
        last = np.minimum(places + NEAR + 1, len(paired))
        mean = (total[last] - total[first]) / (last - first)
        probability = beads.probability.copy()
        probability[paired] /= 1 + np.exp(TURN * (RELATED - mean))
        return replace(beads, probability=probability)


def likely(
    lattice: Lattice,
    scores: np.ndarray,
    texts: tuple[Sequence[str], Sequence[str]],
    quality: Quality,
    right: tuple[np.ndarray, np.ndarray] | None = None,
) -> LikelyBeads:
    """Choose the likely beads by the first stage's ``scores (cells, K)``, and compare their texts.

    They include the best alignment, and the beads ``right``, cells and kinds.
    """
    limits = lattice.band
    posterior = np.empty_like(scores)
    forward_backward(scores * TEMPER, limits, KINDS, posterior)
    path = best(scores, limits)
    posterior[tuple(path.T)] = 1
    if right is not None:
        posterior[right] = 1
    cell, kind = np.nonzero(posterior >= LEAST)
    spans = spans_of(cell, kind, limits)
    features = np.zeros((len(cell), len(FINE)))
    features[:, : len(FEATURES)] = lattice.features(spans)
    absolute = np.zeros(len(cell))
    both = np.flatnonzero((KINDS[kind] > 0).all(axis=1))
    if len(both):
        cosine = features[both, _COSINE]
        compared, logit = _compared(spans[both], texts, cosine, lattice, quality)
        features[both, len(FEATURES) : -1], absolute[both] = compared, logit
        joined = KINDS.sum(axis=1) - 2
        paired = joined[path[:, 1]] >= 0
        share = (joined[path[paired, 1]] > 0).mean() if paired.any() else 0.0
        features[both, -1] = joined[kind[both]] * np.log(share + SELDOM)
    return LikelyBeads(cell, kind, features, absolute)


def _compared(
    spans: np.ndarray,
    texts: tuple[Sequence[str], Sequence[str]],
    cosine: np.ndarray,
    lattice: Lattice,
    quality: Quality,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the second stage's features of beads with sentences on both sides, and quality logits.

    The logits are ``(p,)``. ``cosine`` is the first stage's, relative to the usual one.
    """
    blocks, rows = zip(
        *(
            _blocks(side_texts, spans[:, side : side + 2])
            for side_texts, side in zip(texts, (0, 2), strict=True)
        ),
        strict=True,
    )
    left, right = map(quality.verifier.tokenize_text, blocks)
    level = lattice.facts[2]
    metrics = features_of_rows(quality.verifier, left, right, (rows[0], rows[1]), cosine * level)
    absolute = np.clip(quality.function.logit(metrics), -CLIP, CLIP)
    logit = _above_usual(absolute, spans)
    tokens = np.diff(left.offsets)[rows[0]] + np.diff(right.offsets)[rows[1]]
    association = _above_usual(metrics[:, _ASSOCIATION], spans) * tokens / PER_TOKENS
    pairs = (spans[:, 1] - spans[:, 0]) * (spans[:, 3] - spans[:, 2])
    weakest = weakest_cosine(spans, lattice, cosine) - cosine
    return np.stack([logit, logit * pairs, association, weakest], axis=1), absolute


def _above_usual(values: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Subtract a quantile of the best value of the beads that begin with each source sentence."""
    best_of = np.full(spans[:, 0].max() + 1, -np.inf)
    np.maximum.at(best_of, spans[:, 0], values)
    excess: np.ndarray = values - np.quantile(best_of[best_of > -np.inf], USUAL)
    return excess


def weakest_cosine(spans: np.ndarray, lattice: Lattice, cosine: np.ndarray) -> np.ndarray:
    """Return the minimum cosine of a bead's sentences with the other side, if it has several."""
    weakest = cosine.copy()
    for column in (0, 2):
        size = spans[:, column + 1] - spans[:, column]
        for offset in range(MOST - 1):
            beads = np.flatnonzero((size > 1) & (size > offset))
            part = spans[beads]
            part[:, column] += offset
            part[:, column + 1] = part[:, column] + 1
            weakest[beads] = np.minimum(weakest[beads], lattice.features(part)[:, _COSINE])
    return weakest


def _blocks(texts: Sequence[str], spans: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Join the sentences of each distinct span ``(p, 2)``; return texts, and the row of each
    span.
    """
    distinct, rows = np.unique(spans, axis=0, return_inverse=True)
    return [" ".join(texts[i:j]) for i, j in distinct.tolist()], rows.reshape(-1)
