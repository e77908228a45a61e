"""Language identification of texts from a sample, by the model of py3langid (Lui and Baldwin 2012).

A single sentence is weak evidence: the language of a corpus is that of most of its sample. The
sample depends only on the text, not on threads or the division into files.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from miner.encoder.cached_arrays import cached_arrays
from miner.encoder.model_files import known_by
from miner.expressions import expression
from miner.libraries import installed_version
from miner.machine import blas
from miner.option_values import Languages
from miner.ragged import offsets_of
from miner.text.invisible import visible
from miner.text.language_codes import ENGLISH, FORMS, alike, describe, primary
from miner.text.written_forms import written_form

# Sentences of the sample: at the head of a corpus, and evenly spread.
HEAD, SPREAD = 500, 1500
# Minimum share of a sample in one language; below it the language stays open.
ENOUGH = 0.5
# Share of a sample from which a further language is named.
NAMED = 0.1
# Share of a sample from which its language counts as the only one.
MOSTLY = 0.9
# Characters of a sample, about ten sentences, that identify a language almost without error.
SURE = 500
# Characters of an excerpt; maximum excerpts of a long text, and of a text judged by one excerpt.
_CHARACTERS, _EXCERPTS, _PARTS = 120, 8, 3
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
# Lead in nats from which little text is in a language that is not usual.
_FAR = 12.0
# Lead in nats by which the source is English rather than the target, which usually is.
_USUAL_SIDE = 3.0
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
    """Cut a text to ``_CHARACTERS``: parts of the start, middle and end of a longer one.

    The first line of a page is often a menu in another language.
    """
    if len(text) <= _CHARACTERS:
        return text
    return " ".join(_windows(text, _PARTS, _CHARACTERS // _PARTS))


def _excerpts(text: str) -> list[str]:
    """Return excerpts of ``_CHARACTERS``, evenly spread over a text, to be identified
    separately.
    """
    return _windows(text, min(_EXCERPTS, max(1, len(text) // _CHARACTERS)), _CHARACTERS)


def _windows(text: str, count: int, size: int) -> list[str]:
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


@dataclass(frozen=True)
class Identified:
    """Languages identified in a text.

    ``shares`` are the languages of the sample by ISO 639 code, each with its share of the text in
    (0, 1], largest first; codes that text in one language may get are merged. ``characters`` is the
    size of the sample. ``given`` is the BCP-47 code that the user set, or None.
    """

    shares: tuple[tuple[str, float], ...]
    given: str | None = None
    characters: int = 0

    @property
    def seen(self) -> str | None:
        """ISO code of the language of most of the sample, or None."""
        return self.shares[0][0] if self.shares and self.shares[0][1] >= ENOUGH else None

    @property
    def mixed(self) -> bool:
        """True if a text is in several languages and the user set none."""
        return bool(self.several)

    @property
    def several(self) -> tuple[str, ...]:
        """ISO codes of the languages of a mixed text; empty if the user set a language."""
        named = tuple(code for code, share in self.shares if share >= NAMED)
        sure = self.given is None and self.characters >= SURE
        return named if sure and len(named) > 1 and self.shares[0][1] < MOSTLY else ()

    @property
    def code(self) -> str | None:
        """ISO code of the language: set by the user, else identified."""
        code = self.given
        return code if code in FORMS else primary(code) if code is not None else self.seen

    @property
    def sure(self) -> bool:
        """True if the user set the language, or the sample is large enough to warn about it."""
        return self.given is not None or self.characters >= SURE

    @property
    def contradicted(self) -> bool:
        """True if hardly anything in the sample is in the language set by the user, and most in
        another.

        Never for a language that identification does not know, because its text looks like others.
        """
        if self.given is None or self.seen is None or self.characters < SURE:
            return False
        accepted = {self.given} if self.given in FORMS else alike(self.given)
        if self.seen not in FORMS and accepted.isdisjoint(identifier().codes):
            return False
        return sum(share for code, share in self.shares if code in accepted) < NAMED

    def __str__(self) -> str:
        if self.given is not None:
            return f"{describe(self.given)} as given"
        named = [entry for entry in self.shares[:3] if entry[1] >= NAMED]
        listed = " and ".join(f"{describe(code)} {share:.0%}" for code, share in named)
        return listed if self.seen is not None else f"unknown ({listed})" if listed else "unknown"


def identify(texts: Sequence[str], given: str | None = None) -> Identified:
    """Identify the languages of sentences; the share of each is counted in characters.

    Sentences without letters do not count. Raises DependencyError without py3langid.
    """
    excerpts = (excerpt for text in texts for excerpt in _excerpts(text))
    texts = [text for text in excerpts if any(map(str.isalpha, text))]
    if not texts:
        return Identified((), given)
    model = identifier()
    count: Counter[str] = Counter()
    forms: Counter[str] = Counter()
    open_ones: list[tuple[list[str], int]] = []
    scores = model.evidence(texts).scores
    for text, best in zip(texts, scores == scores.max(axis=1)[:, None], strict=True):
        codes = [model.codes[column] for column in np.flatnonzero(best)]
        if form := written_form(text):
            forms[form] += len(text)
        elif len(codes) == 1:
            count[codes[0]] += len(text)
        else:
            open_ones.append((codes, len(text)))
    told = count.copy()
    for codes, characters in open_ones:  # counted for the language of most other text
        count[max(codes, key=lambda code: sum(told[similar] for similar in alike(code)))] += (
            characters
        )
    merged = forms
    for code, characters in count.items():
        # The most frequent of similar codes represents them.
        merged[max(alike(code), key=lambda other: (count[other], other))] += characters
    total = merged.total()
    order = sorted(merged, key=lambda code: (-merged[code], code))
    return Identified(tuple((code, merged[code] / total) for code in order), given, total)


def identify_pair(
    source: Sequence[str], target: Sequence[str], given: Languages = (None, None)
) -> tuple[Identified, Identified]:
    """Identify the languages of both sides of pairs.

    A side with too little text is in a language of the model that ships, and one of the two in
    English, unless others are far likelier: two words look like a language that few write.
    """
    found = [identify(texts, code) for texts, code in zip((source, target), given, strict=True)]
    unsure = [not one.sure and one.seen is not None and one.seen not in FORMS for one in found]
    if not any(unsure):
        return found[0], found[1]
    model = identifier()
    known = np.logical_or.reduce([model.columns(code) for code in _usual()])
    english = model.columns(ENGLISH)
    choices, told = [], []
    for one, open_, texts in zip(found, unsure, (source, target), strict=True):
        if not open_:  # its language alone
            choices.append(np.where(model.columns(one.code or ""), 0.0, -np.inf))
            told.append(one.code is not None)
            continue
        scores, weight = model.evidence([text for text in texts if any(map(str.isalpha, text))])
        own = scores.sum(axis=0, dtype=np.float64)
        usual = own[known].max() > own.max() - _FAR
        choices.append(np.where(known, own, -np.inf) if usual else own)
        told.append(bool(weight.any()))
    both = [
        [np.where(english == (side == place), choices[side], -np.inf) for side in (0, 1)]
        for place in (0, 1)
    ]
    sums = [sum(one.max() for one in pair) for pair in both]
    place = int(sums[1] + _USUAL_SIDE > sums[0])
    if sums[place] > sum(one.max() for one in choices) - _FAR:
        choices = both[place]
    out = [
        one
        if not open_
        else Identified(
            ((model.codes[int(choice.argmax())], 1.0),) if sure else (), None, one.characters
        )
        for one, open_, sure, choice in zip(found, unsure, told, choices, strict=True)
    ]
    return out[0], out[1]


@lru_cache(maxsize=1)
def _usual() -> tuple[str, ...]:
    """Return the languages of the model that ships, and English."""
    return (ENGLISH, *known_by("default"))


def languages_by_row(texts: Sequence[str], known: Iterable[str]) -> list[str | None]:
    """Identify each text separately, as one of the ``known`` languages; None without letters."""
    model = identifier()
    columns = np.flatnonzero(np.logical_or.reduce([model.columns(code) for code in known]))
    best = columns[model.evidence(texts).scores[:, columns].argmax(axis=1)]
    return [
        model.codes[column] if any(map(str.isalpha, text)) else None
        for text, column in zip(texts, best.tolist(), strict=True)
    ]


def sample(count: int) -> np.ndarray:
    """Return the positions of the sentences that identify a corpus of ``count`` sentences.

    ``(n,) int64``, ascending: the head of the corpus and an even spread over all of it.
    """
    if count <= HEAD + SPREAD:
        return np.arange(count)
    spread = np.linspace(0, count - 1, SPREAD).astype(np.int64)
    return np.union1d(np.arange(HEAD), spread)
