"""Explanation of one pair: its matching tokens, and the evidence for and against a translation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.pieces import SPACE_MARK, PieceTokenizer
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.encoder.word_units import WordTokenizer
from miner.errors import ResourceError
from miner.ragged import offsets_of
from miner.scoring.comparer import COMPARED, SURPRISE
from miner.scoring.logistic import log_odds, sigmoid
from miner.scoring.number_agreement import compare, contradict
from miner.scoring.pair_features import PAIR_FEATURES
from miner.scoring.quality import CONTRADICTED, FEATURES, Quality, feature_names
from miner.scoring.quality import features as measure
from miner.scoring.second_opinion import FEWEST, in_doubt, of_both, standard_margins
from miner.scoring.second_reading import encoded
from miner.scoring.transliteration import TRANSLITERATED
from miner.scoring.verifier import Verifier
from miner.text.language_codes import describe
from miner.text.rows import spread_rows

# Probability of a translation on the other side from which a token counts as matched.
TRANSLATED = 0.1
# Surprise from which a token sinks a pair: 1 of 20 of its counterparts is as poor. How many of its
# usual counterparts are named.
SINKING, USUAL = 3.0, 3
# Decoys of a side among which the second opinion reads a pair.
COMPANY = 64
# Part of the facts in the log-odds.
FACTS = "facts"
# Groups of features that measure the same thing; only their sum is meaningful.
GROUPS = {
    "counterparts of the tokens": PAIR_FEATURES[:4],
    "known translations": PAIR_FEATURES[4:8],
    "lengths": PAIR_FEATURES[8:11],
    "numbers": PAIR_FEATURES[11:13],
    "same tokens on both sides": PAIR_FEATURES[13:],
    "cosine of the vectors": FEATURES[len(PAIR_FEATURES) : len(PAIR_FEATURES) + 1],
    "order of the tokens": FEATURES[len(PAIR_FEATURES) + 1 :],
    "names in another script": (TRANSLITERATED,),
    "surprise of the tokens": (SURPRISE,),
    "comparer of tokens": (COMPARED,),
    "facts": (FACTS,),
}


@dataclass(frozen=True)
class Token:
    """Token as written in the sentence, with its best counterpart.

    ``partner`` is the counterpart's position on the other side, None without a match.
    ``similarity`` is their cosine in [-1, 1], ``probability`` that one translates the other, in the
    likelier direction. ``objection`` is the token's evidence against the pair by the model's
    comparer, in log-odds; None without a comparer. ``usual``: usual counterparts of the token whose
    match is most surprising; None for all other tokens.
    """

    text: str
    partner: int | None
    similarity: float
    probability: float
    objection: float | None = None
    usual: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Explanation:
    """Explanation of a pair.

    ``probability``: the quality, or the probability of being a translation by the pair features;
    ``features`` by name; ``parts``: difference of the log-odds from a usual translation, by group
    of features.
    """

    source: list[Token]
    target: list[Token]
    cosine: float
    probability: float
    features: dict[str, float]
    parts: dict[str, float]


def explain(
    verifier: Verifier, source: str, target: str, quality: Quality | None = None
) -> Explanation:
    """Explain the ``quality`` of a pair; without a quality function, its probability by pair
    features.

    Either sentence may lack known tokens.
    """
    metrics, known = measure(verifier, [source], [target])
    names = feature_names(verifier) if quality else PAIR_FEATURES
    function = quality.calibrated if quality else verifier.pair_function
    values = metrics[:, : len(names)]
    parts = dict(zip(names, function.parts(values)[0].tolist(), strict=True))
    tokens = match(verifier, source, target)
    probability = float(sigmoid(function.logit(values))[0])
    if quality is not None:
        probability *= bool(known[0])
        if compare(source, target).contradicts:
            before, probability = probability, CONTRADICTED * probability
            change = np.diff(log_odds(np.array([before, probability])))
            parts["numbers_differ"] += float(change[0])
        if verifier.facts is not None:
            tokens_of = (
                verifier.tokenize_text([source]).tokens,
                verifier.tokenize_text([target]).tokens,
            )
            agree = verifier.facts.probability(([source], [target]), tokens_of)
            before, probability = probability, float(agree[0]) * probability
            parts[FACTS] = float(np.diff(log_odds(np.array([before, probability])))[0])
    return Explanation(
        *tokens,
        cosine=float(metrics[0, FEATURES.index("cosine")]),
        probability=probability,
        features=dict(zip(names, values[0].tolist(), strict=True)),
        parts={
            group: sum(parts[name] for name in members)
            for group, members in GROUPS.items()
            if parts.keys() >= set(members)
        },
    )


def second_margin(
    verifier: Verifier,
    encoders: tuple[SentenceEncoder, SentenceEncoder],
    source: str,
    target: str,
) -> float:
    """Return the margin of a pair by the encoders of a second opinion, in spreads of chance.

    A pair alone has no other sentences in doubt: it is compared with decoys of the verifier's
    model. Raises ResourceError where these are too few in a language, and for a faulty encoder.
    """
    model, vectors = verifier.encoder.model, []
    for text, language, encoder in zip((source, target), verifier.languages, encoders, strict=True):
        decoys = [sentence for sentence in model.read_decoys(language) if sentence != text]
        if len(decoys) < FEWEST:
            of = f" in {describe(language)}" if language else ""
            raise ResourceError(
                f"the model has too few sentences{of} to compare the pair with; 'miner score "
                "--second' compares the pairs of a text"
            )
        texts = [text, *(decoys[row] for row in spread_rows(len(decoys), COMPANY).tolist())]
        side_vectors = np.zeros((len(texts), encoder.dimension), dtype=np.float32)
        for some, block in encoded(encoder, texts):
            side_vectors[some] = block
        vectors.append(side_vectors)
    rows = np.arange(min(map(len, vectors)))
    return float(standard_margins(vectors[0], vectors[1], rows, rows)[0])


def quality_of_both(
    quality: Quality, source: str, target: str, margin: float
) -> tuple[float, bool]:
    """Return the quality of a pair by both opinions, and whether the first one was in doubt."""
    first = quality.score([source], [target])
    doubted = bool(in_doubt(first)[0]) and not contradict(source, target)
    return float((of_both(first, np.array([margin])) if doubted else first)[0]), doubted


def match(verifier: Verifier, source: str, target: str) -> tuple[list[Token], list[Token]]:
    """Return the tokens of both sentences, each with its best counterpart on the other side."""
    tokenizer = verifier.encoder.tokenizer
    # other tokenizers are never verified
    assert isinstance(tokenizer, PieceTokenizer | WordTokenizer)
    texts, ids = zip(*(tokenizer.surfaces(text) for text in (source, target)), strict=True)
    left, right = ids
    sides = _tokens(texts[0], left, right, verifier), _tokens(texts[1], right, left, verifier)
    if verifier.comparer is not None:
        known = [np.flatnonzero((side >= 0) & tokenizer.meaningful[side]) for side in ids]
        objections = verifier.comparer.objections(left[known[0]], right[known[1]])
        for tokens, places, values in zip(sides, known, objections, strict=True):
            for position, value in zip(places.tolist(), values.tolist(), strict=True):
                tokens[position] = replace(tokens[position], objection=value)
        known_ids = [side[position] for side, position in zip(ids, known, strict=True)]
        lone = [(side, offsets_of(np.array([len(side)]))) for side in known_ids]
        sink = sinking(verifier.comparer.surprises(lone[0], lone[1])[0])
        if sink is not None:
            side, at = sink
            position, usual = (
                int(known[side][at]),
                usual_counterparts(verifier, int(known_ids[side][at])),
            )
            sides[side][position] = replace(sides[side][position], usual=usual)
    return sides


def sinking(surprise: Sequence[np.ndarray]) -> tuple[int, int] | None:
    """Return side and position of the most surprising token; None if none is surprising.

    ``surprise``: surprises of the tokens of source and target, ``(n,)`` and ``(m,)``.
    """
    most = [float(side.max(initial=0.0)) for side in surprise]
    side = int(most[1] > most[0])
    return (side, int(surprise[side].argmax())) if most[side] >= SINKING else None


def usual_counterparts(verifier: Verifier, token: int) -> tuple[str, ...]:
    """Return the likeliest translations of a token, best first."""
    tokenizer = verifier.encoder.tokenizer
    assert isinstance(tokenizer, PieceTokenizer)
    translations, probability = verifier.tokens.lexicon.translations(token)
    best = translations[np.argsort(-probability, kind="stable")[:USUAL]].tolist()
    return tuple(tokenizer.processor.id_to_piece(piece).strip(SPACE_MARK) for piece in best)


def _translated(verifier: Verifier, tokens: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return p(other | own) for all pairs of tokens: ``(n, m) float32``."""
    out = np.zeros((len(tokens), len(others)), dtype=np.float32)
    for i, token in enumerate(tokens):
        translations, probability = verifier.tokens.lexicon.translations(token)
        if len(translations):
            positions = np.minimum(np.searchsorted(translations, others), len(translations) - 1)
            out[i] = np.where(translations[positions] == others, probability[positions], 0)
    return out


def _tokens(
    texts: list[str], ids: np.ndarray, others: np.ndarray, verifier: Verifier
) -> list[Token]:
    """Return the tokens of a sentence, each with its best counterpart among ``others (m,)``.

    Long texts are compared by windows, as in :mod:`miner.kernels.long_texts`.
    """
    from miner.kernels.long_texts import windows
    from miner.kernels.tokens import LONGEST, MATCHED

    spans = [(slice(0, len(ids)), slice(0, len(others)))]
    if max(len(ids), len(others)) > LONGEST:
        spans = windows(len(ids), len(others))
    tokens = [Token(text, None, 0.0, 0.0) for text in texts]
    meaningful = verifier.encoder.tokenizer.meaningful
    for part, window in spans:
        left, right = ids[part], others[window]
        if not len(right):
            continue
        known = np.outer(left >= 0, right >= 0)
        similarity = verifier.tokens.similarity(left, right) * known
        probability = known * np.maximum(
            _translated(verifier, left, right), _translated(verifier, right, left).T
        )
        for i, token in enumerate(left.tolist()):
            if token < 0 or not meaningful[token]:
                continue
            best = int(np.argmax(np.maximum(similarity[i], probability[i])))
            alike, likely = float(similarity[i, best]), float(probability[i, best])
            partner = window.start + best if alike >= MATCHED or likely >= TRANSLATED else None
            position = part.start + i
            tokens[position] = Token(texts[position], partner, alike, likely)
    return tokens
