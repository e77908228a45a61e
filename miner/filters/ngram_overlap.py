"""Filters on the words that the two sides share: n-gram overlap, and BLEU of one side against the
other.

In paraphrases, a high overlap means that little was paraphrased, and no overlap that the meaning
differs. Wieting et al. 2017 (section 5.7) keep overlaps from 0 to 0.3 up to 0.6 to 1. In two
languages a high overlap means untranslated text. Case is ignored.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from miner.filters.filter_types import Batch, Context, Scorer, scores_by

# Orders of n-grams in BLEU.
ORDERS = 4


def shared(one: Sequence[str], other: Sequence[str], orders: int) -> list[int]:
    """Count the n-grams that two sentences share, for each n from 1 to ``orders``.

    A repeated n-gram counts as often as both sentences have it.
    """
    numbers: dict[str, int] = {}
    # An n-gram is a number, computed from the numbers of its first n - 1 tokens and of its last
    # token. Sets of numbers are twice as fast as sets of tuples.
    left, right = tails = [
        [numbers.setdefault(token, len(numbers)) for token in side] for side in (one, other)
    ]
    counts = []
    for n in range(1, orders + 1):
        if n > 1:
            left, right = (
                [start * len(numbers) + token for start, token in zip(side, last, strict=False)]
                for side, last in ((left, tails[0][n - 1 :]), (right, tails[1][n - 1 :]))
            )
        kinds = set(left), set(right)
        common = kinds[0] & kinds[1]
        # If a side has no repeats, each n-gram counts once: most sentences need no Counter.
        once = len(kinds[0]) == len(left) or len(kinds[1]) == len(right)
        if once:
            counts.append(len(common))
        else:
            ours, theirs = Counter(left), Counter(right)
            counts.append(sum(min(ours[x], theirs[x]) for x in common))
        if not common:  # then no longer n-gram is shared either
            break
    return counts + [0] * (orders - len(counts))


def overlap(source: Sequence[str], target: Sequence[str], n: int, clipped: bool = False) -> float:
    """Share of the shorter side's n-grams that the longer side has, 0 to 1 (P17, section 5.7).

    Each occurrence in the shorter side counts if the n-gram is in the longer one at all, as in the
    released code of the paper; of equally long sides the source is the shorter. ``clipped`` is the
    other reading of the paper: an n-gram counts as often as both sides have it. They differ if a
    side repeats itself. 0 if a side has fewer than ``n`` tokens.
    """
    possible = min(len(source), len(target)) - n + 1
    if possible <= 0:
        return 0.0
    if clipped:
        return shared(source, target, n)[-1] / possible
    short, long = (target, source) if len(target) < len(source) else (source, target)
    if n == 1:
        known: Set[object] = set(long)
        return sum(token in known for token in short) / possible
    known = set(_ngrams(long, n))
    return sum(gram in known for gram in _ngrams(short, n)) / possible


def _ngrams(side: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    return zip(*(side[start:] for start in range(n)), strict=False)


def sentence_bleu(candidate: Sequence[str], reference: Sequence[str]) -> float:
    """BLEU of one sentence by Nakov et al. 2012 (section 4), 0 to 1.

    The geometric mean of (m + 1) / (t + 1) over n-grams of 1 to 4 tokens, where m of the t in the
    candidate are in the reference, times the brevity penalty min(1, exp(1 - (r + 1) / c)) of
    lengths c and r. With the reference's length smoothed too, a sentence by itself has exp(-1 / c)
    and not 1. The shorter the sentences, the more of the score is smoothing. 0 if a side is empty.
    """
    if not candidate or not reference:
        return 0.0
    product = 1.0
    for n, matched in enumerate(shared(candidate, reference, ORDERS)):
        product *= (matched + 1) / (max(0, len(candidate) - n) + 1)
    penalty = min(1.0, math.exp(1 - (len(reference) + 1) / len(candidate)))
    return penalty * product ** (1 / ORDERS)


def _overlap(settings: Mapping[str, Any], context: Context) -> Scorer:
    n, clipped = settings["n"], settings["count"] == "clipped"

    return lambda batch: scores_by(partial(overlap, n=n, clipped=clipped), *batch.tokens)


def _bleu(settings: Mapping[str, Any], context: Context) -> Scorer:
    def score(batch: Batch) -> np.ndarray:
        source, target = batch.tokens
        if settings["reference"] == "target":
            return scores_by(sentence_bleu, source, target)
        return scores_by(sentence_bleu, target, source)

    return score


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "ngram_overlap": {"build": _overlap},
    "bleu": {"build": _bleu},
}
