"""Slow definitions of train.negatives, for comparison."""

import numpy as np


def forbidden_pairs_reference(query_text: np.ndarray, candidate_text: np.ndarray) -> np.ndarray:
    """Find forbidden pairs as train.negatives does, one pair at a time."""
    found = [
        (i, j)
        for i, query in enumerate(query_text.tolist())
        for j, candidate in enumerate(candidate_text.tolist())
        if i != j and set(query) & set(candidate)
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def allowed_reference(source_text: np.ndarray, target_text: np.ndarray, either: bool) -> np.ndarray:
    """Find the negatives that each sentence may have, ``(2n, 2n) bool``, one pair at a time."""
    n = len(source_text)
    texts = [set(pair) for pair in zip(source_text.tolist(), target_text.tolist(), strict=True)]
    allowed = np.zeros((2 * n, 2 * n), dtype=bool)
    for a, b in np.ndindex(allowed.shape):
        allowed[a, b] = not texts[a % n] & texts[b % n] and (either or a // n != b // n)
    return allowed


def nearest_reference(
    source: np.ndarray,
    target: np.ndarray,
    source_text: np.ndarray,
    target_text: np.ndarray,
    either: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the hardest negatives by the whole matrix in double precision."""
    n = len(source)
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    both = np.concatenate([source, target]).astype(np.float64)
    similarity = (both @ both.T).astype(np.float32)
    similarity[~allowed_reference(source_text, target_text, either)] = -np.inf
    best = np.where(np.isfinite(similarity.max(axis=1)), similarity.argmax(axis=1), -1)
    return best[:n], best[n:]
