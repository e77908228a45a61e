"""Beads of an alignment, and the weights of the log-linear functions that score them.

A bead joins up to six sentences of one document with up to six of the other, at most seven in all,
or leaves one sentence out. An alignment covers both documents by beads, in order. Its probability
is proportional to the exponential of the sum of its beads' scores: a semi-Markov conditional random
field (Sarawagi and Cohen 2004).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miner.alignment.anchors import Band
from miner.errors import ArtifactError
from miner.json_files import read_json
from miner.kernels.beads import FEATURES, best_path, forward_backward

# Maximum sentences of a bead, both sides together.
MOST = 7
# Kinds of beads: numbers of source and target sentences, (K, 2).
KINDS = np.array(
    [(1, 0), (0, 1), *((a, total - a) for total in range(2, MOST + 1) for a in range(1, total))]
)
# Features of the second stage, besides the kind: see `miner.alignment.fine`.
FINE = (*FEATURES, "quality", "quality_scaled", "association", "weakest", "merged")
WEIGHTS = Path(__file__).parent / "weights.json"


@dataclass(frozen=True)
class Weights:
    """Weights of kinds and features, ``(K + F,) float64``, of both stages."""

    coarse: np.ndarray
    fine: np.ndarray

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> "Weights":
        """Read weights from a file, by default the shipped ones. Raises ArtifactError."""
        try:
            return cls.of(read_json(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ArtifactError(f"{path}: not the weights of an alignment ({error})") from None

    @classmethod
    def of(cls, found: Mapping[str, Mapping[str, float]]) -> "Weights":
        """Invert :meth:`as_dict`. Raises KeyError."""
        return cls(_vector(found["coarse"], FEATURES), _vector(found["fine"], FINE))

    def as_dict(self) -> dict[str, Any]:
        """Return the weights by name, rounded, ready for JSON."""
        stages = {"coarse": (self.coarse, FEATURES), "fine": (self.fine, FINE)}
        return {
            stage: dict(zip(_names(features), np.round(weights, 4).tolist(), strict=True))
            for stage, (weights, features) in stages.items()
        }


def _names(features: Sequence[str]) -> list[str]:
    return [*(f"{a}-{b}" for a, b in KINDS.tolist()), *features]


def _vector(weights: Mapping[str, float], features: Sequence[str]) -> np.ndarray:
    return np.array([weights[name] for name in _names(features)], dtype=np.float64)


@dataclass(frozen=True)
class Beads:
    """Beads of an alignment, in order: ``spans (k, 4) int64``, ``probability (k,) float32``.

    A span is the first and the end of the source sentences, then of the target sentences. The
    probability is the posterior probability of the bead. ``read``: texts that a second opinion has
    read.
    """

    spans: np.ndarray
    probability: np.ndarray
    read: int = 0

    def __len__(self) -> int:
        return len(self.spans)


def decode(scores: np.ndarray, limits: Band) -> Beads:
    """Choose the alignment with the largest sum of probabilities, weighted by the sentences
    covered.

    ``scores (cells, K) float32`` of the beads in the band ``limits``.
    """
    posterior = np.empty_like(scores)
    forward_backward(scores, limits, KINDS, posterior)
    size = KINDS.sum(axis=1, dtype=np.float32)
    path = best(np.where(scores == -np.inf, -np.inf, posterior * size), limits)
    cell, kind = path[:, 0], path[:, 1]
    return Beads(spans_of(cell, kind, limits), posterior[cell, kind])


def best(values: np.ndarray, limits: Band) -> np.ndarray:
    """Return the path with the largest sum of ``values (cells, K)``: cells and kinds ``(k, 2)``."""
    low, first = limits
    ends = low[-1] + first[-1] - first[-2]  # number of target sentences, plus one
    path = np.empty((len(low) + ends, 2), np.int64)
    return path[: best_path(values, limits, KINDS, path)][::-1]


def cells_of(spans: np.ndarray, limits: Band) -> np.ndarray:
    """Return ``cell * K + kind`` of each of the spans ``(p, 4)``, the inverse of `spans_of`."""
    low, first = limits
    end, other = spans[:, 1], spans[:, 3]
    kinds = np.full((MOST + 1, MOST + 1), -1)
    kinds[tuple(KINDS.T)] = np.arange(len(KINDS))
    kind = kinds[end - spans[:, 0], other - spans[:, 2]]
    return (first[end] + other - low[end]) * len(KINDS) + kind


def spans_of(cell: np.ndarray, kind: np.ndarray, limits: Band) -> np.ndarray:
    """Return the spans ``(p, 4)`` of beads, from the cells where they end and their kinds."""
    low, first = limits
    end = np.searchsorted(first, cell, "right") - 1
    other = low[end] + cell - first[end]
    return np.stack([end - KINDS[kind, 0], end, other - KINDS[kind, 1], other], axis=1)
