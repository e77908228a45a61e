"""Training of the verifier on held-out sentences. Most have no partner; no gold is needed.

Sentences without a partner are distractors, as in real mining. Sentences of the training text, one
side of each pair, are further distractors. Only sentences of the same pair of languages are
candidates for each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.option_values import SIDES
from miner.scoring.context_features import (
    CONTEXT_FEATURES,
    best_logits,
    context_features,
    two_nearest,
)
from miner.scoring.logistic import Logistic
from miner.scoring.margin import Candidates, candidates
from miner.scoring.pair_features import PAIR_FEATURES, TokenTable, tokenize_text
from miner_train.language_texts import LanguageText, token_tables

# Neighbours in each direction, as a search has by default.
NEIGHBORS = 8
# One held-out pair in KEEP keeps both sides; of the others one side is removed.
KEEP = 4
# Maximum sentences of the training text on each side, besides held-out ones: of one pair of
# languages, and of all.
DISTRACTORS, ALL_DISTRACTORS = 40_000, 200_000
# Minimum number of held-out pairs.
ENOUGH = 500
# Minimum number of translations among the candidates.
FEWEST = 10
# Inverse regularisation strength: scikit-learn's C, times the number of translations.
INVERSE_PENALTY = 1000.0


def enough(held: int) -> bool:
    """Return True if there are enough held-out pairs to learn a verifier."""
    return held >= ENOUGH


def learn_verifier(
    encoder: Encoder,
    texts: Sequence[LanguageText],
    seed: int,
    all_distractors: int = ALL_DISTRACTORS,
) -> dict[str, Any] | None:
    """Learn the two logistic functions of :class:`miner.scoring.verifier.Verifier`, as JSON values.

    Each of ``texts`` is mined separately, with at most ``all_distractors`` sentences besides the
    held-out ones; the functions are learned from all candidates together. The encoder's model has
    its lexicons, and was not trained on the held-out pairs. Returns None if hardly any held-out
    pair is among the candidates: the text is no bitext, or the encoder learned nothing.
    """
    generator = np.random.default_rng([seed, 5])
    distractors = min(DISTRACTORS, all_distractors // max(len(texts), 1))
    mined = [
        _mine(encoder, tokens, text, distractors, generator)
        for tokens, text in zip(token_tables(encoder.model, texts), texts, strict=True)
    ]
    if not mined:
        return None
    features = np.concatenate([part.features for part in mined])
    true = np.concatenate([part.true for part in mined])
    if not FEWEST <= true.sum() < len(true):
        return None
    by_pair = fit(features, true, PAIR_FEATURES)
    context = np.concatenate([part.context(by_pair) for part in mined])
    by_context = fit(context, true, CONTEXT_FEATURES)
    return {
        "alone": by_pair.as_dict(),
        "among": by_context.as_dict(),
        "candidates": len(true),
        "translations": int(true.sum()),
    }


@dataclass(frozen=True, eq=False)
class _Mined:
    """Candidates of one pair of languages: neighbour lists, pair features, ``true (m,) bool``."""

    found: Candidates
    lists: tuple[Neighbors, Neighbors]
    features: np.ndarray
    true: np.ndarray

    def context(self, by_pair: Logistic) -> np.ndarray:
        """Return the context features of all candidates, ``(m, f) float32``."""
        logit = by_pair.logit(self.features)
        best = best_logits(self.found, logit, (len(self.lists[0]), len(self.lists[1])))
        nearest = two_nearest(self.lists[0]), two_nearest(self.lists[1])
        k = max(side.row.shape[1] for side in self.lists)
        return context_features(self.found, nearest, k, logit, best)


def _mine(
    encoder: Encoder,
    tokens: TokenTable,
    text: LanguageText,
    distractors: int,
    generator: np.random.Generator,
) -> _Mined:
    """Mine the held-out sentences of one pair of languages, most of which have no partner there."""
    rows = np.arange(len(text.held[0]))
    both = rows % KEEP == 0
    # Training sentences are on one side only, so that none has its partner on the other.
    more = generator.permutation(len(text.training[0]))[: 2 * distractors]
    half = len(more) // 2
    sentences, numbers = [], []
    for side, kept, extra in ((0, 0, more[:half]), (1, 1, more[half:])):
        side_rows = rows[both | (rows % 2 == kept)]
        chosen = [text.held[side][row] for row in side_rows]
        chosen += [text.training[side][row] for row in extra]
        # Pair number of each sentence; distractors from the training text have unique numbers.
        pair = np.concatenate([side_rows, -1 - side - 2 * np.arange(len(extra))])
        unique = dict(zip(reversed(chosen), reversed(pair.tolist()), strict=True))
        sentences.append(list(unique))
        numbers.append(np.array(list(unique.values())))
    vectors = [
        encoder.on_side(name).encode(side).astype(np.float16)
        for name, side in zip(SIDES, sentences, strict=True)
    ]
    left, right = (VectorSet(side, np.flatnonzero(side.any(axis=1))) for side in vectors)
    settings = SearchSettings(k=NEIGHBORS, device="cpu", threads=encoder.threads)
    lists = nearest_both(left, right, settings)
    pairs = candidates(*lists)
    true = numbers[0][pairs.source_row] == numbers[1][pairs.target_row]
    source, target = (tokenize_text(encoder.tokenizer, side, encoder.threads) for side in sentences)
    features = tokens.pair_features(source, target, pairs.source_row, pairs.target_row)
    return _Mined(pairs, lists, features, true)


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
