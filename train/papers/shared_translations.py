"""Paraphrases by pivot: sentences that share translations (Bannard and Callison-Burch 2005).

The measures come from PPDB and Opusparcus (Creutz 2018): the conditional probability of one
sentence given another, through their common translations, and pointwise mutual information.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from miner.text.words import plain_form

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
    for own in by_source.values():
        if not 1 < len(own) <= MOST:
            continue
        seen = sum(own.values())
        names = sorted(own)
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                joint[one, other] += own[one] * own[other] / seen / total
                pivots[one, other] += 1
    found = []
    for (one, other), p in joint.items():
        if pivots[one, other] < least:
            continue
        first, second = of_target[one] / total, of_target[other] / total
        pmi = math.log(p / (first * second))
        found.append(
            PivotPair(shown[one], shown[other], pmi, p / first, p / second, pivots[one, other])
        )
    yield from sorted(found, key=lambda pair: (-pair.pmi * pair.pivots, pair.first, pair.second))
