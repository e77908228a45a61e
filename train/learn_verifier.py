"""Verifier, learned without gold from held-out pairs, most of whose partners are hidden.

Sentences without a partner are distractors, as in real mining. Sentences of the training text, one
side of a pair each, are further distractors.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.scoring.context_features import CONTEXT_FEATURES, best_logits, context_features
from miner.scoring.logistic import Logistic
from miner.scoring.margin import candidates
from miner.scoring.pair_features import PAIR_FEATURES, TokenTable, prepare

# Neighbours in each direction, as a search has by default.
NEIGHBORS = 8
# One held-out pair in this many keeps both sides; the others lose one of them.
KEEP = 4
# Sentences of the training text on each side, beside the held-out ones.
DISTRACTORS = 40_000
# Fewer held-out pairs than this teach nothing reliable.
ENOUGH = 500
# Least number of translations among the candidates.
FEWEST = 10
# Inverse strength of the regularisation: scikit-learn's C, times the number of translations.
INVERSE_PENALTY = 1000.0


def enough(held: int) -> bool:
    """Tell if this many held-out pairs are enough to learn a verifier from."""
    return held >= ENOUGH


def learn_verifier(
    encoder: Encoder,
    held: tuple[Sequence[str], Sequence[str]],
    training: tuple[Sequence[str], Sequence[str]],
    seed: int,
) -> dict[str, Any] | None:
    """Learn the two logistic functions of :class:`miner.scoring.verifier.Verifier`, as JSON values.

    ``held`` and ``training`` are source and target sentences, translations by position. The
    encoder's model has its lexicon, and was not trained on the held-out pairs. Returns None where
    hardly any held-out pair is among the candidates: the text is no bitext, or the encoder learned
    nothing.
    """
    lexicon = encoder.model.lexicon
    assert lexicon is not None
    generator = np.random.default_rng([seed, 5])
    rows = np.arange(len(held[0]))
    both = rows % KEEP == 0
    # Training sentences are on one side only, so that none has its partner among the others.
    more = generator.permutation(len(training[0]))[: 2 * DISTRACTORS]
    half = len(more) // 2
    sentences, numbers = [], []
    for side, kept, extra in ((0, 0, more[:half]), (1, 1, more[half:])):
        own = rows[both | (rows % 2 == kept)]
        chosen = [held[side][row] for row in own] + [training[side][row] for row in extra]
        # Pair number of each sentence; distractors from the training text have unique ones.
        pair = np.concatenate([own, -1 - side - 2 * np.arange(len(extra))])
        unique = dict(zip(reversed(chosen), reversed(pair.tolist()), strict=True))
        sentences.append(list(unique))
        numbers.append(np.array(list(unique.values())))
    vectors = [encoder.encode(side).astype(np.float16) for side in sentences]
    left, right = (VectorSet(side, np.flatnonzero(side.any(axis=1))) for side in vectors)
    settings = SearchSettings(k=NEIGHBORS, device="cpu", threads=encoder.threads)
    forward, backward = nearest_both(left, right, settings)
    found = candidates(forward, backward)
    true = numbers[0][found.source_row] == numbers[1][found.target_row]
    source, target = (prepare(encoder.tokenizer, side, encoder.threads) for side in sentences)
    assert encoder.model.verifying is not None
    own = TokenTable(encoder.model.verifying.table(), lexicon).pair_features(
        source, target, found.source_row, found.target_row
    )
    if not FEWEST <= true.sum() < len(true):
        return None
    by_pair = fit(own, true, PAIR_FEATURES)
    logit = by_pair.logit(own)
    best = best_logits(found, logit, (len(forward), len(backward)))
    context = context_features(found, forward, backward, logit, best)
    by_context = fit(context, true, CONTEXT_FEATURES)
    return {
        "alone": by_pair.as_dict(),
        "among": by_context.as_dict(),
        "candidates": len(found),
        "translations": int(true.sum()),
    }


def fit(features: np.ndarray, true: np.ndarray, names: tuple[str, ...]) -> Logistic:
    """Fit a logistic regression of ``true (m,) bool`` on ``features (m, f)``, which are scaled."""
    from sklearn.linear_model import LogisticRegression

    values = features.astype(np.float64)
    center, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread == 0] = 1
    model = LogisticRegression(
        C=INVERSE_PENALTY / max(int(true.sum()), 1), solver="newton-cholesky", max_iter=200
    ).fit((values - center) / spread, true)
    weight = model.coef_[0] / spread
    mean = values[true].mean(axis=0)
    intercept = float(model.intercept_[0] + ((mean - center) * weight).sum())
    return Logistic(names, intercept, weight, mean)
