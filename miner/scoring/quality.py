"""Quality of a given pair: the probability that both sides say the same, and all of it.

Mining asks which of many sentences is the translation; filtering asks of a given pair whether it is
one: not of half the sentence, nor with other numbers, other names or shuffled words. So the
features have other weights. :mod:`miner_train.learn_quality` learns them without labels, from
held-out bitext and the same bitext corrupted. The score of a pair depends on the pair alone.

One function serves all languages, and its logits are lower where the model knows a language badly.
:mod:`miner_train.calibrate_quality` learns a line for each language that makes probabilities of
them. Mining and alignment compare logits within a corpus, and read them as they are.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from miner.encoder.known_languages import quality_map
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError
from miner.option_values import SIDES
from miner.scoring.comparer import FEATURES as COMPARER_FEATURES
from miner.scoring.judgement_fit import fit_again
from miner.scoring.logistic import Logistic, sigmoid
from miner.scoring.number_agreement import compare, contradict
from miner.scoring.pair_features import PAIR_FEATURES, TokenizedText
from miner.scoring.transliteration import TRANSLITERATED
from miner.scoring.verifier import Verifier
from miner.text.numeral import Numeral

# Pair features, the cosine of the vectors, and order.
FEATURES = (*PAIR_FEATURES, "cosine", "adjacent", "adjacent_min", "order", "order_min")
# Key of the function in a model's verifier.
NAME = "quality"
_DIFFER = FEATURES.index("numbers_differ")
# Factor of the probability of a pair whose numbers contradict each other: below every bound of the
# model that ships, of which the lowest are 0.004.
CONTRADICTED = 0.004
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
# Precision of the normal distribution of each feature's weight, where labels are fitted to.
PENALTY = 30.0


def has_quality(encoder: SentenceEncoder) -> bool:
    """Return True if the model of an encoder has a quality function."""
    return encoder.model is not None and NAME in (encoder.model.verifier or {})


class Quality:
    """The quality function beside a verifier, for text in its languages.

    ``function`` is the model's, ``calibrated`` the one of these languages, which scores. Raises
    :class:`~miner.errors.ArtifactError` for a model without one or with a faulty one.
    """

    def __init__(self, verifier: Verifier):
        self.verifier, encoder = verifier, verifier.encoder
        assert encoder.model.verifier is not None
        try:
            names = feature_names(verifier)
            self.function = Logistic.from_dict(encoder.model.verifier[NAME], names)
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{encoder.name}: has no quality function, or a faulty one ({error}); train the "
                "model again, or score by cosine or margin"
            ) from None
        lines = quality_map(encoder.model.languages, verifier.languages)
        self.calibrated = self.function.mapped(*lines)

    def with_labels(self, labels: Mapping[tuple[str, str], float]) -> "Quality":
        """Return the quality fitted to labels: how right pairs are, in [0, 1], by their texts."""
        metrics, _ = features(self.verifier, *zip(*labels, strict=True))
        fitted = Quality(self.verifier)
        answers = np.array([*labels.values()])
        fitted.calibrated = fit_again(self.calibrated, metrics, answers, PENALTY)
        return fitted

    def score(self, source: Sequence[str], target: Sequence[str]) -> np.ndarray:
        """Return the probability of each pair: ``(n,) float64``, 0 where a side has no known token.

        Scores do not depend on the number of threads or on the batch. The features know whether
        the digits of both sides are alike; numbers that contradict each other, in whatever
        notation, take the most of the probability that is left.
        """
        logit, factor = logits_and_factors(self.verifier, self.calibrated, source, target)
        return factor * sigmoid(logit)


def logits_and_factors(
    verifier: Verifier, function: Logistic, source: Sequence[str], target: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return logits of pairs by a function, ``(n,) float64``, and factors of their probabilities.

    A factor is 0 where a side has no known token. It is `CONTRADICTED` where numbers contradict,
    times the probability that no other fact does (:mod:`miner.scoring.facts`).
    """
    texts = verifier.tokenize_text(source), verifier.tokenize_text(target)
    metrics, known = features(verifier, source, target, texts=texts)
    wrong = np.fromiter(map(contradict, source, target), bool, len(source))
    factor = np.where(wrong, CONTRADICTED, 1.0)
    if verifier.facts is not None:
        factor *= verifier.facts.probability((source, target), (texts[0].tokens, texts[1].tokens))
    return function.logit(metrics), np.where(known, factor, 0.0)


def feature_names(verifier: Verifier) -> tuple[str, ...]:
    """Return the features of one model: ``FEATURES``, its names', its comparer's."""
    names = (TRANSLITERATED,) if verifier.encoder.model.names else ()
    return (*FEATURES, *names, *(COMPARER_FEATURES if verifier.encoder.model.comparer else ()))


def features(
    verifier: Verifier,
    source: Sequence[str],
    target: Sequence[str],
    *,
    texts: tuple[TokenizedText, TokenizedText] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return features of pairs ``(n, f) float32``, and a mask of pairs with known tokens.

    Numbers that agree do not count as different, although their digits differ: 22:00 and 10 pm. A
    number in another unit (180 °C and 350 °F) is replaced by the digits of the other side first.
    ``texts``: both sides tokenised, if the caller has them.
    """
    left, right = texts or (verifier.tokenize_text(source), verifier.tokenize_text(target))
    known = (np.diff(left.offsets) > 0) & (np.diff(right.offsets) > 0)
    metrics = _metrics(verifier, (source, target), (left, right))
    changed, agreeing = {}, []
    for row in np.flatnonzero(metrics[:, _DIFFER]).tolist():
        agreement = compare(source[row], target[row])
        if agreement.shared and not agreement.contradicts and not any(agreement.missing):
            agreeing.append(row)
        if agreement.converted and not agreement.contradicts:
            changed[row] = _in_one_unit(source[row], target[row], agreement.converted)
    if changed:
        sides: tuple[Sequence[str], Sequence[str]] = tuple(zip(*changed.values(), strict=True))
        tokenized = verifier.tokenize_text(sides[0]), verifier.tokenize_text(sides[1])
        metrics[[*changed]] = _metrics(verifier, sides, tokenized)
    metrics[agreeing, _DIFFER] = 0
    return metrics, known


def _metrics(
    verifier: Verifier,
    sides: tuple[Sequence[str], Sequence[str]],
    texts: tuple[TokenizedText, TokenizedText],
) -> np.ndarray:
    """Return the features of pairs by the digits as they are written."""
    rows = np.arange(len(sides[0]), dtype=np.int64)
    vectors = [
        verifier.encoder.on_side(name).encode_pieces(text.ids, text.offsets, side)
        for name, side, text in zip(SIDES, sides, texts, strict=True)
    ]
    return features_of_rows(verifier, *texts, (rows, rows), cosines(*vectors))


def _in_one_unit(
    source: str, target: str, converted: Sequence[tuple[Numeral, Numeral]]
) -> tuple[str, str]:
    """Return texts with the same digits in the place of converted numbers: the shorter ones."""
    spans_by_side = [
        [
            match.span()
            for number in side
            if (match := _DIGITS.search(text, number.start, number.end))
        ]
        for text, side in zip((source, target), zip(*converted, strict=True), strict=True)
    ]
    written = (
        [text[start:end] for start, end in spans]
        for text, spans in zip((source, target), spans_by_side, strict=True)
    )
    digits = [min(pair, key=lambda text: (len(text), text)) for pair in zip(*written, strict=True)]
    texts = []
    for text, spans in zip((source, target), spans_by_side, strict=True):
        for (start, end), new in sorted(zip(spans, digits, strict=True), reverse=True):
            text = text[:start] + new + text[end:]
        texts.append(text)
    return texts[0], texts[1]


def features_of_rows(
    verifier: Verifier,
    source: TokenizedText,
    target: TokenizedText,
    rows: tuple[np.ndarray, np.ndarray],
    cosine: np.ndarray,
) -> np.ndarray:
    """Return features ``(m, f) float32`` of pairs of rows, whose cosines are ``(m,)``."""
    from miner.kernels.tokens import ORDER_COLUMNS

    out = np.empty((len(cosine), len(feature_names(verifier))), dtype=np.float32)
    first = len(PAIR_FEATURES)
    order = np.empty((len(cosine), ORDER_COLUMNS), dtype=np.float32)
    out[:, :first] = verifier.tokens.pair_features(source, target, *rows, order)
    out[:, first] = cosine
    for column in (0, 2):
        out[:, first + 1 + column] = (order[:, column] + order[:, column + 1]) / 2
        out[:, first + 2 + column] = order[:, column : column + 2].min(axis=1)
    first = len(FEATURES)
    if verifier.names is not None:
        out[:, first] = verifier.names.share(source.tokens, target.tokens, *rows)
        first += 1
    if verifier.comparer is not None:
        out[:, first:] = verifier.comparer.compare(source.tokens, target.tokens, *rows)
    return out


def cosines(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the row-wise cosines of unit vectors, ``(n,) float32``, alike for any batch."""
    from miner.kernels.exact import rescore

    out = np.empty((len(source), 1), dtype=np.float32)
    rescore(source, target, np.arange(len(source), dtype=np.int64)[:, None], out)
    return out[:, 0]
