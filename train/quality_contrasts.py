"""Contrast cases for the quality function: a translation, and the same with one fault.

Unrelated right and wrong pairs differ in many ways, so they teach little about one changed word. A
translation and its corruption differ in the fault alone.
"""

import random
from collections.abc import Sequence

from miner.text.corruptions import KINDS, Material, corrupt
from miner.text.language_codes import ENGLISH

# Maximum corruptions per translation: by rules of English, and by dropped words in any language.
RULES, WORDS = 2, 2
# Least words of a sentence that words are dropped from, and how many are dropped.
ENOUGH_WORDS, DROPPED = 4, (1, 1, 3, 6)


def contrast_cases(
    text: tuple[Sequence[str], Sequence[str]], languages: Sequence[str | None], seed: int
) -> list[tuple[int, tuple[str, str]]]:
    """Corrupt translations ``text``: returns rows of translations, each with a corrupted pair.

    ``languages`` are the ISO 639 codes of source and target. The rules apply to English; words
    are dropped where spaces separate them.
    """
    generator = random.Random(f"{seed} contrasts")
    cases: list[tuple[int, tuple[str, str]]] = []

    def add(row: int, side: int, new: str) -> None:
        if new.split() != text[side][row].split():
            cases.append((row, (new, text[1][row]) if side == 0 else (text[0][row], new)))

    english = [side for side in range(2) if languages[side] == ENGLISH]
    material = [Material.of(text[side]) for side in english]
    for row in range(len(text[0])):
        for side, words in zip(english, material, strict=True):
            kinds = generator.sample(list(KINDS), len(KINDS))
            corrupted = (corrupt(text[side][row], kind, words, generator) for kind in kinds)
            for new in [new for new in corrupted if new is not None][:RULES]:
                add(row, side, new)
        for _ in range(WORDS):
            side = generator.randrange(2)
            tokens = text[side][row].split()
            if len(tokens) >= ENOUGH_WORDS:
                size = min(generator.choice(DROPPED), len(tokens) - 2)
                start = generator.randrange(len(tokens) - size + 1)
                add(row, side, " ".join(tokens[:start] + tokens[start + size :]))
    return cases
