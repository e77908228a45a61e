"""Phrase table of a bitext: word alignments by IBM Model 1 in both directions, and phrase pairs.

The classical pipeline of phrase-based translation (Koehn, Och and Marcu 2003), in memory: Model 1
(Brown et al. 1993), the best links with a pull to the diagonal (Dyer et al. 2013), grow-diag, and
phrase pairs that agree with the links. Made for tens of thousands of pairs, in minutes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.kernels.model1 import learn
from miner.papers.word_alignment import best_links, phrase_spans, symmetrised
from miner.progress import Reporter, silent
from miner.ragged import offsets_of

Words = tuple[str, ...]

TENSION = 4.0
LONGEST = 5  # words of a phrase
CHOICES = 12  # translations that are kept of a phrase
# Sentences of more words are left out: their alignments are bad, and slow.
LONGEST_SENTENCE = 60


@dataclass(frozen=True)
class PhraseTable:
    """Translations of phrases: words of the target, log p(target | source), log p(source | target).

    The best ``CHOICES`` of each phrase stand first.
    """

    choices: Mapping[Words, Sequence[tuple[Words, float, float]]]

    @property
    def size(self) -> int:
        """Number of phrase pairs."""
        return sum(map(len, self.choices.values()))


def learn_phrases(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    report: Reporter = silent,
    least: int = 1,
) -> PhraseTable:
    """Learn a phrase table of aligned sentences, lists of words each.

    Phrase pairs of several words that were seen fewer than ``least`` times are left out. Raises
    CorpusError where no pair is short enough.
    """
    kept = [
        (s, t)
        for s, t in zip(source, target, strict=True)
        if 0 < len(s) <= LONGEST_SENTENCE and 0 < len(t) <= LONGEST_SENTENCE
    ]
    if not kept:
        raise CorpusError("no sentence pair to learn phrases from")
    numbers: dict[str, int] = {}
    # Both sides number words apart: "die" is not "die".
    left = _flat([s for s, _ in kept], numbers, "s ")
    right = _flat([t for _, t in kept], numbers, "t ")
    there = learn(left, right, len(numbers), 1)[:3]
    back = learn(right, left, len(numbers), 1)[:3]
    counts: Counter[tuple[Words, Words]] = Counter()
    for row, (s, t) in enumerate(kept):
        own = left[0][left[1][row] : left[1][row + 1]]
        other = right[0][right[1][row] : right[1][row + 1]]
        forward, backward = np.empty(len(other), np.int64), np.empty(len(own), np.int64)
        best_links(own, other, *there, TENSION, forward)
        best_links(other, own, *back, TENSION, backward)
        for i1, i2, j1, j2 in phrase_spans(symmetrised(forward, backward), LONGEST).tolist():
            counts[tuple(s[i1:i2]), tuple(t[j1:j2])] += 1
        if row % 1000 == 0:
            report("aligning words", row, len(kept))
    return _table(counts, least)


def _flat(
    sentences: Sequence[Sequence[str]], numbers: dict[str, int], side: str
) -> tuple[np.ndarray, np.ndarray]:
    ids = [numbers.setdefault(side + word, len(numbers)) for words in sentences for word in words]
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    return np.array(ids, dtype=np.int32), offsets_of(lengths)


def _table(counts: Counter[tuple[Words, Words]], least: int) -> PhraseTable:
    of_source: Counter[Words] = Counter()
    of_target: Counter[Words] = Counter()
    for (s, t), count in counts.items():
        of_source[s] += count
        of_target[t] += count
    grouped: defaultdict[Words, list[tuple[Words, float, float]]] = defaultdict(list)
    for (s, t), count in counts.items():
        # Absolute discounting (Foster et al. 2006): a pair that was seen once is no certainty.
        if count >= least or len(s) == 1:
            discounted = math.log(count - 0.5)
            grouped[s].append(
                (t, discounted - math.log(of_source[s]), discounted - math.log(of_target[t]))
            )
    return PhraseTable(
        {
            s: sorted(choices, key=lambda one: (-one[1] - one[2], one[0]))[:CHOICES]
            for s, choices in grouped.items()
        }
    )
