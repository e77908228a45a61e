"""Synthetic documents with known alignments, from bitext in running order.

Sentences are split, joined and omitted, boundaries move, and foreign text is inserted, sentence by
sentence or in blocks. The alignment follows from these changes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miner.alignment.beads import MOST

# Probabilities of changes to a bead of one sentence each: one side is split; both are, at different
# positions; one side is joined to the next bead; one side is omitted.
SPLIT, SHIFT, JOIN, OMIT = 0.12, 0.015, 0.12, 0.03
# Sentences shorter than this are not split.
SHORTEST = 30
BOUNDARY = re.compile(r"(?<=[,;:.!?)»”–—])\s+")
BLOCK = 12
# Shares of the words of a pair that are omitted.
LOOSE = (0.0, 0.1, 0.2, 0.3)

Texts = list[str]


@dataclass(frozen=True)
class AlignedDocuments:
    """Two documents, and the sizes of the beads that align them: ``(k, 2) int64``."""

    source: Texts
    target: Texts
    beads: np.ndarray


def make_documents(
    pairs: Sequence[tuple[str, str]],
    foreign: Sequence[tuple[str, str]],
    noise: float,
    generator: np.random.Generator,
    *,
    blocks: bool = False,
    changed: bool = True,
) -> AlignedDocuments:
    """Make two documents of ``pairs``, which are consecutive lines of a text.

    ``noise``: inserted sentences of ``foreign`` text per document, as a share of its length;
    ``blocks`` inserts several at a position. ``changed``: split, join and omit sentences.
    """
    beads: list[tuple[Texts, Texts]] = []
    for source, target in pairs:
        bead = [source], [target]
        chance = generator.random(3) if changed else np.ones(3)
        sides = generator.integers(2, size=3)
        if chance[0] < SPLIT:
            bead[sides[0]][:] = _split(bead[sides[0]][0], generator)
        elif chance[0] < SPLIT + SHIFT:
            bead = _split(source, generator), _split(target, generator)
        last = beads[-1] if beads else ([], [])
        size = sum(map(len, (*bead, *last)))
        if chance[1] < JOIN and last[0] and last[1] and size <= MOST + 1:
            # The last sentence of one side and the first of this bead are joined.
            side = sides[1]
            last[side][-1] = f"{last[side][-1]} {bead[side].pop(0)}"
            for own, more in zip(last, bead, strict=True):
                own += more
        elif chance[2] < OMIT:
            bead[sides[2]].clear()
            beads += _singles(bead)
        else:
            beads.append(bead)
    size = BLOCK if blocks else 1
    for side in (0, 1):
        for _ in range(round(noise * len(pairs) / size)):
            start = int(generator.integers(max(1, len(foreign) - size)))
            alone: tuple[Texts, Texts] = [], []
            alone[side].extend(pair[side] for pair in foreign[start : start + size])
            place = int(generator.integers(len(beads) + 1))
            beads[place:place] = _singles(alone)
    return AlignedDocuments(
        [text for bead in beads for text in bead[0]],
        [text for bead in beads for text in bead[1]],
        np.array([(len(source), len(target)) for source, target in beads]),
    )


def loosened(pair: tuple[str, str], generator: np.random.Generator) -> tuple[str, str]:
    """Omit words of both sides, since most translations are freer than the training text."""
    share = generator.choice(LOOSE)
    source, target = (
        " ".join(word for word in text.split(" ") if generator.random() >= share) or text
        for text in pair
    )
    return source, target


def _split(text: str, generator: np.random.Generator) -> Texts:
    """Split a sentence in two: at inner punctuation if there is any, else between two words."""
    if len(text) < SHORTEST:
        return [text]
    places = [found.span() for found in BOUNDARY.finditer(text)]
    places = places or [found.span() for found in re.finditer(r"\s+", text)]
    if not places:
        return [text]
    start, end = places[generator.integers(len(places))]
    return [text[:start], text[end:]]


def _singles(bead: tuple[Texts, Texts]) -> list[tuple[Texts, Texts]]:
    """Return a bead for each sentence without a counterpart."""
    return [([text], []) for text in bead[0]] + [([], [text]) for text in bead[1]]
