"""Verification: from candidate pairs to calibrated probabilities of being translations.

An average of vectors tells the topic of a sentence. Whether two sentences say the same shows in
their tokens: does each have a counterpart, do the numbers agree, is any rival better? Two logistic
functions weigh that. The first sees the pair features, and on purpose not the cosine: on text like
its training text an encoder is better than elsewhere, so that a weight learned there trusts the
cosine too much. The second sees the logit of the first and the context features.
:mod:`train.learn_verifier` learns both, without gold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError
from miner.knn.neighbors import Neighbors
from miner.scoring.context_features import CONTEXT_FEATURES, context_features
from miner.scoring.logistic import Logistic, sigmoid
from miner.scoring.margin import Candidates
from miner.scoring.pair_features import PAIR_FEATURES, PreparedText, TokenTable, prepare

FEATURES = (*PAIR_FEATURES, *CONTEXT_FEATURES)
# Candidates whose pair features are computed at a time.
PART = 1 << 18


class Verifier:
    """The verifier of one model.

    ``pair_function`` and ``context_function`` are its logistic functions, ``tokens`` its knowledge
    of single tokens. Raises :class:`~miner.errors.ArtifactError` for a model without a verifier or
    with a faulty one.
    """

    def __init__(self, encoder: Encoder):
        model = encoder.model
        if model.verifying is None:
            raise ArtifactError(
                f"{encoder.name}: cannot verify pairs, which takes pieces or words that both "
                "columns share; rank by margin"
            )
        if model.verifier is None or model.lexicon is None:
            raise ArtifactError(
                f"{encoder.name}: carries no verifier (trained on too little text, or by an older "
                "version); train it again, or rank by margin"
            )
        try:
            self.pair_function = Logistic.from_dict(model.verifier["alone"], PAIR_FEATURES)
            self.context_function = Logistic.from_dict(model.verifier["among"], CONTEXT_FEATURES)
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{encoder.name}: its verifier cannot be used ({error}); train the model again"
            ) from None
        part = model.verifying
        if len(model.lexicon.frequency) != len(part.weights):
            raise ArtifactError(f"{encoder.name}: lexicon and embeddings are of two models")
        self.encoder = encoder
        self.tokens = TokenTable(part.table(), model.lexicon)

    def prepare(self, sentences: Sequence[str], threads: int | None = None) -> PreparedText:
        """Tokenise sentences and find their numbers."""
        return prepare(self.encoder.tokenizer, sentences, threads or self.encoder.threads)

    def verify(
        self,
        candidates: Candidates,
        forward: Neighbors,
        backward: Neighbors,
        source: PreparedText,
        target: PreparedText,
        known: "PairLogits | None" = None,
    ) -> tuple[np.ndarray, np.ndarray, "PairLogits"]:
        """Return probabilities ``(m,) float64`` of candidates, and their context features.

        ``candidates`` are all of a search, since they are rivals of each other. Logits of pair
        features that are ``known`` are not computed again; the third result holds all of them.
        """
        logits = PairLogits.empty(candidates) if known is None else known.of(candidates)
        new = np.flatnonzero(np.isnan(logits.logit))
        # In parts: the features of all candidates would take much memory.
        for start in range(0, len(new), PART):
            part = new[start : start + PART]
            features = self.tokens.pair_features(
                source, target, candidates.source_row[part], candidates.target_row[part]
            )
            logits.logit[part] = self.pair_function.logit(features)
        context = context_features(candidates, forward, backward, logits.logit)
        return sigmoid(self.context_function.logit(context)), context, logits


@dataclass(frozen=True, eq=False)
class PairLogits:
    """Logits of pair features by pair: ``key (m,) int64``, ascending, and ``logit (m,) float64``.

    A key is ``source row · 2**32 + target row``.
    """

    key: np.ndarray
    logit: np.ndarray

    @classmethod
    def empty(cls, candidates: Candidates) -> "PairLogits":
        """Return NaN for each candidate; candidates ascend by (source, target)."""
        key = (candidates.source_row << 32) + candidates.target_row
        return cls(key, np.full(len(key), np.nan))

    def of(self, candidates: Candidates) -> "PairLogits":
        """Return the logits of these candidates, NaN where unknown."""
        found = PairLogits.empty(candidates)
        place = np.minimum(np.searchsorted(self.key, found.key), max(0, len(self.key) - 1))
        same = self.key[place] == found.key if len(self.key) else np.zeros(len(found.key), bool)
        found.logit[same] = self.logit[place[same]]
        return found

    def place(self, source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
        """Return the positions of pairs that are all among the keys."""
        return np.searchsorted(self.key, (source_row << 32) + target_row)
