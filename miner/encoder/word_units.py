"""Tokenizer of words, or of the morphs of words by Morfessor Baseline (S18)."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from miner.encoder.normaliser import Normaliser
from miner.encoder.unit_lists import code_points, keep_ids, vocabulary_lines
from miner.errors import ArtifactError
from miner.libraries import library
from miner.ragged import offsets_of

# A word: a run of letters, digits and underscores, or any other character except a space.
WORD = re.compile(r"\w+|[^\w\s]")
# Maximum letters of a word that is cut into morphs; longer words take long, and are noise.
LONGEST_WORD = 200


class WordTokenizer:
    """Words of a vocabulary, or their morphs if a ``segmentation`` is given.

    ``vocabulary`` has one word or morph a line; ``segmentation`` has the words that Morfessor
    learned from, segmented, in Morfessor's format.
    """

    def __init__(
        self,
        vocabulary: bytes,
        fold_case: bool,
        segmentation: bytes | None = None,
        name: str = "words.txt",
    ):
        types = vocabulary_lines(vocabulary, name)
        self.size = len(types)
        self.meaningful = np.ones(self.size, dtype=bool)
        self.normalise = Normaliser.by_rule(fold_case)
        self._id_of = {text: i for i, text in enumerate(types)}
        self._cut = None if segmentation is None else morphs(segmentation)
        self._table = None if self._cut else _WordTable(types)

    def __call__(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        texts = self.normalise(sentences)
        if self._table:
            ids, offsets = self._table(texts)
        else:
            lists = [[i for word in WORD.findall(text) for i in self._ids(word)] for text in texts]
            offsets = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
            ids = np.fromiter(chain.from_iterable(lists), np.int32, offsets[-1])
        return keep_ids(ids, offsets, ids >= 0)

    def _ids(self, word: str) -> list[int]:
        """Return the token ids of a word's parts, -1 for an unknown part."""
        parts = self._cut(word) if self._cut else (word,)
        return [self._id_of.get(part, -1) for part in parts]

    def surfaces(self, sentence: str) -> tuple[list[str], np.ndarray]:
        """Return the units of a sentence as text, each with the space before it, and their ids.

        Unknown units have the id -1.
        """
        text = self.normalise([sentence])[0]
        texts: list[str] = []
        ids: list[int] = []
        end = 0
        for match in WORD.finditer(text):
            parts = list(self._cut(match[0]) if self._cut else (match[0],))
            ids += self._ids(match[0])
            parts[0] = text[end : match.start()] + parts[0]
            texts += parts
            end = match.end()
        return texts, np.array(ids, dtype=np.int32)


class _WordTable:
    """Hash table from words to token ids, for a compiled loop."""

    def __init__(self, types: Sequence[str]):
        from miner.kernels.units import fingerprints, table

        self.vocabulary, self.starts = code_points(types)
        keys = np.empty(len(types), dtype=np.uint64)
        fingerprints(self.vocabulary, self.starts, keys)
        self.slots, self.places = table(keys)

    def __call__(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        from miner.kernels.units import words

        codes, offsets = code_points(texts)
        ids, lengths = np.empty(len(codes), np.int32), np.empty(len(texts), np.int64)
        count = words(
            codes,
            offsets,
            character_kinds(),
            self.slots,
            self.places,
            self.vocabulary,
            self.starts,
            ids,
            lengths,
        )
        return ids[:count], offsets_of(lengths)


@lru_cache(1)
def character_kinds() -> np.ndarray:
    r"""Return the kind of every code point, ``(0x110000,) uint8``: 2 for ``\w``, 0 for ``\s``,
    else 1.
    """
    kinds = np.ones(0x110000, dtype=np.uint8)
    everything = "".join(map(chr, range(len(kinds))))
    for kind, pattern in ((2, r"\w+"), (0, r"\s+")):
        for match in re.finditer(pattern, everything):
            kinds[match.start() : match.end()] = kind
    return kinds


def morphs(segmentation: bytes) -> Callable[[str], Sequence[str]]:
    """Return a function from a word to its morphs, by a Morfessor Baseline model.

    ``segmentation`` is UTF-8, with a line for each word that the model learned from: its count, a
    space, and its morphs joined by ``" + "``. Raises ArtifactError for other content, and
    DependencyError if Morfessor is missing.
    """
    model = morfessor().BaselineModel()
    words = []
    for number, line in enumerate(vocabulary_lines(segmentation, "morphs.txt"), 1):
        count, _, text = line.partition(" ")
        parts = text.split(" + ")
        if not count.isdecimal() or int(count) < 1 or not all(parts):
            raise ArtifactError(
                f"morphs.txt, line {number}: not a count and morphs; copy or train the model again"
            )
        words.append((int(count), "".join(parts), parts))
    model.load_segmentations(words)

    @lru_cache(1 << 20)
    def cut(word: str) -> Sequence[str]:
        if len(word) > LONGEST_WORD:
            return (word,)
        # Without smoothing, a new word consists of known morphs and single letters.
        return tuple(model.viterbi_segment(word, addcount=0)[0])

    return cut


def morfessor() -> Any:
    """Import Morfessor. Raises :class:`~miner.errors.DependencyError` if it is missing."""
    return library("morfessor", "cutting words into morphs", "morfessor")
