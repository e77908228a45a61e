"""Protocol of the translators, their translations, and batches of sentences."""

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Translation:
    """Translation with its cost, the negative log-likelihood per token; NaN where it is unknown.

    Tokens are the translator's own, such as words.
    """

    text: str
    cost: float = math.nan


class Translator(Protocol):
    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        """Return up to ``k`` translations of each sentence, the best first."""
        ...


def distinct(translations: Iterable[tuple[str, float]]) -> list[Translation]:
    """Return texts with their costs in order, without blank ones and without doubles."""
    found: dict[str, float] = {}
    for text, cost in translations:
        if text.strip():
            found.setdefault(text.strip(), cost)
    return [Translation(text, cost) for text, cost in found.items()]


def by_length(rows: Iterable[int], sentences: Sequence[Sized], size: int) -> Iterator[list[int]]:
    """Yield rows in batches, the longest sentences first: a batch is as long as its longest."""
    ordered = sorted(rows, key=lambda row: -len(sentences[row]))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]
