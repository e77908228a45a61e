"""Alignments against a gold standard: strict and lax precision, recall and F1.

The definitions are vecalign's (Thompson and Koehn 2019). A bead is right strictly if the gold has
it, and laxly if it overlaps with a gold bead on both sides. Precision counts left-out sentences as
beads; recall, which is the precision of the gold against the alignment, leaves them out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Bead = tuple[tuple[int, ...], tuple[int, ...]]
WAYS = ("strict", "lax")


@dataclass(frozen=True)
class Agreement:
    """Precision, recall and F1, 0 to 1; 0 where there is nothing to divide by."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True)
class AlignmentScores:
    """Scores of alignments; ``by_kind`` has, by sizes of gold beads, those found and all."""

    strict: Agreement
    lax: Agreement
    by_kind: dict[tuple[int, int], tuple[int, int]]

    def as_dict(self) -> dict[str, Any]:
        """Return all scores, ready for JSON."""
        record: dict[str, Any] = {
            way: {"precision": own.precision, "recall": own.recall, "f1": own.f1}
            for way, own in zip(WAYS, (self.strict, self.lax), strict=True)
        }
        record["by kind"] = {f"{a}-{b}": found for (a, b), found in self.by_kind.items()}
        return record


def evaluate(documents: Sequence[tuple[Sequence[Bead], Sequence[Bead]]]) -> AlignmentScores:
    """Score alignments, each with its gold, all documents together."""
    found: Counter[str] = Counter()
    kinds: Counter[tuple[int, int]] = Counter()
    right: Counter[tuple[int, int]] = Counter()
    for beads, gold in documents:
        paired = [[bead for bead in own if all(bead)] for own in (beads, gold)]
        found.update({f"precision {key}": n for key, n in _count(beads, gold).items()})
        found.update({f"recall {key}": n for key, n in _count(paired[1], paired[0]).items()})
        known = set(beads)
        for bead in gold:
            kind = len(bead[0]), len(bead[1])
            kinds[kind] += 1
            right[kind] += bead in known

    def share(metric: str, way: str) -> float:
        return found[f"{metric} {way}"] / max(1, found[f"{metric} all"])

    strict, lax = (Agreement(*(share(m, way) for m in ("precision", "recall"))) for way in WAYS)
    return AlignmentScores(
        strict, lax, {kind: (right[kind], kinds[kind]) for kind in sorted(kinds)}
    )


def _count(beads: Sequence[Bead], gold: Sequence[Bead]) -> dict[str, int]:
    """Count the beads that are right by the gold, and all."""
    known = set(gold)
    targets: dict[int, set[int]] = {}
    for source, target in known:
        for sentence in source:
            targets.setdefault(sentence, set()).update(target)
    every = {bead for bead in beads if any(bead)}
    strict = sum(bead in known for bead in every)
    lax = sum(
        bead in known or any(targets.get(one, set()).intersection(bead[1]) for one in bead[0])
        for bead in every
    )
    return {"strict": strict, "lax": lax, "all": len(every)}
