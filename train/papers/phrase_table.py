"""Phrase table of a bitext: word alignments by IBM Model 1 in both directions, and phrase pairs.

The classical pipeline of phrase-based translation (Koehn, Och and Marcu 2003), in memory: Model 1
(Brown et al. 1993), the best links with a pull to the diagonal (Dyer et al. 2013), grow-diag, and
phrase pairs that agree with the links. Made for tens of thousands of pairs, in minutes.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numba
import numpy as np

from miner.errors import CorpusError
from miner.kernels.model1 import learn
from miner.progress import Reporter, silent
from miner.ragged import offsets_of

Words = tuple[str, ...]
# The best translations of each phrase, the best first: words of the target, log p(target | source)
# and log p(source | target).
PhraseTable = Mapping[Words, Sequence[tuple[Words, float, float]]]

TENSION = 4.0
LONGEST = 5  # words of a phrase
CHOICES = 12  # translations that are kept of a phrase
# Sentences of more words are left out: their alignments are bad, and slow.
LONGEST_SENTENCE = 60


def learn_phrases(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    report: Reporter = silent,
) -> PhraseTable:
    """Learn a phrase table of aligned sentences, lists of words each.

    Raises CorpusError where no pair is short enough.
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
    return _table(counts)


def _flat(
    sentences: Sequence[Sequence[str]], numbers: dict[str, int], side: str
) -> tuple[np.ndarray, np.ndarray]:
    ids = [numbers.setdefault(side + word, len(numbers)) for words in sentences for word in words]
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    return np.array(ids, dtype=np.int32), offsets_of(lengths)


def _table(counts: Counter[tuple[Words, Words]]) -> PhraseTable:
    of_source: Counter[Words] = Counter()
    of_target: Counter[Words] = Counter()
    for (s, t), count in counts.items():
        of_source[s] += count
        of_target[t] += count
    grouped: defaultdict[Words, list[tuple[Words, float, float]]] = defaultdict(list)
    for (s, t), count in counts.items():
        # Absolute discounting (Foster et al. 2006): a pair that was seen once is no certainty.
        seen = math.log(count - 0.5)
        grouped[s].append((t, seen - math.log(of_source[s]), seen - math.log(of_target[t])))
    return {
        s: sorted(choices, key=lambda one: (-one[1] - one[2], one[0]))[:CHOICES]
        for s, choices in grouped.items()
    }


# --- links of words, and phrases that agree with them -------------------------------------------
# Translation probabilities are sparse: ``columns[rows[x]:rows[x + 1]]``, ascending, are the
# translations of word ``x``, with the same slice of ``probability``.


@numba.njit(cache=True)
def _probability(x, y, rows, columns, probability):
    place = rows[x] + np.searchsorted(columns[rows[x] : rows[x + 1]], y)
    known = place < rows[x + 1] and columns[place] == y
    return probability[place] if known else np.float32(0.0)


@numba.njit(cache=True)
def best_links(left, right, rows, columns, probability, tension, out):
    """Write the index of the word of ``left`` that each word of ``right`` aligns to; -1: none.

    The best has the largest p(y | x) * exp(-tension * |i / n - j / m|), as in fast_align (Dyer et
    al. 2013); a word without any probability aligns to none. ``left (n,)`` and ``right (m,)`` are
    word ids, ``out (m,) int64``.
    """
    for j in range(len(right)):
        best, out[j] = 0.0, -1
        for i in range(len(left)):
            p = _probability(left[i], right[j], rows, columns, probability)
            if p > 0:
                p *= np.exp(-tension * abs((i + 0.5) / len(left) - (j + 0.5) / len(right)))
                if p > best:
                    best, out[j] = p, i


@numba.njit(cache=True)
def symmetrised(forward, backward):
    """Combine two alignments by grow-diag (Koehn et al. 2003): ``(height, width) bool``.

    ``forward (width,)`` has the links of the target's words, ``backward (height,)`` of the
    source's. Links of both are kept; then neighbours that one of them has, for words that have none
    yet.
    """
    height, width = len(backward), len(forward)
    union, links = np.zeros((height, width), np.bool_), np.zeros((height, width), np.bool_)
    for j in range(width):
        if forward[j] >= 0:
            union[forward[j], j] = True
    for i in range(height):
        if backward[i] >= 0:
            links[i, backward[i]] = union[i, backward[i]]
            union[i, backward[i]] = True
    rows, columns = np.zeros(height, np.bool_), np.zeros(width, np.bool_)
    for i in range(height):
        for j in range(width):
            if links[i, j]:
                rows[i] = columns[j] = True
    grown = True
    while grown:
        grown = False
        for i in range(height):
            for j in range(width):
                if not links[i, j]:
                    continue
                for a in range(max(0, i - 1), min(height, i + 2)):
                    for b in range(max(0, j - 1), min(width, j + 2)):
                        if union[a, b] and not links[a, b] and not (rows[a] and columns[b]):
                            links[a, b] = rows[a] = columns[b] = grown = True
    return links


@numba.njit(cache=True)
def phrase_spans(links, longest):
    """List the phrase pairs that agree with an alignment: ``(m, 4) int64``, spans of both sides.

    A pair ``i1, i2, j1, j2`` (ends excluded) has a link inside and none from inside to outside (Och
    and Ney 2004). Neither side is longer than ``longest``; unaligned words at the edges of the
    target's span may join it.
    """
    height, width = links.shape
    found = np.empty((16, 4), np.int64)
    count = 0
    for i1 in range(height):
        low, high = width, -1
        for i2 in range(i1 + 1, min(height, i1 + longest) + 1):
            for j in range(width):
                if links[i2 - 1, j]:
                    low, high = min(low, j), max(high, j)
            if high < 0 or high - low >= longest:
                continue
            good = True
            for j in range(low, high + 1):
                for i in range(height):
                    if links[i, j] and not i1 <= i < i2:
                        good = False
            if not good:
                continue
            start = low
            while True:
                end = high
                while True:
                    if end - start < longest:
                        if count == len(found):
                            found = np.concatenate((found, np.empty_like(found)))
                        found[count, 0], found[count, 1] = i1, i2
                        found[count, 2], found[count, 3] = start, end + 1
                        count += 1
                    end += 1
                    if end >= width or links[:, end].any():
                        break
                start -= 1
                if start < 0 or links[:, start].any():
                    break
    return found[:count]
