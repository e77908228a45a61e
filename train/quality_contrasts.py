"""Contrast cases for the quality function: a translation beside itself with one fault.

Pairs that are right and others that are wrong tell little about one changed word: a pair differs
from another in much else. A translation and its corruption differ in the fault alone.
"""

import random
from collections.abc import Callable, Sequence

from miner.text.corruptions import KINDS, Material, corrupt
from miner.text.language_codes import ENGLISH

# Corruptions of a translation at most: by rules of English, and of words in either language.
RULES, WORDS = 2, 2
# Least words of a sentence that a word is dropped from.
ENOUGH_WORDS = 4

Words = list[str]
# fault(words, words of another sentence, generator): the words with a fault.
Fault = Callable[[Words, Words, random.Random], Words]


def contrast_cases(
    text: tuple[Sequence[str], Sequence[str]], languages: Sequence[str | None], seed: int
) -> list[tuple[int, tuple[str, str]]]:
    """Corrupt translations ``text``: returns rows of translations, each with a corrupted pair.

    ``languages`` are the ISO 639 codes of source and target. The rules apply to English, the faults
    of words to text whose words have spaces between them. The two differ in more than spaces.
    """
    generator = random.Random(f"{seed} contrasts")
    found: list[tuple[int, tuple[str, str]]] = []

    def add(row: int, side: int, new: str) -> None:
        if new.split() != text[side][row].split():
            found.append((row, (new, text[1][row]) if side == 0 else (text[0][row], new)))

    english = [side for side in range(2) if languages[side] == ENGLISH]
    material = [Material.of(text[side]) for side in english]
    for row in range(len(text[0])):
        for side, words in zip(english, material, strict=True):
            kinds = generator.sample(list(KINDS), len(KINDS))
            made = (corrupt(text[side][row], kind, words, generator) for kind in kinds)
            for new in [new for new in made if new is not None][:RULES]:
                add(row, side, new)
        for _ in range(WORDS):
            side, other = generator.randrange(2), generator.randrange(len(text[0]))
            own, others = text[side][row].split(), text[side][other].split()
            if len(own) >= ENOUGH_WORDS and others:
                add(row, side, " ".join(generator.choice(FAULTS)(own, others, generator)))
    return found


def _dropped(own: Words, others: Words, generator: random.Random) -> Words:
    size = generator.randrange(1, len(own) // 2)
    place = generator.randrange(len(own) - size + 1)
    return own[:place] + own[place + size :]


def _inserted(own: Words, others: Words, generator: random.Random) -> Words:
    size = min(generator.choice((1, 1, 1, 2, 3, 5)), len(others))
    first, place = generator.randrange(len(others) - size + 1), generator.randrange(len(own) + 1)
    return own[:place] + others[first : first + size] + own[place:]


def _exchanged(own: Words, others: Words, generator: random.Random) -> Words:
    place = generator.randrange(len(own))
    return [*own[:place], generator.choice(others), *own[place + 1 :]]


def _joined(own: Words, others: Words, generator: random.Random) -> Words:
    """Join the first half of the sentence and the second half of the other one."""
    return own[: len(own) // 2] + others[len(others) // 2 :]


FAULTS: tuple[Fault, ...] = (_dropped, _dropped, _inserted, _inserted, _exchanged, _joined)
