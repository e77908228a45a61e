"""Languages of texts, identified from a sample, by the model of py3langid (Lui and Baldwin 2012).

One sentence gives little evidence: a corpus is in the language that most of the sampled text is
identified as. The sample depends on the text alone, not on threads or on how files are divided.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from miner.encoder.kept_arrays import kept
from miner.ragged import offsets_of
from miner.text.language_codes import alike, describe, primary

# Sentences at the head of a corpus, and evenly spread ones, that are identified.
HEAD, SPREAD = 500, 1500
# Less than this share of a sample leaves its language open.
ENOUGH = 0.5
# Further languages with this share of a sample, or more, are named.
NAMED = 0.1
# Characters of a sample, about ten sentences, whose language is hardly ever mistaken.
SURE = 500
_CHARACTERS = 120  # from the start of a text, which is enough
# The model's label for numbers, markup and code; short texts of names get it, too.
_NO_LANGUAGE = "zxx"
# Files of the unpacked model; all but the labels are arguments of `naive_bayes`.
_NAMES = "labels", "move", "row", "out", "table", "prior"


class Identifier:
    """Log-likelihoods of texts under every language of the model, ``labels``."""

    def __init__(self) -> None:
        self.labels, *arrays = _model().values()
        self.codes = [primary(label) for label in self.labels.tolist()]
        self._arrays = tuple(arrays)

    def columns(self, language: str) -> np.ndarray:
        """Mask of the labels of a BCP-47 code, ``(m,) bool``; all False for an unknown code."""
        return np.isin(self.codes, sorted(alike(language)))

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """Return log-likelihoods, not normalised, of n texts in m languages: ``(n, m) float32``."""
        from miner.kernels.naive_bayes import naive_bayes

        encoded = [_encoded(text[:_CHARACTERS]) for text in texts]
        offsets = offsets_of(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        return naive_bayes(np.frombuffer(b"".join(encoded), np.uint8), offsets, *self._arrays)


@lru_cache(maxsize=1)
def identifier() -> Identifier:
    """The identifier of this process."""
    return Identifier()


def _model() -> dict[str, np.ndarray]:
    """Return the labels of the model, and its arrays as the kernel takes them.

    py3langid has them in an archive that takes half a second to unpack, so they are kept.
    """
    from py3langid import langid  # here, as it loads slowly

    key = f"py3langid {version('py3langid')}"
    return kept("languages", _NAMES, key, lambda: _unpacked(langid))


def _unpacked(langid: Any) -> dict[str, np.ndarray]:
    model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE)
    languages = [name != _NO_LANGUAGE for name in model.nb_classes]
    arrays = (
        np.array(model.nb_classes)[languages],
        np.asarray(model.tk_nextmove),
        np.asarray(model.tk_row),
        np.asarray(model.tk_output, dtype=np.int32),
        np.ascontiguousarray(np.asarray(model.nb_ptc)[:, languages], dtype=np.float32),
        np.asarray(model.nb_pc, dtype=np.float32)[languages],
    )
    return dict(zip(_NAMES, arrays, strict=True))


def _encoded(text: str) -> bytes:
    """Normalise as in the model's training: NFC, and lower case instead of all capitals."""
    text = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
    return text.encode("utf-8", errors="replace")


@dataclass(frozen=True)
class Identified:
    """Languages of one text.

    ``shares`` are the languages of the sample by ISO 639 code, each with its share of the text in
    (0, 1], largest first; codes that text of one language may get are counted as one.
    ``characters`` is the size of the sample. ``given`` is the BCP-47 code that the user gave, None
    if the text is to tell.
    """

    shares: tuple[tuple[str, float], ...]
    given: str | None = None
    characters: int = 0

    @property
    def seen(self) -> str | None:
        """ISO code of the language of most of the sample; None if there is none."""
        return self.shares[0][0] if self.shares and self.shares[0][1] >= ENOUGH else None

    @property
    def code(self) -> str | None:
        """ISO code of the language: the one given, else the one seen."""
        return primary(self.given) if self.given is not None else self.seen

    @property
    def sure(self) -> bool:
        """True if the code was given, or the sample is large enough to warn of its language."""
        return self.given is not None or self.characters >= SURE

    @property
    def contradicted(self) -> bool:
        """True if hardly anything of the sample is in the language given, and most in another."""
        if self.given is None or self.seen is None or self.characters < SURE:
            return False
        own = alike(self.given)
        return sum(share for code, share in self.shares if code in own) < NAMED

    def __str__(self) -> str:
        if self.given is not None:
            return f"{describe(self.given)} as given"
        named = [entry for entry in self.shares[:3] if entry[1] >= NAMED]
        found = " and ".join(f"{describe(code)} {share:.0%}" for code, share in named)
        return found if self.seen is not None else f"unknown ({found})" if found else "unknown"


def identify(texts: Sequence[str], given: str | None = None) -> Identified:
    """Identify the languages of sentences; the share of each is counted in characters.

    Sentences without letters do not count. Raises DependencyError without py3langid.
    """
    texts = [text for text in texts if any(map(str.isalpha, text[:_CHARACTERS]))]
    if not texts:
        return Identified((), given)
    model = identifier()
    best = model.scores(texts).argmax(axis=1).tolist()
    count: Counter[str] = Counter()
    for text, column in zip(texts, best, strict=True):
        count[model.codes[column]] += min(len(text), _CHARACTERS)
    merged: Counter[str] = Counter()
    for code, characters in count.items():
        # The most frequent code stands for those that are alike.
        merged[max(alike(code), key=lambda other: (count[other], other))] += characters
    total = count.total()
    order = sorted(merged, key=lambda code: (-merged[code], code))
    return Identified(tuple((code, merged[code] / total) for code in order), given, total)


def sample(count: int) -> np.ndarray:
    """Return the positions of the sentences to identify a corpus of ``count`` sentences by.

    ``(n,) int64``, ascending: the head of the corpus and an even spread over all of it.
    """
    if count <= HEAD + SPREAD:
        return np.arange(count)
    spread = np.linspace(0, count - 1, SPREAD).astype(np.int64)
    return np.union1d(np.arange(HEAD), spread)
