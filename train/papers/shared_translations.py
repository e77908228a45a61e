"""Paraphrases by pivot: sentences that share translations, and their estimated cleanliness.

The measures come from PPDB and Opusparcus (Bannard and Callison-Burch 2005; Creutz 2018): the
conditional probability of one sentence given another, through their common translations, and
pointwise mutual information.

S18 estimates cleanliness from annotations. Here the cosines of pairs are modelled as a mixture of
right pairs and of pairs that match like shuffled ones (:mod:`miner.precision.mixture`), which gives
each pair a probability.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.precision.mixture import Histogram, Law
from miner.scoring.quality import cosines
from miner.text.words import plain_form

# Expected slope of log-odds over cosines, per standard deviation of decoys' cosines; and law that
# models all decoys except the lowest tenth, because shuffled pairs have the same sentences.
SLOPE, LAW = 3.0, Law(0.1, (0.05, 0.2))
# Minimum number of pairs to fit a mixture.
FEWEST = 200


def probabilities(pairs: Sequence[tuple[str, str]], encoder: SentenceEncoder) -> np.ndarray:
    """Return each pair's probability of being right, ``(n,) float64``; their mean is the
    cleanliness.

    A pair counts as wrong if its cosine looks like that of two random sentences. Pairs that share a
    topic, or differ in one word, look right. Raises CorpusError for fewer than `FEWEST`.
    """
    if len(pairs) < FEWEST:
        raise CorpusError(
            f"{len(pairs)} pairs are too few to estimate cleanliness, which needs {FEWEST}"
        )
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    row = {text: number for number, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    first, second = (np.array([row[pair[side]] for pair in pairs]) for side in (0, 1))
    other = np.random.default_rng(1).permutation(second)
    known = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
    shuffled = zip(first.tolist(), other.tolist(), strict=True)
    new = np.array([left != right and {left, right} not in known for left, right in shuffled])
    if np.count_nonzero(new) < FEWEST // 2:
        raise CorpusError("shuffled pairs are mostly pairs again; give more different sentences")
    cosine = cosines(vectors[first], vectors[second]).astype(np.float64)
    decoy = cosines(vectors[first[new]], vectors[other[new]]).astype(np.float64)
    center, spread = float(decoy.mean()), max(float(decoy.std()), 1e-9)
    cosine, decoy = (cosine - center) / spread, (decoy - center) / spread
    return Histogram(cosine, decoy, np.ones(len(decoy)), SLOPE, LAW).fit().probability(cosine)


# Maximum translations of a sentence: "Yes." would connect everything.
MOST = 200


@dataclass(frozen=True)
class PivotPair:
    """Two sentences with common translations.

    pmi: log of p(first, second) / (p(first) p(second)), in nats. forward, backward: p(second |
    first) and p(first | second). pivots: number of common translations.
    """

    first: str
    second: str
    pmi: float
    forward: float
    backward: float
    pivots: int


def pivot_pairs(rows: Iterable[tuple[str, str]], least: int = 1) -> Iterator[PivotPair]:
    """Find pairs of target sentences with at least ``least`` common sources, best first.

    ``rows`` are sources with their targets, each counted once. Sentences that differ only in case
    and final punctuation are merged, and shown in their first form. p(e2 | e1) is the sum of p(e2 |
    f) p(f | e1) over sources f, and p(e1, e2) the sum of p(f) p(e1 | f) p(e2 | f). The order is by
    pmi times the number of pivots, then by text.
    """
    counts: Counter[tuple[str, str]] = Counter()
    shown: dict[str, str] = {}
    for source, target in rows:
        key = plain_form(target)
        if key and source.strip():
            shown.setdefault(key, target.strip())
            counts[plain_form(source) or source.strip(), key] += 1
    by_source: defaultdict[str, dict[str, int]] = defaultdict(dict)
    of_target: Counter[str] = Counter()
    for (source, target), count in counts.items():
        by_source[source][target] = count
        of_target[target] += count
    total = sum(of_target.values())
    joint: defaultdict[tuple[str, str], float] = defaultdict(float)
    pivots: Counter[tuple[str, str]] = Counter()
    for counts_of in by_source.values():
        if not 1 < len(counts_of) <= MOST:
            continue
        seen = sum(counts_of.values())
        names = sorted(counts_of)
        for i, left in enumerate(names):
            for right in names[i + 1 :]:
                joint[left, right] += counts_of[left] * counts_of[right] / seen / total
                pivots[left, right] += 1
    ranked = []
    for (left, right), p in joint.items():
        if pivots[left, right] < least:
            continue
        first, second = of_target[left] / total, of_target[right] / total
        pmi = math.log(p / (first * second))
        ranked.append(
            PivotPair(shown[left], shown[right], pmi, p / first, p / second, pivots[left, right])
        )
    yield from sorted(ranked, key=lambda pair: (-pair.pmi * pair.pivots, pair.first, pair.second))
