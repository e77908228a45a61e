"""Fit of the weights of beads to aligned documents, by conditional likelihood.

The scores of :mod:`miner.alignment` are linear in the weights. The gradient is therefore the
features of the right beads minus their expectation, by forward and backward sums over all
alignments, with a penalty on the squares of the weights; L-BFGS minimises the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from benchmarks.alignment.synthetic_documents import AlignedDocuments
from miner.alignment.anchors import Band
from miner.alignment.beads import KINDS, Weights, spans_of
from miner.alignment.fine import LikelyBeads, likely
from miner.alignment.lattice import Lattice, LatticeSide
from miner.encoder.encoder import Encoder
from miner.kernels.beads import FEATURES, forward_backward
from miner.knn.settings import SearchSettings
from miner.scoring.quality import Quality
from miner.scoring.verifier import verifier_of

if TYPE_CHECKING:
    from typing_extensions import Self

ROUNDS, RIDGE = 60, 5.0


@dataclass(frozen=True)
class Example:
    """Beads of two documents, and the positions of the right ones."""

    band: Band
    beads: LikelyBeads
    right: np.ndarray

    @classmethod
    def of(cls, limits: Band, beads: LikelyBeads, right: tuple[np.ndarray, np.ndarray]) -> Self:
        place = np.full((limits[1][-1], len(KINDS)), -1)
        place[beads.cell, beads.kind] = np.arange(len(beads.cell))
        return cls(limits, beads, place[right])

    def loss(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative log-likelihood of the right alignment, and its gradient."""
        at = self.beads.cell, self.beads.kind
        scores = self.beads.scores(weights, self.band[1][-1])
        posterior = np.empty_like(scores)
        whole = forward_backward(scores, self.band, KINDS, posterior)
        excess = posterior[at].astype(np.float64)
        excess[self.right] -= 1
        gradient = [np.bincount(at[1], excess, len(KINDS)), excess @ self.beads.features]
        return whole - scores[at][self.right].sum(dtype=np.float64), np.concatenate(gradient)


def fit(documents: Sequence[tuple[AlignedDocuments, tuple[str, str]]], encoder: Encoder) -> Weights:
    """Fit both stages to synthetic documents, each with its languages.

    Documents whose alignment leaves the band are skipped.
    """
    settings = SearchSettings(k=4, device="cpu")
    none = np.zeros(len(KINDS) + len(FEATURES))
    known = []
    coarse = []
    for document, languages in documents:
        sides = [LatticeSide.of(texts, encoder) for texts in (document.source, document.target)]
        lattice = Lattice.of(sides[0], sides[1], settings)
        right = places_of(document.beads, lattice.band)
        if right is None:
            continue
        cell, kind = np.nonzero(lattice.scores(none) > -np.inf)
        known.append((document, languages, lattice, right))
        features = lattice.features(spans_of(cell, kind, lattice.band))
        coarse.append(
            Example.of(lattice.band, LikelyBeads(cell, kind, features, np.zeros(len(cell))), right)
        )
    weights = learn(coarse)
    fine = []
    for document, languages, lattice, right in known:
        quality = Quality(verifier_of(encoder, languages))
        scores = lattice.scores(weights)
        found = likely(lattice, scores, (document.source, document.target), quality, right)
        fine.append(Example.of(lattice.band, found, right))
    return Weights(weights, learn(fine))


def learn(examples: Sequence[Example]) -> np.ndarray:
    """Return the weights ``(K + F,)`` with the least penalised loss on the examples."""
    size = len(KINDS) + examples[0].beads.features.shape[1]
    weights = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=ROUNDS, line_search_fn="strong_wolfe")

    def closure() -> float:
        current = weights.detach().numpy()
        losses, gradients = zip(*(one.loss(current) for one in examples), strict=True)
        weights.grad = torch.from_numpy(sum(gradients) + RIDGE * current)
        return sum(losses) + RIDGE * float(current @ current) / 2

    optimiser.step(closure)
    return weights.detach().numpy().copy()


def places_of(beads: np.ndarray, limits: Band) -> tuple[np.ndarray, np.ndarray] | None:
    """Return cells and kinds ``(k,)`` of beads ``(k, 2)``; None if a bead is outside the band."""
    low, first = limits
    i, j = np.cumsum(beads, axis=0).T
    cell = first[i] + j - low[i]
    kind = (beads[:, None] == KINDS).all(axis=2)
    if (j < low[i]).any() or (cell >= first[i + 1]).any() or not kind.any(axis=1).all():
        return None
    return cell, kind.argmax(axis=1)
