"""Second stage of an alignment: the likely beads, compared word by word.

Features of a bead: its score by the first stage; the quality of the pair, above what is usual in
these documents, since its level differs by domain; and the agreement of numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miner.alignment.beads import FINE, KINDS, best, spans_of
from miner.alignment.lattice import Lattice
from miner.kernels.beads import forward_backward
from miner.scoring.quality import FEATURES as QUALITY_FEATURES
from miner.scoring.quality import Quality, features_of_rows

# Beads of at least this probability by the first stage, made less sure of itself.
LEAST, TEMPER = 1e-3, np.float32(0.5)
# The usual quality: this quantile of the best one of each source sentence.
USUAL = 0.65
# Largest logit of a quality that counts.
CLIP = 8.0
_SHARED, _DIFFER = map(QUALITY_FEATURES.index, ("numbers_shared", "numbers_differ"))


@dataclass(frozen=True)
class LikelyBeads:
    """Likely beads of two documents: cells and kinds ``(p,)``, and features ``(p, F) float64``."""

    cell: np.ndarray
    kind: np.ndarray
    features: np.ndarray

    def scores(self, weights: np.ndarray, cells: int) -> np.ndarray:
        """Return the scores ``(cells, K) float32``; minus infinity for other beads."""
        scores = np.full((cells, len(KINDS)), -np.inf, np.float32)
        count = len(KINDS)
        scores[self.cell, self.kind] = weights[self.kind] + self.features @ weights[count:]
        return scores


def likely(
    lattice: Lattice,
    scores: np.ndarray,
    texts: tuple[Sequence[str], Sequence[str]],
    quality: Quality,
    right: tuple[np.ndarray, np.ndarray] | None = None,
) -> LikelyBeads:
    """Choose the likely beads by the first stage's ``scores (cells, K)``, and compare their texts.

    The best alignment is among them, and so are the beads ``right``, cells and kinds.
    """
    limits = lattice.band
    posterior = np.empty_like(scores)
    forward_backward(scores * TEMPER, limits, KINDS, posterior)
    posterior[tuple(best(scores, limits).T)] = 1
    if right is not None:
        posterior[right] = 1
    cell, kind = np.nonzero(posterior >= LEAST)
    features = np.zeros((len(cell), len(FINE)))
    features[:, 0] = scores[cell, kind]
    both = np.flatnonzero((KINDS[kind] > 0).all(axis=1))
    if len(both):
        spans = spans_of(cell, kind, limits)[both]
        cosine = lattice.cosines(spans)
        features[both, 1:] = _compared(spans, texts, cosine, quality)
    return LikelyBeads(cell, kind, features)


def _compared(
    spans: np.ndarray,
    texts: tuple[Sequence[str], Sequence[str]],
    cosine: np.ndarray,
    quality: Quality,
) -> np.ndarray:
    """Return quality and agreement of numbers ``(p, 2)`` of beads with sentences on both sides."""
    blocks, rows = zip(
        *(_blocks(own, spans[:, side : side + 2]) for own, side in zip(texts, (0, 2), strict=True)),
        strict=True,
    )
    left, right = (quality.verifier.prepare(own) for own in blocks)
    metrics = features_of_rows(quality.verifier, left, right, (rows[0], rows[1]), cosine)
    logit = np.clip(quality.function.logit(metrics), -CLIP, CLIP)
    best_of = np.full(len(texts[0]), -np.inf)
    np.maximum.at(best_of, spans[:, 0], logit)
    usual = np.quantile(best_of[best_of > -np.inf], USUAL)
    return np.stack([logit - usual, metrics[:, _SHARED] - metrics[:, _DIFFER]], axis=1)


def _blocks(texts: Sequence[str], spans: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Join the sentences of each distinct span ``(p, 2)``; return texts, and each span's row."""
    distinct, rows = np.unique(spans, axis=0, return_inverse=True)
    return [" ".join(texts[i:j]) for i, j in distinct.tolist()], rows.reshape(-1)
