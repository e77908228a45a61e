"""Which pairs of a bitext to train on, and what its further columns say of them."""

import unicodedata
from collections.abc import Sequence, Set

import numpy as np

from miner.errors import CorpusError, strictly
from miner.text.bitext_format import file_format
from miner.text.corpus import Reader
from miner.text.lines import display_name


def labels(column: Sequence[str], origin: str, lines: np.ndarray) -> np.ndarray:
    """A column that says which pairs are translations or paraphrases (S18): ``(n,) bool``.

    1 is a pair and 0 is none, and nothing else will do: a score is not a label before somebody
    chooses a threshold.
    """
    values = {"1": True, "0": False, "1.0": True, "0.0": False}
    out = np.empty(len(column), dtype=bool)
    for i, text in enumerate(column):
        found = values.get(text.strip())
        if found is None:
            raise CorpusError(
                f"{display_name(origin)}, line {lines[i]}: the label {text!r} is neither 1 nor 0; "
                "mend the line or choose another column"
            )
        out[i] = found
    return out


def cut(count: int, share: float, scores: np.ndarray | None = None) -> np.ndarray:
    """Rows of the best ``share`` of ``count`` pairs, ascending: ``(m,) int64``.

    The best have the highest ``scores (n,)``, and of equal ones the first; without scores the text
    is taken to be ranked already, as that of S18 is, and the first are the best. At least one row
    is kept of any.
    """
    keep = min(count, max(1, round(count * share)))
    if scores is None:
        return np.arange(keep)
    return np.sort(np.argsort(-scores, kind="stable")[:keep])


def draw(count: int, sample: int, seed: int) -> np.ndarray:
    """``sample`` rows of ``count`` by chance, ascending: ``(m,) int64``.

    All rows where there are no more, or where ``sample`` is 0.
    """
    if sample == 0 or sample >= count:
        return np.arange(count)
    generator = np.random.default_rng([seed, 7])
    return np.sort(generator.choice(count, size=sample, replace=False))


def folded(sentence: str) -> str:
    """What spellings of a sentence share: its letters, with their marks, and digits, in lower case.

    Also shared with what differs in symbols alone, such as C and C++.
    """
    text = unicodedata.normalize("NFKC", sentence).casefold()
    return "".join(filter(_counts, text))


def _counts(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character).startswith("M")


def read_excluded(path: str) -> set[str]:
    """The sentences of a file, such as a test set, by what is :func:`folded` of each.

    Of lines, plain or with tabs between columns, every column counts, but for numbers, which may be
    scores. Raises CorpusError for a file that cannot be read or that has no sentence.
    """
    lines = file_format(path) in ("plain", "tsv")
    with strictly():
        found = {
            folded(field)
            for block in Reader(path, format="plain" if lines else None)
            for sentence in block.sentences
            for field in (sentence.split("\t") if lines else (sentence,))
        }
    found = {text for text in found if text and not text.isdigit()}
    if not found:
        raise CorpusError(f"{display_name(path)}: no sentence to exclude")
    return found


def seen(sides: Sequence[Sequence[str]], excluded: Set[str]) -> np.ndarray:
    """Which pairs have a side that is excluded, whatever its case and punctuation: ``(n,) bool``.

    ``sides`` are both columns, ``n`` sentences each.
    """
    found = np.zeros(len(sides[0]), dtype=bool)
    if excluded:
        for side in sides:
            found |= np.fromiter((folded(text) in excluded for text in side), bool, len(side))
    return found
