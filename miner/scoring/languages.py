"""Languages of a text, identified from a sample.

A single sentence is weak evidence: the language of a corpus is that of most of its sample. The
sample depends only on the text, not on threads or the division into files.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from miner.encoder.model_files import known_by
from miner.option_values import Languages
from miner.scoring.language_identifier import CHARACTERS, identifier, windows
from miner.text.language_codes import ENGLISH, FORMS, alike, describe, of_country, primary
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
# Maximum excerpts of a text, each identified separately.
_EXCERPTS = 8
# Lead in nats from which little text is in a language that is not usual.
_FAR = 12.0
# Lead in nats by which the source is English rather than the target, which usually is.
_USUAL_SIDE = 3.0


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

        Never for a language that identification does not know, because its text looks like others,
        unless its code is that of a country with the other language (kr, se).
        """
        if self.given is None or self.seen is None or self.characters < SURE:
            return False
        accepted = {self.given} if self.given in FORMS else alike(self.given)
        unknown = self.seen not in FORMS and accepted.isdisjoint(identifier().codes)
        if unknown and of_country(self.given) != self.seen:
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
    excerpts = (
        excerpt
        for text in texts
        for excerpt in windows(text, min(_EXCERPTS, max(1, len(text) // CHARACTERS)), CHARACTERS)
    )
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
    alone = [identify(texts, code) for texts, code in zip((source, target), given, strict=True)]
    unsure = [not side.sure and side.seen is not None and side.seen not in FORMS for side in alone]
    if not any(unsure):
        return alone[0], alone[1]
    model = identifier()
    known = np.logical_or.reduce([model.columns(code) for code in _usual()])
    english = model.columns(ENGLISH)
    choices, told = [], []
    for side, is_open, texts in zip(alone, unsure, (source, target), strict=True):
        if not is_open:  # its language alone
            choices.append(np.where(model.columns(side.code or ""), 0.0, -np.inf))
            told.append(side.code is not None)
            continue
        scores, weight = model.evidence([text for text in texts if any(map(str.isalpha, text))])
        total = scores.sum(axis=0, dtype=np.float64)
        usual = total[known].max() > total.max() - _FAR
        choices.append(np.where(known, total, -np.inf) if usual else total)
        told.append(bool(weight.any()))
    # Scores of both sides if the source is English, and if the target is.
    both = [
        [np.where(english == (side == english_side), choices[side], -np.inf) for side in (0, 1)]
        for english_side in (0, 1)
    ]
    sums = [sum(scores.max() for scores in pair) for pair in both]
    english_side = int(sums[1] + _USUAL_SIDE > sums[0])
    if sums[english_side] > sum(scores.max() for scores in choices) - _FAR:
        choices = both[english_side]
    out = [
        side
        if not is_open
        else Identified(
            ((model.codes[int(choice.argmax())], 1.0),) if sure else (), None, side.characters
        )
        for side, is_open, sure, choice in zip(alone, unsure, told, choices, strict=True)
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
