"""Alignments against a gold standard: strict and lax precision, recall and F1.

The definitions are vecalign's (Thompson and Koehn 2019). A bead is strictly right if the gold has
it, and laxly right if it overlaps with a gold bead on both sides. Precision counts unaligned
sentences as beads; recall, which is the precision of the gold against the alignment, does not.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

Bead = tuple[tuple[int, ...], tuple[int, ...]]
WAYS = ("strict", "lax")


def evaluate(documents: Sequence[tuple[Sequence[Bead], Sequence[Bead]]]) -> dict[str, Any]:
    """Score alignments with their gold, all documents together; the result is JSON.

    It has ``precision``, ``recall`` and ``f1`` for each of `WAYS`, 0 for 0 / 0, and ``by kind``:
    numbers of gold beads, recovered and in total, by their sizes.
    """
    counts: Counter[str] = Counter()
    kinds: Counter[tuple[int, int]] = Counter()
    right: Counter[tuple[int, int]] = Counter()
    for beads, gold in documents:
        paired = [[bead for bead in alignment if all(bead)] for alignment in (beads, gold)]
        counts.update({f"precision {key}": n for key, n in _count(beads, gold).items()})
        counts.update({f"recall {key}": n for key, n in _count(paired[1], paired[0]).items()})
        known = set(beads)
        for bead in gold:
            kind = len(bead[0]), len(bead[1])
            kinds[kind] += 1
            right[kind] += bead in known
    record: dict[str, Any] = {}
    for way in WAYS:
        precision, recall = (
            counts[f"{metric} {way}"] / max(1, counts[f"{metric} all"])
            for metric in ("precision", "recall")
        )
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        record[way] = {"precision": precision, "recall": recall, "f1": f1}
    record["by kind"] = {f"{a}-{b}": (right[a, b], kinds[a, b]) for a, b in sorted(kinds)}
    return record


def _count(beads: Sequence[Bead], gold: Sequence[Bead]) -> dict[str, int]:
    """Count the beads that are right by the gold, and all beads."""
    known = set(gold)
    targets: dict[int, set[int]] = {}
    for source, target in known:
        for sentence in source:
            targets.setdefault(sentence, set()).update(target)
    every = {bead for bead in beads if any(bead)}
    strict = sum(bead in known for bead in every)
    lax = sum(
        bead in known or any(targets.get(number, set()).intersection(bead[1]) for number in bead[0])
        for bead in every
    )
    return {"strict": strict, "lax": lax, "all": len(every)}
