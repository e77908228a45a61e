"""Calibration of the quality for each language, and the least quality that right pairs have.

One function serves all languages. Its logits are lower where the model knows a language badly, and
on text unlike the training's. A line for each language turns logits into probabilities (Platt
1999): 0.5 where translations are as frequent as corrupted pairs. With little text, a line stays
near the line of all languages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.lexicons import Direction
from miner.encoder.model import Model
from miner.scoring.logistic import fit_ridge, sigmoid
from miner.scoring.quality import Quality, logits_and_factors
from miner.scoring.verifier import Verifier
from miner.text.language_codes import ENGLISH
from miner_train.language_texts import LanguageText
from miner_train.learn_quality import corrupt

# Fewest pairs of a text that count.
ENOUGH = 100
# Precision of the normal priors of a language's constant and slope, centred on the common ones.
PRECISION = 50.0, 200.0
# Least factor of pairs that the line is learned from: no fact contradicts.
PLAIN = 0.5
# Maximum share of right pairs below the bound, in the mean of the sources (LOST) and in any source
# (LOST_OF_EACH); text of other sources loses more. OTHERS: weight of the sources of all languages,
# in sources of the language. LOWEST, HIGHEST: limits of the bound.
LOST, LOST_OF_EACH, OTHERS, LOWEST, HIGHEST = 0.005, 0.01, 2.0, 0.008, 0.1
# Factor of the bound of a language with one source or none: others lose more than that one tells.
ALONE = 0.5


@dataclass(frozen=True, eq=False)
class QualityEvidence:
    """Logits of the model's function for the text of one source.

    ``logit (n,) float64`` and ``factor (n,)`` of its pairs, from `logits_and_factors`; ``mixed
    (m,)`` and ``good (m,) bool``: logits and labels of the same pairs, half of them corrupted.
    """

    logit: np.ndarray
    factor: np.ndarray
    mixed: np.ndarray
    good: np.ndarray

    def scores(self, line: tuple[float, float]) -> np.ndarray:
        """Return the quality ``(n,) float64`` with logits on a ``line``: constant and slope."""
        return self.factor * sigmoid(line[0] + line[1] * self.logit)


class Calibration(NamedTuple):
    """Constant and slope of the logits of a language pair, and the bound of its quality."""

    line: tuple[float, float]
    bound: float


def evidence_of(quality: Quality, pairs: tuple[list[str], list[str]], seed: int) -> QualityEvidence:
    """Score right pairs, and the same pairs half corrupted, by the model's function."""
    mixed, good = corrupt(quality.verifier.encoder, pairs, seed)
    right = logits_and_factors(quality.verifier, quality.function, *pairs)
    sides = map(list, zip(*mixed, strict=True))
    logit, factor = logits_and_factors(quality.verifier, quality.function, *sides)
    plain = factor >= PLAIN
    return QualityEvidence(*right, logit[plain], good[plain])


def calibrations(
    texts: Mapping[Direction, Sequence[QualityEvidence]],
) -> dict[Direction, Calibration]:
    """Learn line and bound of each pair of languages from its sources.

    A pair without sources has the line of all.
    """
    every = [source for sources in texts.values() for source in sources]
    if not every:
        return {}
    shared = _line(every, (0.0, 1.0), (1e-3, 1e-3))
    lines = {
        pair: _line(sources, shared, PRECISION) if sources else shared
        for pair, sources in texts.items()
    }
    scores = {pair: [source.scores(line) for source in texts[pair]] for pair, line in lines.items()}
    others = [values for of_pair in scores.values() for values in of_pair]
    return {
        pair: Calibration(lines[pair], bound_of(of_pair, others))
        for pair, of_pair in scores.items()
    }


def _line(
    sources: Sequence[QualityEvidence], center: tuple[float, float], precision: tuple[float, float]
) -> tuple[float, float]:
    logit = np.concatenate([source.mixed for source in sources])
    good = np.concatenate([source.good for source in sources])
    design = np.column_stack([np.ones(len(logit)), logit])
    prior = np.array(precision), np.array(center)
    constant, slope = fit_ridge(design, good.astype(float), (~good).astype(float), *prior)
    return round(float(constant), 4), max(round(float(slope), 4), 1e-4)


def bound_of(sources: Sequence[np.ndarray], others: Sequence[np.ndarray] = ()) -> float:
    """Return the quality that nearly all right pairs reach, from their scores by source.

    Each source counts alike, and all ``others`` together as `OTHERS` of them.
    """
    weight = [1.0] * len(sources) + [OTHERS / max(len(others), 1)] * len(others)
    scores = [*sources, *others]
    weights = np.concatenate(
        [
            np.full(len(values), share / len(values))
            for values, share in zip(scores, weight, strict=True)
        ]
    )
    joined = np.concatenate(scores)
    order = np.argsort(joined, kind="stable")
    rank = np.searchsorted(np.cumsum(weights[order]), LOST * weights.sum(), side="right")
    bound = float(joined[order[min(int(rank), len(joined) - 1)]])
    each = (np.quantile(values, LOST_OF_EACH, method="lower") for values in sources)
    bound = min([bound, *map(float, each)])
    bound = min(HIGHEST, max(LOWEST, bound))
    return float(f"{bound * (ALONE if len(sources) < 2 else 1):.2g}")


def calibrated(
    model: Model,
    texts: Sequence[LanguageText],
    seed: int,
    encoder_of: Callable[[Model], Encoder] = Encoder,
) -> Model:
    """Return the model with the calibration of the languages of held-out text."""
    verifier = Verifier(encoder_of(model))
    evidence = {
        text.languages: [evidence_of(Quality(verifier.of(text.languages)), text.held, seed)]
        for text in texts
        if len(text.held[0]) >= ENOUGH
    }
    return with_calibrations(model, calibrations(evidence))


def with_calibrations(model: Model, learned: Mapping[Direction, Calibration]) -> Model:
    """Return the model with calibrations of pairs of languages.

    English has no calibration; two other languages share the constant. Text with English counts
    before other text of a language.
    """
    languages = dict(model.languages)
    for pair, (line, bound) in sorted(learned.items(), key=lambda item: ENGLISH in item[0]):
        codes = [code for code in dict.fromkeys(pair) if code != ENGLISH]
        for code in codes:
            if code in languages:
                share = line[0] / len(codes), line[1]
                languages[code] = replace(
                    languages[code], quality_map=share, quality_bound=bound, wrong_kept=None,
                    right_dropped=None,
                )  # fmt: skip
    return replace(model, languages=languages)
