"""Filters by language: language and same_language by the model of py3langid, lid by fastText.

The score of py3langid is by how much another language is likelier, not which one is the likeliest.
A short sentence gives little evidence, so it never scores far from its own language.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from miner.errors import ArtifactError
from miner.filters.filter_types import Batch, Context, Filter, Scorer, Setting
from miner.libraries import library
from miner.scoring.languages import identifier
from miner.text.language_codes import alike, describe, primary
from miner.text.output import one_line

# Labels that fastText gives a text: the likeliest, among them all scripts of a language.
MOST = 8

# Scores of the batches at work, which all filters of this module share.
_KNOWN: WeakKeyDictionary[Batch, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


def known(language: str) -> bool:
    """Tell whether the model knows the language of a BCP-47 code; `language` passes others."""
    return bool(identifier().columns(language).any())


def _scores(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihoods of both sides under every language, computed once for a batch."""
    if batch not in _KNOWN:
        model = identifier()
        _KNOWN[batch] = model.scores(batch.source), model.scores(batch.target)
    return _KNOWN[batch]


def _language(settings: Mapping[str, Any], context: Context) -> Scorer:
    model = identifier()
    sides = [
        model.columns(language) if language else np.zeros(len(model.labels), dtype=bool)
        for language in context.languages
    ]

    def lead(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
        return np.maximum(scores[:, ~own].max(axis=1) - scores[:, own].max(axis=1), 0)

    def score(batch: Batch) -> np.ndarray:
        worst = np.zeros(len(batch))
        for side, (own, scores) in enumerate(zip(sides, _scores(batch), strict=True)):
            if not own.any():  # the model does not know the language
                continue
            leads = lead(scores, own)
            doubtful = np.flatnonzero(leads).tolist()
            if doubtful:
                texts, others = batch.sides[side], batch.sides[1 - side]
                bare = [_without(texts[row], others[row]) for row in doubtful]
                leads[doubtful] = np.minimum(leads[doubtful], lead(model.scores(bare), own))
            np.maximum(worst, leads, out=worst)
        return worst

    return score


def _without(text: str, other: str) -> str:
    """Drop names and code: words that the other side has and that are not all lower case."""
    known = set(other.split())
    return " ".join(word for word in text.split() if word not in known or word.islower())


def _same(settings: Mapping[str, Any], context: Context) -> Scorer:
    model = identifier()
    left, right = context.languages
    if left and right and not alike(left).isdisjoint(alike(right)):  # as intended
        return lambda batch: np.zeros(len(batch))
    groups = [model.columns(label) for label in model.labels]

    def lead(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first column of the likeliest language, and its lead over any other."""
        best = np.array([group.argmax() for group in groups])[scores.argmax(axis=1)]
        others = np.where(np.array(groups)[best], -np.inf, scores)
        return best, scores.max(axis=1) - others.max(axis=1)

    def score(batch: Batch) -> np.ndarray:
        (source, first), (target, second) = map(lead, _scores(batch))
        return np.where(source == target, np.minimum(first, second), 0.0)

    return score


def _lid(settings: Mapping[str, Any], context: Context) -> Scorer:
    path = context.directory / settings["file"]
    fasttext = library("fasttext", "the filter lid", "lid")
    try:
        model = fasttext.load_model(str(path))
    except ValueError as error:
        raise ArtifactError(f"{path}: not a fastText model ({error})") from None
    # __label__deu_Latn is de; so is __label__de.
    codes = {label: primary(label.removeprefix("__label__")) for label in model.labels}
    for code in filter(None, context.languages):
        if alike(code).isdisjoint(codes.values()):
            raise ArtifactError(f"{path}: has no label of {describe(code)}; leave out --lid")

    def side(texts: Sequence[str], language: str) -> np.ndarray:
        found = model.predict([one_line(text) for text in texts], MOST)
        own = alike(language)
        return np.array(
            [
                sum(p for label, p in zip(*one, strict=True) if codes[label] in own)
                for one in zip(*found, strict=True)
            ]
        )

    def score(batch: Batch) -> np.ndarray:
        sides = zip(batch.sides, context.languages, strict=True)
        return np.min([side(texts, code or "") for texts, code in sides], axis=0)

    return score


FILTERS = (
    Filter(
        "language",
        "natural logarithm of how much likelier another language is than a side's own, from 0; the "
        "worse side",
        "another language is likelier for a side, by a factor of e^{value:.0f}",
        "lower",
        _language,
        maximum=12,
        languages=True,
        default=True,
        libraries=("py3langid",),
        paper="Lui and Baldwin 2012, langid.py",
    ),
    Filter(
        "same_language",
        "if both sides are identified as one language, natural logarithm of its lead over any "
        "other, the less sure side; else 0, as for a bitext in one language or in two that are "
        "hard to distinguish",
        "both sides are in the same language, by a factor of e^{value:.0f}",
        "lower",
        _same,
        maximum=12,
        default=True,
        libraries=("py3langid",),
        paper="Lui and Baldwin 2012, langid.py",
    ),
    Filter(
        "lid",
        "probability of a side's own language by a fastText model, 0 to 1; the worse side",
        "in its language with a probability of {value:.2f}",
        "higher",
        _lid,
        minimum=0.5,
        settings={"file": Setting(None, "the model, such as OpenLID or GlotLID", file=True)},
        languages=True,
        libraries=("fasttext-numpy2",),
        paper="Joulin et al. 2017; Burchell et al. 2023, OpenLID; Kargaran et al. 2023, GlotLID",
    ),
)
