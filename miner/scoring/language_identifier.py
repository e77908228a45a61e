"""Language identifier for single texts, by the model of py3langid (Lui and Baldwin 2012)."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from miner.encoder.cached_arrays import cached_arrays
from miner.expressions import expression
from miner.libraries import installed_version
from miner.machine import blas
from miner.ragged import offsets_of
from miner.text.invisible import visible
from miner.text.language_codes import FORMS, alike, primary

# Characters of an excerpt, and parts that it is taken from.
CHARACTERS, _PARTS = 120, 3
# Label of the model for numbers, markup and code, and often for short texts of names.
_NO_LANGUAGE = "zxx"
# Arrays of the unpacked model; all but the first two are arguments of `naive_bayes`.
_NAMES = "labels", "apart", "move", "row", "out", "table", "prior"
# Han characters, and other characters that identify the language of a text with them.
_HAN = expression("[\u3005\u3400-\u4dbf\u4e00-\u9fff]")
_OTHER_CJK = expression("[\u3041-\u3096\u30a1-\u30fa\u3105-\u312f\uac00-\ud7a3\uff66-\uff9d]")
# Encodings of Japanese and Chinese: a Han character missing in one language's encodings belongs to
# the other.
_HAN_SETS = {"ja": ("cp932",), "zh": ("gb2312", "big5")}
# Share of the expected lead of one language over another from which a lead counts, and lead in nats
# that always counts: lists of names and nouns stay below both.
_USUAL, _SURELY = 0.5, 55
# Expected lead in nats per n-gram from which a lead counts in full.
_APART = 2.0


class LanguageEvidence(NamedTuple):
    """Evidence of n texts for m languages.

    ``scores (n, m) float32``: log-likelihoods, not normalised. ``weight (n,) float32``: the n-grams
    they are summed over, repetitions counted by their logarithm.
    """

    scores: np.ndarray
    weight: np.ndarray

    def take(self, rows: Any) -> "LanguageEvidence":
        """Return the evidence of the texts at ``rows``."""
        return LanguageEvidence(self.scores[rows], self.weight[rows])


class Identifier:
    """Language identifier: ``labels`` of the model, their ISO 639 ``codes``, and scores of texts.

    ``apart (m, m) float32``: expected lead of the row's language over the column's in text of the
    row's language, in nats per n-gram (the divergence of Kullback and Leibler 1951).
    """

    def __init__(self) -> None:
        self.labels, self.apart, *arrays = _model().values()
        self.codes = [primary(label) for label in self.labels.tolist()]
        self._arrays = tuple(arrays)
        self._han = {code: self.columns(code) for code in _HAN_SETS}

    def columns(self, language: str) -> np.ndarray:
        """Mask of the labels of a BCP-47 code, ``(m,) bool``; all False for an unknown code."""
        codes = set() if language in FORMS else alike(language)
        return np.array([code in codes for code in self.codes])

    def evidence(self, texts: Sequence[str]) -> LanguageEvidence:
        """Score n texts in m languages.

        Text of Han characters only scores alike in Chinese and Japanese, unless a character belongs
        to one of them.
        """
        from miner.kernels.naive_bayes import naive_bayes

        texts = [_excerpt(text) for text in texts]
        encoded = [_encoded(text) for text in texts]
        offsets = offsets_of(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        output = naive_bayes(np.frombuffer(b"".join(encoded), np.uint8), offsets, *self._arrays)
        scores, weight = output[:, :-1], output[:, -1]
        for row, text in enumerate(texts):
            han = set() if text.isascii() or _OTHER_CJK.search(text) else set(_HAN.findall(text))
            for code, columns in self._han.items() if han else ():
                if han <= _han_of(code):
                    others = np.logical_or.reduce([self._han[han_code] for han_code in _HAN_SETS])
                    least = scores[row, others].max() - scores[row, columns].max()
                    scores[row, columns] += least
        return LanguageEvidence(scores, weight)

    def leads(self, evidence: LanguageEvidence, label: np.ndarray) -> np.ndarray:
        """Return by how much each of m languages is likelier than ``label (n,)``: ``(n, m)``."""
        lead = evidence.scores - evidence.scores[np.arange(len(label)), label][:, None]
        return _convincing(lead, self.apart[:, label].T, evidence.weight)

    def lead(self, evidence: LanguageEvidence, label: np.ndarray) -> np.ndarray:
        """Return the lead of ``label (n,)`` over each of m languages: ``(n, m)``.

        Close languages always compete, so half the expected lead counts as evidence.
        """
        lead = evidence.scores[np.arange(len(label)), label][:, None] - evidence.scores
        return _convincing(lead, self.apart[label], evidence.weight, 0.5)


def _convincing(
    lead: np.ndarray, apart: np.ndarray, weight: np.ndarray, demand: float = 1.0
) -> np.ndarray:
    """Return the evidence in leads ``(n, m)``, from 0.

    A lead below `_USUAL` of the expected one is no evidence. Between close languages (Hindi and
    Nepali), with an expected lead below `_APART`, it counts in proportion. ``demand`` scales both
    limits.
    """
    enough = lead >= np.minimum(demand * _USUAL * apart * weight[:, None], _SURELY)
    return np.where(enough, np.maximum(lead, 0) * np.minimum(apart / (demand * _APART), 1), 0)


@lru_cache
def _han_of(code: str) -> frozenset[str]:
    """Return the Han characters in the encodings of Japanese or of Chinese."""
    characters = (*map(chr, range(0x3400, 0xA000)), "\u3005")
    return frozenset(
        character
        for character in characters
        for codec in _HAN_SETS[code]
        if character.encode(codec, "ignore")
    )


@lru_cache(maxsize=1)
def identifier() -> Identifier:
    """Return this process's identifier, loaded on first use."""
    return Identifier()


def _model() -> dict[str, np.ndarray]:
    """Return the model's labels, their distances, and the arrays for the kernel.

    py3langid's archive takes half a second to unpack, so the arrays are cached.
    """
    key = f"py3langid {installed_version('py3langid')}, distances by one thread"
    return cached_arrays("languages", _NAMES, key, _unpacked)


def _unpacked() -> dict[str, np.ndarray]:
    from py3langid import langid

    model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    languages = [name != _NO_LANGUAGE for name in model.nb_classes]
    table = np.asarray(model.nb_ptc)[:, languages].astype(np.float32, order="C")
    with blas().limit(limits=1):  # so that it does not depend on the number of threads
        entropy = np.exp(table).T @ table
    arrays = (
        np.array(model.nb_classes)[languages],
        np.diag(entropy)[:, None] - entropy,
        np.asarray(model.tk_nextmove),
        np.asarray(model.tk_row),
        np.asarray(model.tk_output, dtype=np.int32),
        # An extra column in which every n-gram has the log-probability 1, to sum their weights.
        np.append(table, np.ones((len(table), 1), np.float32), axis=1),
        np.append(np.asarray(model.nb_pc, dtype=np.float32)[languages], np.float32(0)),
    )
    return dict(zip(_NAMES, arrays, strict=True))


def _excerpt(text: str) -> str:
    """Cut a text to ``CHARACTERS``: parts of the start, middle and end of a longer one.

    The first line of a page is often a menu in another language.
    """
    if len(text) <= CHARACTERS:
        return text
    return " ".join(windows(text, _PARTS, CHARACTERS // _PARTS))


def windows(text: str, count: int, size: int) -> list[str]:
    """Return ``count`` evenly spread parts of about ``size`` characters of a text, cut between
    words.
    """
    if count == 1 or len(text) <= size:
        return [text[:size]]
    parts = []
    for number in range(count):
        start = number * (len(text) - size) // (count - 1)
        part = text[start : start + size]
        # A word cut in half may look like another language.
        _, space, rest = part.partition(" ") if start else ("", "", part)
        parts.append(rest if space and rest else part)
    return parts


def _encoded(text: str) -> bytes:
    """Normalise like the model's training text: NFC, and lower case instead of all capitals."""
    text = visible(text)
    text = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
    return text.encode("utf-8", errors="replace")
