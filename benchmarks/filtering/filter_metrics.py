"""How well scores and decisions tell good pairs from bad ones.

Scores are ``(n,)`` numbers, higher for better pairs, infinite ones among them; a threshold keeps
what has at least that score. ``good`` is ``(n,) bool``. Equal scores are kept or removed together.
"""

from typing import Any

import numpy as np

from miner.evaluation.metrics import auc, average_precision, value_of


def ranking(scores: np.ndarray, good: np.ndarray) -> dict[str, Any]:
    """Area under the ROC curve, average precision, and the best F1 with its threshold."""
    return {
        "auc": _rounded(value_of(auc(scores, good), len(scores))),
        "average precision": _rounded(value_of(average_precision(scores, good), len(scores))),
        "best f1": best_f1(scores, good),
    }


def best_f1(scores: np.ndarray, good: np.ndarray) -> dict[str, Any]:
    """Of all thresholds the one with the highest F1 of the good; of equal ones the strictest."""
    thresholds, kept, correct = _curve(scores, good)
    best = int(np.argmax(2 * correct / (kept + good.sum())))
    return {"threshold": float(thresholds[best]), **decision(scores >= thresholds[best], good)}


def keeping(scores: np.ndarray, good: np.ndarray, precision: float) -> float | None:
    """The threshold that keeps most, of those at which ``precision`` of what is kept is good.

    None where there is no such threshold.
    """
    thresholds, kept, correct = _curve(scores, good)
    enough = np.flatnonzero(correct >= precision * kept)
    return float(thresholds[enough[-1]]) if len(enough) else None


def removing(scores: np.ndarray, good: np.ndarray, precision: float) -> float | None:
    """The threshold that removes most, where ``precision`` of what is removed is bad.

    None where there is no such threshold.
    """
    highest = keeping(-scores, ~good, precision)
    return None if highest is None else float(np.nextafter(-highest, np.inf))


def decision(kept: np.ndarray, good: np.ndarray) -> dict[str, Any]:
    """Of a choice ``(n,) bool``: precision, recall and F1 of the good, and how many it keeps.

    Also the share of bad pairs among what it removes.
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
    """Of each kind of noise, the share that is not kept."""
    which = np.array(kinds)
    return {kind: _rounded((~kept[which == kind]).mean()) for kind in sorted({*kinds})}


def _curve(scores: np.ndarray, good: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every distinct score as a threshold, falling; pairs and good pairs that it keeps."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
    return ordered[last], last + 1, np.cumsum(good[order])[last]


def _rounded(value: float) -> float:
    return round(float(value), 4)
