"""Initial embeddings of pieces from a teacher's vectors of their texts (``--pieces-from``).

A transformer has read each word in more text than any bitext has. Its vector of a piece's text, as
in model2vec (Tulkens and van Dongen 2024), is where the training of the piece begins.
"""

from pathlib import Path

import numpy as np

from miner.encoder.pieces import PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.progress import Reporter, silent
from miner_train.teacher_vectors import Axes, cached_vectors, piece_texts, rarity, unit_rows

# Ridge penalty, as a share of the mean square of a teacher's vectors, when old embeddings are
# fitted to them.
RIDGE = 0.1
# Old embeddings that are fitted: a teacher encodes some 300 pieces a second, and 12,000 did no
# better.
FITTED = 4_000


def start_from_teacher(
    teacher: SentenceEncoder,
    tokenizer: PieceTokenizer,
    ids: np.ndarray,
    dimension: int,
    cache: Path,
    known: np.ndarray | None = None,
    report: Reporter = silent,
) -> np.ndarray:
    """Return initial embeddings, ``(V, dimension) float32``, NaN where the teacher has none.

    The teacher's vectors of the pieces are centred, rotated to their principal axes, and scaled by
    the rarity of the pieces among the token ids ``ids (t,)``. Dimensions that the teacher lacks are
    NaN. ``known`` are embeddings ``(V, dimension)`` of a model to extend, NaN in the rows of new
    pieces: these become a linear function of the teacher's vectors, fitted by least squares to
    an even sample of at most ``FITTED`` old embeddings. ``cache`` is the directory of the teacher's
    vectors, for a run that is killed and repeated.
    """
    rows, texts = piece_texts(tokenizer)
    if known is not None:
        chosen = _new_and_sampled(known[rows])
        rows, texts = rows[chosen], [texts[i] for i in chosen.tolist()]
    parts = cached_vectors(teacher, texts, cache, report=report)
    vectors = np.concatenate(parts).astype(np.float32)
    centred = unit_rows(vectors - vectors.mean(axis=0))
    if known is not None:
        return _extended(known, rows, centred)
    width = min(dimension, teacher.dimension)
    reduced = unit_rows(centred @ Axes.of([centred], width).axes)
    start = np.full((tokenizer.size, dimension), np.nan, dtype=np.float32)
    start[rows, :width] = reduced * rarity(ids, tokenizer.size)[rows, None]
    return start


def _new_and_sampled(known: np.ndarray) -> np.ndarray:
    """Return the indices of NaN rows and of a sample of trained rows, sorted."""
    new = np.isnan(known[:, 0])
    trained = np.flatnonzero(~new & known.any(axis=1))  # pieces that no training met are zero
    step = -(-len(trained) // FITTED) or 1
    return np.sort(np.concatenate([np.flatnonzero(new), trained[::step]]))


def _extended(known: np.ndarray, rows: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Fill the NaN rows of ``known`` among ``rows``, from the teacher's ``vectors``."""
    new = np.isnan(known[rows, 0])
    left, right = vectors[~new].astype(np.float64), known[rows[~new]].astype(np.float64)
    square = left.T @ left
    square += RIDGE * np.trace(square) / len(square) * np.eye(len(square))
    predicted = vectors[new] @ np.linalg.solve(square, left.T @ right)
    # Vectors predicted by least squares are too short, so they get the usual length.
    usual = np.median(np.linalg.norm(right, axis=1)) if len(right) else 1.0
    start = known.copy()
    start[rows[new]] = unit_rows(predicted.astype(np.float32)) * np.float32(usual)
    return start
