"""Verification: calibrated probabilities that candidate pairs are translations.

Tokens tell whether two sentences say the same: does each have a counterpart, do the numbers agree,
is any rival better? Two logistic functions weigh this. The first reads the pair features,
deliberately without the cosine: an encoder is better on text like its training text, so a weight
learned there trusts the cosine too much. The second reads the logit of the first and the context
features. :mod:`miner_train.learn_verifier` learns both, without gold.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import find
from miner.encoder.pieces import PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError
from miner.option_values import Languages
from miner.scoring.comparer import Comparer, checked_arrays
from miner.scoring.context_features import CONTEXT_FEATURES
from miner.scoring.facts import Facts, facts_of
from miner.scoring.logistic import Logistic, sigmoid
from miner.scoring.pair_features import PAIR_FEATURES, TokenizedText, TokenTable, tokenize_text
from miner.scoring.transliteration import Names
from miner.text.language_codes import ENGLISH

# Advice for an encoder without a model of this program.
UNFITTED = (
    "gives vectors and no token ids, so that its pairs cannot be verified without 'miner fit'"
)

FEATURES = (*PAIR_FEATURES, *CONTEXT_FEATURES)


class Verifier:
    """Verifier of one model for two languages.

    ``languages`` are the ISO 639 codes of source and target, None where unknown. ``pair_function``
    and ``context_function`` are its logistic functions, ``tokens`` its table of tokens. Raises
    :class:`~miner.errors.ArtifactError` for a model without a verifier or with a faulty one.
    """

    def __init__(self, encoder: SentenceEncoder, languages: Languages = (None, None)):
        if not isinstance(encoder, Encoder):
            raise ArtifactError(f"{encoder.name} {UNFITTED}")
        model = encoder.model
        if model.verifying is None:
            raise ArtifactError(
                f"{encoder.name}: cannot verify pairs, which takes pieces or words that both "
                "columns share; rank by margin"
            )
        if model.verifier is None or model.lexicons is None:
            raise ArtifactError(
                f"{encoder.name}: carries no verifier (trained with --no-verifier, or on too "
                "little text); run 'miner train-verifier', or rank by margin"
            )
        try:
            self.pair_function = Logistic.from_dict(model.verifier["alone"], PAIR_FEATURES)
            self.context_function = Logistic.from_dict(model.verifier["among"], CONTEXT_FEATURES)
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{encoder.name}: its verifier cannot be used ({error}); train the model again"
            ) from None
        if model.lexicons.size != len(model.verifying.weights):
            raise ArtifactError(f"{encoder.name}: lexicon and embeddings are of two models")
        self._comparer = (
            checked_arrays(model.comparer, model.lexicons.size, encoder.name)
            if model.comparer
            else None
        )
        self.encoder = encoder
        self.languages = languages

    @cached_property
    def tokens(self) -> TokenTable:
        """Embeddings and translations of the tokens."""
        model = self.encoder.model
        assert model.verifying is not None and model.lexicons is not None
        return TokenTable(model.verifying, model.lexicons.of(*self.languages))

    @cached_property
    def comparer(self) -> Comparer | None:
        """Comparer of the model, or None."""
        return Comparer(self._comparer, self.tokens) if self._comparer else None

    @cached_property
    def names(self) -> Names | None:
        """Model of names across scripts, or None."""
        arrays, tokenizer = self.encoder.model.names, self.encoder.tokenizer
        if not arrays or not isinstance(tokenizer, PieceTokenizer):
            return None
        return Names(arrays, tokenizer, self.encoder.name)

    @cached_property
    def facts(self) -> Facts | None:
        """The model's facts of text in these languages, if it has some."""
        other = next((code for code in self.languages if code not in (None, ENGLISH)), None)
        known = None if other is None else find(self.encoder.model.languages, other)
        pairs = 0 if known is None else known.pairs
        return facts_of(self.encoder.model.facts, self.languages, self.encoder.name, pairs)

    def of(self, languages: Languages) -> "Verifier":
        """Return the verifier of the same model for text in these languages."""
        if languages == self.languages:
            return self
        other, lexicons = Verifier(self.encoder, languages), self.encoder.model.lexicons
        if "tokens" in vars(self) and lexicons is not None:  # reuse the embeddings
            other.tokens = self.tokens.with_lexicon(lexicons.of(*languages))
        if "names" in vars(self):
            other.names = self.names
        return other

    def tokenize_text(self, sentences: Sequence[str], threads: int | None = None) -> TokenizedText:
        """Tokenise sentences and find their numbers."""
        return tokenize_text(self.encoder.tokenizer, sentences, threads or self.encoder.threads)

    def pair_logits(
        self,
        source: TokenizedText,
        target: TokenizedText,
        source_row: np.ndarray,
        target_row: np.ndarray,
    ) -> np.ndarray:
        """Return the logits ``(m,) float64`` of the pair features of pairs of rows."""
        return self.pair_function.logit(
            self.tokens.pair_features(source, target, source_row, target_row)
        )

    def probability(self, context: np.ndarray) -> np.ndarray:
        """Return the probability ``(m,) float64`` of each pair from its context features."""
        return sigmoid(self.context_function.logit(context))


# Verifier of the last encoder and languages, shared by the tasks of a process.
_last: list[Verifier] = []


def verifier_of(encoder: SentenceEncoder, languages: Languages) -> Verifier:
    """Return the verifier of an encoder for two languages; the last one is cached."""
    if not _last or (_last[0].encoder, _last[0].languages) != (encoder, languages):
        _last[:] = [Verifier(encoder).of(languages)]
    return _last[0]
