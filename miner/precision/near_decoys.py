"""Near-decoys: likely pairs with one changed fact on the English side.

Decoys are other sentences, so they measure only chance matches. A near-copy of a translation
matches as the translation does, and no search can count near-copies in a corpus. But they can be
generated from the corpus's sentences, as in xsim++ (Chen et al. 2023). The share of them above a
threshold measures how much the score sees of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miner.scoring.pairs import Pairs
from miner.scoring.quality import Quality, features
from miner.text.corruptions import KINDS, Material, corrupt
from miner.text.language_codes import ENGLISH

# Maximum number of near-decoys, and minimum number to report.
MOST, FEWEST = 500, 20
LONGEST = 2000

# Function of rows and quality logits that scores the near-decoys of the pairs at these rows.
ScoreOf = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class NearDecoys:
    """Scores of near-decoys: ``score (n,) float64`` of likely pairs with one changed fact."""

    score: np.ndarray

    def kept(self, threshold: float) -> float:
        """Return the share of near-decoys with this score or more, in [0, 1]."""
        return float(np.mean(self.score >= threshold))


def near_decoys(
    pairs: Pairs, rows: np.ndarray, quality: Quality, score_of: ScoreOf
) -> NearDecoys | None:
    """Generate near-decoys of pairs and score them; None without English, or for too few.

    ``rows (m,)``: positions of likely pairs; an evenly spaced sample is used. A near-decoy is as
    likely a chance match as its original pair, so ``score_of`` needs only its quality.
    """
    languages = quality.verifier.languages
    if ENGLISH not in languages:
        return None
    english = languages.index(ENGLISH)
    spaced = np.linspace(0, len(rows) - 1, min(MOST, len(rows))).astype(np.int64)
    chosen = rows[spaced]
    sides = [
        index.sentences(places[chosen])
        for index, places in ((pairs.source, pairs.source_row), (pairs.target, pairs.target_row))
    ]
    corrupted = _corrupted(sides[english])
    kept = np.array([position for position, text in enumerate(corrupted) if text is not None])
    if len(kept) < FEWEST:
        return None
    sides[english] = [text or "" for text in corrupted]
    texts = [[side[position] for position in kept.tolist()] for side in sides]
    logit = quality.function.logit(features(quality.verifier, texts[0], texts[1])[0])
    return NearDecoys(np.sort(score_of(chosen[kept], logit.astype(np.float64))))


def _corrupted(sentences: Sequence[str]) -> list[str | None]:
    """Change one fact of each sentence, cycling through the rules; None if no rule applies.

    A text of more than ``LONGEST`` characters is no sentence, and is not changed. Inserted names
    and clauses come from the other sentences.
    """
    short = ["" if len(text) > LONGEST else text for text in sentences]
    material, kinds = Material.of(short), list(KINDS)
    corrupted = []
    for number, text in enumerate(short):
        turn = kinds[number % len(kinds) :] + kinds[: number % len(kinds)]
        tries = (corrupt(text, kind, material) for kind in turn)
        corrupted.append(next((changed for changed in tries if changed is not None), None))
    return corrupted
