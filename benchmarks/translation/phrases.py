"""Phrase-based translator, which learns to translate news from tens of thousands of pairs."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from miner_train.papers.phrase_decoder import BeamLimits, PhraseTranslator


@dataclass(frozen=True)
class Phrases:
    """Limits of the search: hypotheses per stack, and words that a phrase may jump over."""

    beam: int = 10
    jump: int = 4


class PhraseBased:
    """Translator of lower-cased words; see `PhraseTranslator`. Chance has no part in it."""

    def __init__(self, setting: Phrases):
        self.limits, self.seconds = BeamLimits(**asdict(setting)), 0.0

    def train(self, pairs: Sequence[tuple[str, str]], checkpoint: Path) -> None:
        """Learn from all pairs; there is no checkpoint."""
        begun = time.process_time()
        source, target = zip(*pairs, strict=True)
        self.translator = PhraseTranslator.learn(source, target, self.limits)
        self.seconds = time.process_time() - begun

    def translate(self, sentences: Sequence[str]) -> list[str]:
        found = self.translator.translate(sentences, 1)
        return [best[0].text if best else "" for best in found]
