"""Metrics of scores and decisions that separate good pairs from bad ones.

Scores are ``(n,)`` numbers, higher for better pairs; they may be infinite. A threshold keeps pairs
with at least that score, so equal scores are kept or removed together. ``good`` is ``(n,) bool``.
"""

from typing import Any

import numpy as np

from miner.evaluation.metrics import auc, average_precision, value_of


def ranking(scores: np.ndarray, good: np.ndarray) -> dict[str, Any]:
    """Return area under the ROC curve, average precision, and the best F1 with its threshold."""
    return {
        "auc": _rounded(value_of(auc(scores, good), len(scores))),
        "average precision": _rounded(value_of(average_precision(scores, good), len(scores))),
        "best f1": best_f1(scores, good),
    }


def best_f1(scores: np.ndarray, good: np.ndarray) -> dict[str, Any]:
    """Return the metrics of the threshold with the highest F1; of several, the strictest."""
    thresholds, kept, correct = _curve(scores, good)
    best = int(np.argmax(2 * correct / (kept + good.sum())))
    return {"threshold": float(thresholds[best]), **decision(scores >= thresholds[best], good)}


def keeping(scores: np.ndarray, good: np.ndarray, precision: float) -> float | None:
    """Return the lowest threshold at which ``precision`` of the kept pairs are good, or None."""
    thresholds, kept, correct = _curve(scores, good)
    enough = np.flatnonzero(correct >= precision * kept)
    return float(thresholds[enough[-1]]) if len(enough) else None


def removing(scores: np.ndarray, good: np.ndarray, precision: float) -> float | None:
    """Return the highest threshold at which ``precision`` of the removed pairs are bad, or None."""
    highest = keeping(-scores, ~good, precision)
    return None if highest is None else float(np.nextafter(-highest, np.inf))


def decision(kept: np.ndarray, good: np.ndarray) -> dict[str, Any]:
    """Return precision, recall and F1 of the good pairs ``kept (n,) bool``, and their number.

    Also the share of bad pairs among the removed ones.
    """
    both = int((kept & good).sum())
    return {
        "precision": _rounded(both / max(1, int(kept.sum()))),
        "recall": _rounded(both / max(1, int(good.sum()))),
        "f1": _rounded(2 * both / max(1, int(kept.sum() + good.sum()))),
        "kept": int(kept.sum()),
        "precision of removal": _rounded((~kept & ~good).sum() / max(1, int((~kept).sum()))),
    }


def removed(kept: np.ndarray, kinds: list[str]) -> dict[str, float]:
    """Return the removed share of each kind of noise."""
    which = np.array(kinds)
    return {kind: _rounded((~kept[which == kind]).mean()) for kind in sorted({*kinds})}


def _curve(scores: np.ndarray, good: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct scores, falling, with the pairs and good pairs kept at each."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
    return ordered[last], last + 1, np.cumsum(good[order])[last]


def _rounded(value: float) -> float:
    return round(float(value), 4)
