"""Filters by language, with the model of py3langid: language and same_language.

The score is by how much another language is likelier, not which one is the likeliest. A short
sentence gives little evidence, so it never scores far from its own language.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from miner.filters.filter_types import Batch, Context, Filter, Scorer
from miner.filters.libraries import library
from miner.filters.scripts import primary

_CHARACTERS = 120  # from the start of a text, which is enough

# Codes of one language, or of varieties that the model distinguishes and users who name a file's
# language do not.
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "ar ary arz",
        "bs hr sh sr",
        "el grc",
        "fa prs",
        "fil tl",
        "gn gug",
        "hbo he",
        "id ms",
        "ku sdh ckb kmr",
        "lv ltg",
        "nb nn no",
        "uz uzs",
        "wuu yue zh",
    )
)
# The model's label for numbers, markup and code; short texts of names get it, too.
_NO_LANGUAGE = "zxx"


class Identifier:
    """Log-likelihoods of texts under every language of the model."""

    def __init__(self) -> None:
        langid = library("py3langid.langid", "identifying languages")
        model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
        languages = [name != _NO_LANGUAGE for name in model.nb_classes]
        self.labels = np.array(model.nb_classes)[languages]
        self._codes = [primary(label) for label in self.labels.tolist()]
        self._arrays = (
            np.asarray(model.tk_nextmove),
            np.asarray(model.tk_row),
            np.asarray(model.tk_output, dtype=np.int32),
            np.ascontiguousarray(np.asarray(model.nb_ptc)[:, languages], dtype=np.float32),
            np.asarray(model.nb_pc, dtype=np.float32)[languages],
        )
        self._known: WeakKeyDictionary[Batch, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()

    def columns(self, language: str) -> np.ndarray:
        """Mask of the labels of a BCP-47 code, ``(m,) bool``; all False for an unknown code."""
        return np.isin(self._codes, sorted(_alike(language)))

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """Return log-likelihoods, not normalised, of n texts in m languages: ``(n, m) float32``."""
        from miner.kernels.naive_bayes import naive_bayes

        encoded = [_encoded(text[:_CHARACTERS]) for text in texts]
        offsets = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return naive_bayes(np.frombuffer(b"".join(encoded), np.uint8), offsets, *self._arrays)

    def of(self, batch: Batch) -> tuple[np.ndarray, np.ndarray]:
        """The scores of both sides, computed once for all filters of a batch."""
        if batch not in self._known:
            self._known[batch] = self.scores(batch.source), self.scores(batch.target)
        return self._known[batch]


@lru_cache(maxsize=1)
def identifier() -> Identifier:
    """The identifier of this process. Raises DependencyError without py3langid."""
    return Identifier()


def known(language: str) -> bool:
    """Tell whether the model knows the language of a BCP-47 code; `language` passes others."""
    return bool(identifier().columns(language).any())


def _alike(language: str) -> frozenset[str]:
    """Languages that text of this one may be identified as, itself included."""
    code = primary(language)
    return next((group for group in _ALIKE if code in group), frozenset([code]))


def _encoded(text: str) -> bytes:
    """Normalise as in the model's training: NFC, and lower case instead of all capitals."""
    text = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
    return text.encode("utf-8", errors="replace")


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
        for side, (own, scores) in enumerate(zip(sides, model.of(batch), strict=True)):
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
    if left and right and not _alike(left).isdisjoint(_alike(right)):  # as intended
        return lambda batch: np.zeros(len(batch))
    groups = [model.columns(label) for label in model.labels]

    def lead(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first column of the likeliest language, and its lead over any other."""
        best = np.array([group.argmax() for group in groups])[scores.argmax(axis=1)]
        others = np.where(np.array(groups)[best], -np.inf, scores)
        return best, scores.max(axis=1) - others.max(axis=1)

    def score(batch: Batch) -> np.ndarray:
        (source, first), (target, second) = map(lead, model.of(batch))
        return np.where(source == target, np.minimum(first, second), 0.0)

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
)
