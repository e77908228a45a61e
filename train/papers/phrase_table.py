"""Phrase table of a bitext: word alignments by IBM Model 1 in both directions, and phrase pairs.

The classical pipeline of phrase-based translation (Koehn, Och and Marcu 2003), in memory: Model 1
(Brown et al. 1993), the best links with a pull to the diagonal (Dyer et al. 2013), grow-diag, and
phrase pairs that agree with the links. Suited to tens of thousands of pairs, in minutes.
"""

import heapq
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from miner.errors import CorpusError
from miner.kernels.model1 import learn
from miner.progress import Reporter, silent
from miner.ragged import offsets_of

Words = tuple[str, ...]
# Best translations of each phrase, best first: words of the target, log p(target | source) and log
# p(source | target).
PhraseTable = Mapping[Words, Sequence[tuple[Words, float, float]]]

TENSION = 4.0
LONGEST = 5  # words of a phrase
CHOICES = 12  # translations kept per phrase
# Maximum words of a sentence: alignments of longer ones are bad, and slow.
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
    # Both sides have separate numbers of words: German "die" is not English "die".
    left = _flat([s for s, _ in kept], numbers, "s ")
    right = _flat([t for _, t in kept], numbers, "t ")
    there = _Probabilities(*learn(left, right, len(numbers), 1)[:3])
    back = _Probabilities(*learn(right, left, len(numbers), 1)[:3])
    counts: Counter[tuple[Words, Words]] = Counter()
    for row, (s, t) in enumerate(kept):
        source_ids = left[0][left[1][row] : left[1][row + 1]]
        target_ids = right[0][right[1][row] : right[1][row + 1]]
        forward, backward = (
            best_links(source_ids, target_ids, there),
            best_links(target_ids, source_ids, back),
        )
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
        # Absolute discounting (Foster et al. 2006), because a pair seen once is not certain.
        seen = math.log(count - 0.5)
        grouped[s].append((t, seen - math.log(of_source[s]), seen - math.log(of_target[t])))
    return {
        s: sorted(choices, key=lambda one: (-one[1] - one[2], one[0]))[:CHOICES]
        for s, choices in grouped.items()
    }


# --- links of words, and phrases that agree with them -------------------------------------------


class _Probabilities:
    """Sparse table of translations, ascending for each of ``size`` words, to look pairs up in."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, probability: np.ndarray):
        self.size = len(rows) - 1
        self._keys = np.repeat(np.arange(self.size), np.diff(rows)) * self.size + columns
        self._values = probability

    def of(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return p(right | left) ``(n, m) float32``; 0 for unknown pairs."""
        keys = left[:, None].astype(np.int64) * self.size + right
        positions = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[positions] == keys, self._values[positions], np.float32(0))


def best_links(left: np.ndarray, right: np.ndarray, table: _Probabilities) -> np.ndarray:
    """Return the index of the word in ``left`` that each word in ``right`` aligns to; -1: none.

    It has the largest p(y | x) * exp(-TENSION * |i / n - j / m|), as in fast_align (Dyer et al.
    2013); a word without any probability is unaligned. ``left (n,)`` and ``right (m,)`` are word
    ids.
    """
    places = [(np.arange(len(side)) + 0.5) / len(side) for side in (left, right)]
    distance = np.abs(places[0][:, None] - places[1])
    value = table.of(left, right) * np.exp(-TENSION * distance)
    return np.where(value.max(axis=0) > 0, value.argmax(axis=0), -1)


def symmetrised(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    """Combine two alignments by grow-diag (Koehn et al. 2003): ``(height, width) bool``.

    ``forward (width,)`` has the links of the target's words, ``backward (height,)`` of the
    source's. Links in both are kept; then adjacent links in either one are added for words that are
    still unaligned.
    """
    there = {(i, j) for j, i in enumerate(forward.tolist()) if i >= 0}
    back = {(i, j) for i, j in enumerate(backward.tolist()) if j >= 0}
    links, more = there & back, there ^ back
    rows, columns = {i for i, _ in links}, {j for _, j in links}
    near = list(itertools.product((-1, 0, 1), repeat=2))
    grown = True
    while grown and more:
        grown = False
        # In the order of words, including links added during the loop.
        waiting = sorted(links)
        while waiting:
            i, j = heapq.heappop(waiting)
            for a, b in ((i + down, j + right) for down, right in near):
                if (a, b) in more and not (a in rows and b in columns):
                    more.remove((a, b))
                    links.add((a, b))
                    rows.add(a)
                    columns.add(b)
                    grown = True
                    if (a, b) > (i, j):
                        heapq.heappush(waiting, (a, b))
    matrix = np.zeros((len(backward), len(forward)), np.bool_)
    for link in links:
        matrix[link] = True
    return matrix


def phrase_spans(links: np.ndarray, longest: int) -> np.ndarray:
    """Return the phrase pairs consistent with an alignment: ``(m, 4) int64``, spans of both sides.

    A pair ``i1, i2, j1, j2`` (ends excluded) has a link inside and none from inside to outside (Och
    and Ney 2004). Neither side is longer than ``longest``; unaligned words at the edges of the
    target's span may join it.
    """
    height, width = links.shape
    of_row = [np.flatnonzero(row).tolist() for row in links]
    of_column = [np.flatnonzero(column).tolist() for column in links.T]
    spans: list[tuple[int, int, int, int]] = []
    for i1 in range(height):
        low, high = width, -1
        for i2 in range(i1 + 1, min(height, i1 + longest) + 1):
            linked_columns = of_row[i2 - 1]
            if linked_columns:
                low, high = min(low, linked_columns[0]), max(high, linked_columns[-1])
            if high < 0 or high - low >= longest:
                continue
            linked = [rows for rows in of_column[low : high + 1] if rows]
            if any(rows[0] < i1 or rows[-1] >= i2 for rows in linked):
                continue
            first, last = low, high + 1
            while first > 0 and not of_column[first - 1]:
                first -= 1
            while last < width and not of_column[last]:
                last += 1
            for start in range(low, first - 1, -1):
                ends = range(high + 1, min(last, start + longest) + 1)
                spans += [(i1, i2, start, end) for end in ends]
    return np.array(spans, dtype=np.int64).reshape(-1, 4)
