"""Lattice of the beads of two documents, with the first stage's inputs to scores.

Sums of token vectors are additive: the product of two blocks of sentences is the sum of the
products of their sentences, so each pair of sentences in the band is multiplied once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from miner.alignment.anchors import Band, anchors, band
from miner.alignment.beads import KINDS, MOST
from miner.encoder.encoder import Encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.kernels.beads import (
    FEATURES,
    Pair,
    Products,
    band_products,
    bead_features,
    block_norms,
    score_beads,
)
from miner.knn.settings import SearchSettings

# Prior cosine of a pair, and its weight in anchors.
LEVEL, PRIOR = 0.6, 10


@dataclass(frozen=True)
class LatticeSide:
    """Document as the alignment reads it.

    ``sums (n, d) float32``: sum of the vectors of each sentence's tokens. ``lengths (n + 1,)``:
    characters before each sentence.
    """

    sums: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str], encoder: SentenceEncoder) -> "LatticeSide":
        """Encode sentences. Vectors of other architectures are weighted by characters."""
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        if isinstance(encoder, Encoder) and encoder.averages:
            tokens = encoder.tokenizer(texts)
            weight = np.diff(tokens[1])
            vectors = _means(encoder).encode_pieces(*tokens, texts)
        else:
            weight, vectors = lengths, encoder.encode(texts)
        sums = vectors * weight[:, None].astype(np.float32)
        return cls(sums, np.concatenate([[0], np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.sums)

    def unit(self) -> np.ndarray:
        """Return the unit vectors of the sentences, ``(n, d) float32``."""
        norms = np.linalg.norm(self.sums, axis=1, keepdims=True)
        return self.sums / np.maximum(norms, 1e-9)

    def blocks(self, usual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lengths of the sums of 1 to 6 sentences from each sentence on, and their
        cosines.

        ``usual (d,)`` is the mean vector of the other document. Both are ``(n, 6) float32``.
        """
        norms, cosines = np.zeros((2, len(self), MOST - 1), np.float32)
        block_norms(self.sums, usual, norms, cosines)
        return norms, cosines


@lru_cache(maxsize=2)
def _means(encoder: Encoder) -> Encoder:
    """Return the encoder without normalisation of its means."""
    return Encoder(encoder.model, encoder.threads, side=encoder.side, unit=False)


@dataclass(frozen=True)
class Lattice:
    """All beads of two documents within a band, with the inputs of their scores.

    ``likely``: number of likely sentence pairs in document order, and of all. The other fields are
    arguments of :func:`miner.kernels.beads.score_beads`.
    """

    band: Band
    products: Products
    norms: Pair
    usual: Pair
    lengths: Pair
    facts: tuple[float, float, float]
    likely: tuple[int, int]

    @classmethod
    def of(cls, source: LatticeSide, target: LatticeSide, settings: SearchSettings) -> "Lattice":
        """Find the band of two documents, and the products of the sentences in it."""
        units = source.unit(), target.unit()
        anchored, counts = anchors(*units, settings)
        limits = band(anchored, len(source), len(target))
        means = [unit.mean(axis=0) if len(unit) else unit.sum(axis=0) for unit in units]
        ratio = _ratio(source.lengths, target.lengths, anchored)
        norms, usual = zip(source.blocks(means[1]), target.blocks(means[0]), strict=True)
        return cls(
            limits,
            _products(source.sums, target.sums, limits),
            norms,
            usual,
            (source.lengths, target.lengths),
            (
                ratio,
                _loose(source.lengths, target.lengths, anchored, ratio),
                _level(units, anchored),
            ),
            counts,
        )

    @property
    def _known(self) -> tuple[Products, Pair, Pair, Pair, tuple[float, float, float]]:
        return self.products, self.norms, self.usual, self.lengths, self.facts

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Score all beads, ``(cells, K) float32``."""
        scores = np.empty((self.band[1][-1], len(KINDS)), np.float32)
        score_beads(self.band, *self._known, KINDS, weights, scores)
        return scores

    def features(self, spans: np.ndarray) -> np.ndarray:
        """Return ``FEATURES`` of beads ``(p, F) float64``."""
        values = np.empty((len(spans), len(FEATURES)))
        bead_features(spans, *self._known, values)
        return values


def _products(
    source: np.ndarray, target: np.ndarray, limits: Band
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Multiply each source sentence with all target sentences that a bead may join with it.

    Returns the products, flat, and low ``(n,)`` and first ``(n + 1,)`` of each row's columns.
    """
    low, first = limits
    n, high = len(source), low + np.diff(first)
    rows = np.arange(n)
    left = low[np.maximum(0, rows - MOST)]
    right = np.minimum(high[np.minimum(n, rows + MOST)], len(target))
    starts = np.concatenate([[0], np.cumsum(right - left)])
    flat = np.empty(starts[-1], np.float32)
    band_products(source, target, left, starts, flat)
    return flat, left, starts


def _loose(source: np.ndarray, target: np.ndarray, anchors: np.ndarray, ratio: float) -> float:
    """Return the difference in characters between anchors, as the logarithm of a share of all.

    Text without a counterpart makes one side longer; a free translation hardly does.
    """
    ends = [
        np.concatenate([totals[rows], totals[-1:]]) - np.concatenate([[0], totals[rows + 1]])
        for totals, rows in zip((source, target), anchors.T, strict=True)
    ]
    differing = np.abs(ends[0] * ratio - ends[1]).sum()
    return float(np.log(differing / (source[-1] * ratio + target[-1] + 1) + 0.01))


def _level(units: Sequence[np.ndarray], anchors: np.ndarray) -> float:
    """Return the mean cosine of the anchors, shrunk to the prior; it differs by domain."""
    cosines = (units[0][anchors[:, 0]] * units[1][anchors[:, 1]]).sum(axis=1)
    return float((cosines.sum() + PRIOR * LEVEL) / (len(cosines) + PRIOR))


def _ratio(source: np.ndarray, target: np.ndarray, anchors: np.ndarray) -> float:
    """Return the ratio of target to source characters, from anchors if there are enough."""
    lengths = np.diff(source), np.diff(target)
    if len(anchors) >= 10:
        totals = [
            side_lengths[rows].sum() for side_lengths, rows in zip(lengths, anchors.T, strict=True)
        ]
    else:
        totals = [source[-1], target[-1]]
    return float(np.clip((totals[1] + 1) / (totals[0] + 1), 0.25, 4))
