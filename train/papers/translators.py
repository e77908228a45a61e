"""Protocol of the translators, and their translations."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Translation:
    """Translation with its cost, the negative log-likelihood per token; NaN if unknown.

    Tokens are the translator's units, for example words.
    """

    text: str
    cost: float = math.nan


class Translator(Protocol):
    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        """Return up to ``k`` translations of each sentence, best first."""
        ...


def distinct(translations: Iterable[tuple[str, float]]) -> list[Translation]:
    """Return texts with their costs in order, without blank texts and repeats."""
    costs: dict[str, float] = {}
    for text, cost in translations:
        if text.strip():
            costs.setdefault(text.strip(), cost)
    return [Translation(text, cost) for text, cost in costs.items()]
