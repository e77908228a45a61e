"""Filters by language: language and same_language by the model of py3langid, lid by fastText.

The score by py3langid is the lead of another language, not which language is likeliest. A short
sentence, a list of nouns, a script or a name that both languages share is weak evidence, so such
text never scores far from its language.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from miner.errors import ArtifactError
from miner.filters.filter_types import Batch, Context, Scorer
from miner.filters.scripts import SCRIPTS, scripts_of
from miner.libraries import library
from miner.scoring.language_identifier import LanguageEvidence, identifier
from miner.text.language_codes import alike, describe, primary
from miner.text.output import one_line

# Maximum labels that fastText returns for a text: enough for all scripts of a language.
MOST = 8

# Characters that names and their translations share at the start (Januar, January).
_NAME = 3

# Letters of the scripts with capitals.
_CASED = re.compile(
    "([A-Za-z\u00c0-\u024f\u1e00-\u1eff])|([\u0400-\u052f])|([\u0370-\u03ff])|[\u0531-\u0588]"
)

_LETTERS = re.compile(r"[^\W\d_]+")

# Latin: names of elements, plants and animals look like it in every language.
_OF_NAMES = "la"

# Evidence of the batches at work, which all filters of this module share.
_KNOWN: WeakKeyDictionary[Batch, tuple[LanguageEvidence, LanguageEvidence]] = WeakKeyDictionary()


def known(language: str) -> bool:
    """Return True if the model knows the language of a BCP-47 code. `language` passes others."""
    return bool(identifier().columns(language).any())


def _evidence(batch: Batch) -> tuple[LanguageEvidence, LanguageEvidence]:
    """Evidence of both sides for every language, computed once for a batch."""
    if batch not in _KNOWN:
        model = identifier()
        _KNOWN[batch] = model.evidence(batch.sides[0]), model.evidence(batch.sides[1])
    return _KNOWN[batch]


def _language(settings: Mapping[str, Any], context: Context) -> Scorer:
    identifier().evidence([""])  # the first text takes long
    sides = [_Doubt(code) if code and known(code) else None for code in context.languages]

    def score(batch: Batch) -> np.ndarray:
        worst = np.zeros(len(batch))
        for side, doubt in enumerate(sides):
            if doubt is not None:
                doubts = doubt(batch.sides[side], batch.sides[1 - side], _evidence(batch)[side])
                np.maximum(worst, doubts, out=worst)
        return worst

    return score


class _Doubt:
    """Lead of another language in texts that should be in one."""

    def __init__(self, language: str):
        self.model = identifier()
        self.own = self.model.columns(language)
        scripts = set(scripts_of(language))
        # Languages that share a script with it, the only rivals for text in its script.
        self.rivals = np.array(
            [not scripts.isdisjoint(scripts_of(label)) for label in self.model.labels.tolist()]
        )
        self.rivals &= ~self.model.columns(_OF_NAMES)
        # Kana and Hangul beside Han characters tell Japanese and Korean from Chinese.
        told = scripts | ({"Kana", "Hang", "Bopo"} if "Hani" in scripts else set())
        ranges = "".join(SCRIPTS[script] for script in sorted(told))
        self.foreign = re.compile(rf"[^\W\d_{ranges}]+") if ranges else None

    def __call__(
        self, texts: Sequence[str], others: Sequence[str], evidence: LanguageEvidence
    ) -> np.ndarray:
        out = np.zeros(len(texts))
        expected = np.where(self.own, evidence.scores, -np.inf).max(axis=1)
        rows = np.flatnonzero(evidence.scores.max(axis=1) > expected)
        if not len(rows):
            return out
        bare, rivals = [], []
        for row in rows.tolist():
            text, there = self._in_script(_without(texts[row], others[row]))
            bare.append(text)
            rivals.append(self.rivals if there else ~self.own)
        leads = [
            np.where(rivals, self._leads(reading), 0).max(axis=1)
            for reading in (evidence.take(rows), self.model.evidence(bare))
        ]
        out[rows] = np.minimum(*leads)
        return out

    def _leads(self, evidence: LanguageEvidence) -> np.ndarray:
        best = np.where(self.own, evidence.scores, -np.inf).argmax(axis=1)
        return self.model.leads(evidence, best)

    def _in_script(self, text: str) -> tuple[str, bool]:
        """Drop letters of other scripts if most are in the language's; also return whether they
        are.
        """
        if self.foreign is None:
            return text, False
        bare = self.foreign.sub(" ", text)
        there = sum(map(str.isalpha, bare))
        return (bare, True) if 2 * there > sum(map(str.isalpha, text)) else (text, False)


def _without(text: str, other: str) -> str:
    """Drop names and code: words not all lower case that the other side has.

    A word with a capital is also dropped if a word of the other side begins alike. Capitalised
    words alone are all names if the other side is in another script.
    """
    script = _CASED.search(text)
    if script and all(script.lastindex != match.lastindex for match in _CASED.finditer(other)):
        letters = _LETTERS.findall(text)
        return "" if len(letters) > 1 and all(word[0].isupper() for word in letters) else text
    words = other.split()
    same, alike = set(words), {word[:_NAME].casefold() for word in words}
    return " ".join(
        word
        for word in text.split()
        if word.islower()
        or not (word in same or (word != word.lower() and word[:_NAME].casefold() in alike))
    )


def _same(settings: Mapping[str, Any], context: Context) -> Scorer:
    model = identifier()
    left, right = context.languages
    if left and right and not alike(left).isdisjoint(alike(right)):  # the intended languages
        return lambda batch: np.zeros(len(batch))
    groups = np.array([model.columns(label) for label in model.labels])
    names = model.columns(_OF_NAMES)
    wanted = _OF_NAMES in {primary(code) for code in (left, right) if code}

    def score(batch: Batch) -> np.ndarray:
        out = leads(*_evidence(batch))
        rows = np.flatnonzero(out).tolist()
        if rows:  # once more without the names that both sides have
            pairs = [(batch.sides[0][row], batch.sides[1][row]) for row in rows]
            bare = ([_without(*pair) for pair in pairs], [_without(*pair[::-1]) for pair in pairs])
            out[rows] = np.minimum(out[rows], leads(*map(model.evidence, bare)))
        return out

    def leads(*sides: LanguageEvidence) -> np.ndarray:
        """Return the lead of the likeliest common language of both sides over any other; 0
        without one.
        """
        # The first label of a language represents all of them.
        source, target = (
            groups[evidence.scores.argmax(axis=1)].argmax(axis=1) for evidence in sides
        )
        out = np.zeros(len(source))
        same = np.flatnonzero((source == target) & (~names[source] | wanted))
        for number, evidence in enumerate(side.take(same) for side in sides):
            best = evidence.scores.argmax(axis=1)
            least = np.where(groups[best], np.inf, model.lead(evidence, best)).min(axis=1)
            out[same] = np.minimum(out[same], least) if number else least
        return out

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
        predictions = model.predict([one_line(text) for text in texts], MOST)
        accepted = alike(language)
        return np.array(
            [
                sum(p for label, p in zip(*prediction, strict=True) if codes[label] in accepted)
                for prediction in zip(*predictions, strict=True)
            ]
        )

    def score(batch: Batch) -> np.ndarray:
        sides = zip(batch.sides, context.languages, strict=True)
        return np.min([side(texts, code or "") for texts, code in sides], axis=0)

    return score


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "language": {"build": _language},
    "same_language": {"build": _same},
    "lid": {"build": _lid},
}
