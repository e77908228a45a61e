"""Why a pair is taken for a translation or not: which pieces match, what speaks for and against."""

from dataclasses import dataclass

import numpy as np

from miner.scoring.verifier import ALONE, Verifier, sigmoid

# A piece with a translation of this probability on the other side is matched, however similar.
TRANSLATED = 0.1
# Parts that measure one thing in several ways, which only together mean something.
GROUPS = {
    "counterparts of the pieces": ALONE[:4],
    "known translations": ALONE[4:8],
    "lengths": ALONE[8:11],
    "numbers": ALONE[11:13],
    "same pieces on both sides": ALONE[13:],
}


@dataclass(frozen=True)
class Token:
    """A piece as it stands in the sentence, and its best counterpart.

    ``partner`` is the counterpart's place on the other side, None where nothing matches;
    ``similarity`` the cosine of the two, ``probability`` that of one being translated by the other,
    the likelier direction.
    """

    text: str
    partner: int | None
    similarity: float
    probability: float


@dataclass(frozen=True)
class Explanation:
    """One pair, explained.

    ``probability`` of being a translation as far as the two sentences alone tell; ``features`` by
    name; ``parts`` of its log-odds by group, what this pair has beyond a usual translation.
    """

    source: list[Token]
    target: list[Token]
    cosine: float
    probability: float
    features: dict[str, float]
    parts: dict[str, float]


def explain(verifier: Verifier, source: str, target: str) -> Explanation:
    """Explain a pair; either sentence may have no piece that the model knows."""
    left, right = verifier.prepare([source], 1), verifier.prepare([target], 1)
    first = np.zeros(1, dtype=np.int64)
    features = verifier.pieces.compare(left, right, first, first)
    vectors = verifier.encoder.encode([source, target])
    parts = dict(zip(ALONE, verifier.alone.parts(features)[0].tolist(), strict=True))
    tokens = match(verifier, source, target)
    return Explanation(
        *tokens,
        cosine=float(vectors[0] @ vectors[1]),
        probability=float(sigmoid(verifier.alone.logit(features))[0]),
        features=dict(zip(ALONE, features[0].tolist(), strict=True)),
        parts={group: sum(parts[name] for name in names) for group, names in GROUPS.items()},
    )


def match(verifier: Verifier, source: str, target: str) -> tuple[list[Token], list[Token]]:
    """The pieces of both sentences, each with its best counterpart on the other side."""
    from miner.kernels.tokens import LONGEST

    texts, ids = zip(
        *(verifier.encoder.tokenizer.surfaces(text) for text in (source, target)), strict=True
    )
    # What is beyond is not looked at when a pair is scored, either.
    left, right = ids[0][:LONGEST], ids[1][:LONGEST]
    pieces = verifier.pieces
    similarity = pieces.similarity(left, right)
    probability = np.maximum(
        _translated(verifier, left, right), _translated(verifier, right, left).T
    )
    known = np.outer(left >= 0, right >= 0)
    similarity, probability = similarity * known, probability * known
    return (
        _tokens(texts[0], left, similarity, probability, verifier),
        _tokens(texts[1], right, similarity.T, probability.T, verifier),
    )


def _translated(verifier: Verifier, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """``(n, m)``: probability of each of ``others`` given each of ``own``."""
    out = np.zeros((len(own), len(others)), dtype=np.float32)
    for i, piece in enumerate(own):
        found, probability = verifier.pieces.lexicon.translations(piece)
        if len(found):
            place = np.minimum(np.searchsorted(found, others), len(found) - 1)
            out[i] = np.where(found[place] == others, probability[place], 0)
    return out


def _tokens(
    texts: list[str],
    ids: np.ndarray,
    similarity: np.ndarray,
    probability: np.ndarray,
    verifier: Verifier,
) -> list[Token]:
    from miner.kernels.tokens import MATCHED

    tokens = []
    meaningful = verifier.encoder.tokenizer.meaningful
    for i, text in enumerate(texts):
        unknown = i >= len(ids) or ids[i] < 0 or not meaningful[ids[i]]
        if unknown or not similarity.shape[1]:
            tokens.append(Token(text, None, 0.0, 0.0))
            continue
        best = int(np.argmax(np.maximum(similarity[i], probability[i])))
        alike, likely = float(similarity[i, best]), float(probability[i, best])
        matched = alike >= MATCHED or likely >= TRANSLATED
        tokens.append(Token(text, best if matched else None, alike, likely))
    return tokens
