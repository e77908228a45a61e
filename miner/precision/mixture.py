"""Probability of each pair of being right, on the corpus at hand, from decoys and without gold.

Proteomics calls one minus it the posterior error probability (Käll et al. 2008). Pairs above the
median decoy are modelled as a mixture. With ``x`` a pair's log-odds by the verifier, the density of
pairs divided by the density of decoys is

    exp(scale + tilt · x) + exp(scale + tilt · x + intercept + slope · x)

The first term is for wrong pairs: they match by chance as decoys do, but their number differs, and
they fall off somewhat faster or slower, since decoys come from other text. Poor matches, nearly all
wrong, determine both differences. The second term is for right pairs. All four parameters are
fitted at once by penalised likelihood; the penalties only matter where there are few pairs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.scoring.logistic import shift_to, sigmoid

# Number of bins of equal counts, and of bins of equal width.
BINS = 200
# Prior standard deviations of the parameters: logarithm of the scale, tilt per standard deviation
# of decoys, intercept, logarithm of the slope. Prior means: 0, 0, INTERCEPT, and the expected
# slope. Without parallel text, two chance terms, one steeper than decoys, fit as well as one: only
# the prior of the slopes rules out a term for right pairs. On corpora with gold, chance pairs have
# tilts with a deviation of 0.13, and right ones rise far faster (benchmarks/LOG.md).
SPREAD, INTERCEPT = (1.0, 0.2, 3.0, 0.25), -8.0
# Starting points of a fit: the prior mean; almost nothing right, with an intercept lower by
# NOTHING; and these shares of pairs that are likelier right than wrong. The likeliest result is
# kept. From the first two alone the tilt may absorb the right pairs (benchmarks/LOG.md).
NOTHING, SHARES = 8.0, (0.1, 0.3, 0.5, 0.7, 0.9)
# Maximum steps of a fit, and gains of log-likelihood at which it stops: of the final fit, and of
# fits of resamples.
STEPS, GAIN, ROUGH = 60, 1e-6, 1e-2
# Bootstrap resamples, and the share of them inside an interval.
RESAMPLES, INSIDE = 100, 0.9
# Standard deviations of the logarithm of the number of wrong and of missed pairs, beyond chance:
# decoys come from other text, and right pairs that score like decoys are known only through the
# others. On splits with gold the differences of wrong pairs were 0.39, between two foreign
# languages 1.40 (mostly fewer); of missed pairs 0.27 (benchmarks/LOG.md).
UNLIKE_WRONG, UNLIKE_MISSED = 0.5, 0.5
# The same for wrong pairs where few decoys have the length of the targets, and wrong pairs that are
# expected at least, because decoys tell nothing of less than one (benchmarks/LOG.md).
UNLIKE_LENGTH, MORE_WRONG = 1.2, 0.5
# The same for right pairs that were missed or score like chance. If all rows of a side have a
# partner, so have those whose pair scores like chance: HIDDEN times more right pairs are missed
# than the law of scores predicts (benchmarks/LOG.md).
UNLIKE_HIDDEN, HIDDEN = 0.7, 4.0
# Standard deviation of a model's log-odds of right pairs, its variation between texts, and the
# prior of their mean (benchmarks/LOG.md), with the range that is searched.
RIGHT_SPREAD, UNLIKE_SPREAD = 2.0, 0.3
RIGHT_MEAN, MEAN_SPREAD, MEANS, BISECTIONS = -2.5, 1.5, (-8.0, 4.0), 40
# Pseudo-count of rivals below each right pair, because few are uninformative; and minimum share of
# rivals that a right pair beats: near-copies beat it too, and hide nothing.
RIVALS, BEATEN = 10, 0.8
SEED = 1
LIMIT = 30.0


@dataclass(frozen=True)
class Law:
    """Law of scores: the range that the mixture models, and priors of how wrong pairs differ from
    decoys.

    ``start`` is the share of the weight of decoys below the modelled scores; intervals draw it from
    ``starts``, because it is uncertain where poor matches begin to follow one law. ``tilt`` is the
    standard deviation of the tilt, ``intercept`` the mean of the intercept, and ``scale`` the
    standard deviation of the scale. ``unlike`` is that of the logarithm of the number of wrong
    pairs, beyond chance.
    """

    start: float = 0.5
    starts: tuple[float, float] = (0.35, 0.65)
    tilt: float = SPREAD[1]
    intercept: float = INTERCEPT
    scale: float = SPREAD[0]
    unlike: float = UNLIKE_WRONG


USUAL = Law()


@dataclass(frozen=True)
class Mixture:
    """Parameters of the mixture; ``low`` and ``spread`` standardise log-odds.

    ``lowered`` is subtracted from the log-odds of being right (:meth:`within`).
    """

    low: float
    spread: float
    scale: float
    tilt: float
    intercept: float
    slope: float
    lowered: float = 0.0

    def log_odds(self, logit: np.ndarray) -> np.ndarray:
        """Return the log-odds of being right, strictly rising with ``logit (m,)``."""
        return self.intercept - self.lowered + self.slope * (logit - self.low) / self.spread

    def probability(self, logit: np.ndarray) -> np.ndarray:
        """Return the probability of being right, ``(m,) float64`` in (0, 1)."""
        return sigmoid(self.log_odds(logit))

    def within(self, logit: np.ndarray, most: float) -> "Mixture":
        """Return the mixture in which at most ``most`` of the pairs ``logit (m,)`` are right."""
        down = -shift_to(self.log_odds(logit), most)
        return replace(self, lowered=self.lowered + down) if down > 0 else self

    def all_right(
        self,
        logit: np.ndarray,
        rivals: np.ndarray,
        most: float,
        spreads: Sequence[float] | np.ndarray = (RIGHT_SPREAD,),
    ) -> np.ndarray:
        """Estimate the number of right pairs, including those that score like chance.

        ``logit (m,)`` are a model's log-odds. For right pairs they are normal with a deviation in
        ``spreads (s,)``, one estimate for each: the pairs that are likelier right than wrong
        determine how many lie below. ``rivals (r,)`` are log-odds of what sources match without
        their partner: a right pair is found only if it beats them, and represents those that do
        not. There are at most ``most``.
        """
        cut = self.low - self.spread * (self.intercept - self.lowered) / self.slope
        above = logit[logit >= cut]
        beaten = (np.searchsorted(np.sort(rivals), above) + RIVALS) / (len(rivals) + RIVALS)
        right = self.probability(above) / np.maximum(beaten, BEATEN)
        count, expected = float(right.sum()), float(self.probability(logit).sum())
        if not count:
            return np.zeros(len(spreads))
        observed = float(right @ above) / count
        total = np.array([_all_right(count, observed, cut, spread) for spread in spreads])
        hidden = HIDDEN * np.minimum(total / most, 1) ** 3 * np.maximum(total - expected, 0)
        return np.minimum(total + hidden, most)

    def moved(self, shift: float, ratio: float) -> np.ndarray:
        """Return the four parameters, the slope's logarithm last, for another ``low`` and spread.

        ``shift``: the other ``low`` in standardised log-odds; ``ratio``: other spread / this one.
        """
        return np.array(
            [
                self.scale + self.tilt * shift,
                self.tilt * ratio,
                self.intercept + self.slope * shift,
                np.log(self.slope * ratio),
            ]
        )

    def wrong(self, logit: np.ndarray) -> np.ndarray:
        """Return the number of wrong pairs per decoy of weight 1, at these log-odds.

        It is constant below the range of the mixture.
        """
        x = np.maximum((logit - self.low) / self.spread, 0)
        return np.exp(np.clip(self.scale + self.tilt * x, -LIMIT, LIMIT))


class Histogram:
    """Histogram of pairs and weighted decoys by log-odds, to fit a mixture to.

    ``logit (m,)``: log-odds of pairs; ``decoy_logit (n,)`` and ``weight (n,) > 0``: of at least one
    decoy. ``slope``: the expected slope, per unit of log-odds. Bins ascend: ``pairs``, ``decoys``
    (counts), ``weights`` (sums) and ``x`` (mean log-odds).
    """

    def __init__(
        self,
        logit: np.ndarray,
        decoy_logit: np.ndarray,
        weight: np.ndarray,
        slope: float,
        law: Law = USUAL,
    ):
        self.slope, self.law = slope, law
        both = np.concatenate([logit, decoy_logit])
        edges = np.unique(
            np.concatenate(
                [
                    np.quantile(both, np.linspace(0, 1, BINS)),
                    np.linspace(both.min(), both.max(), BINS),
                ]
            )
        )
        bins = np.searchsorted(edges, both, side="right") - 1
        size = len(edges)
        pair_bins, decoy_bins = bins[: len(logit)], bins[len(logit) :]
        self.pairs = np.bincount(pair_bins, minlength=size).astype(np.float64)
        self.decoys = np.bincount(decoy_bins, minlength=size).astype(np.float64)
        self.weights = np.bincount(decoy_bins, weight, minlength=size)
        count = np.bincount(bins, minlength=size)
        self.x = np.bincount(bins, both, minlength=size) / np.maximum(count, 1)
        self.x[count == 0] = edges[count == 0]

    def fit(
        self,
        start: float | None = None,
        drawn: tuple[np.ndarray, np.ndarray] | None = None,
        near: Mixture | None = None,
    ) -> Mixture:
        """Fit the mixture above the quantile ``start`` of the decoys [``law.start``].

        ``drawn``: numbers of pairs and decoys in each bin, instead of the observed ones; ``near``:
        a mixture to start from.
        """
        pairs, decoys = (self.pairs, self.decoys) if drawn is None else drawn
        weights = self.weights / np.maximum(self.decoys, 1) * decoys
        total = np.cumsum(weights)
        start = self.law.start if start is None else start
        first = int(np.searchsorted(total, start * total[-1]))
        inside = slice(min(first, len(self.x) - 1), None)
        pairs, weights, x = pairs[inside], weights[inside], self.x[inside]
        low = float(x[0])
        variance = weights @ (x - low) ** 2 / max(weights.sum(), 1e-12)
        spread = max(float(np.sqrt(variance)), 1e-3)
        center = np.array([0.0, 0.0, self.law.intercept, np.log(self.slope * spread)])
        begins, gain = [center, center - (0, 0, NOTHING, 0)], GAIN
        if near is None:
            below = np.searchsorted(np.cumsum(pairs), (1 - np.array(SHARES)) * pairs.sum())
            # Another start: the log-odds as they are, which later rounds took from earlier ones.
            even = [0.0, *x[np.minimum(below, len(x) - 1)]]
            begins += [np.array([0, 0, self.slope * (low - at), center[3]]) for at in even]
        else:
            shift, ratio = (low - near.low) / near.spread, spread / near.spread
            begins, gain = [near.moved(shift, ratio)], ROUGH
        prior = center, np.array([self.law.scale, self.law.tilt, *SPREAD[2:]])
        ends = [_climb(pairs, weights, (x - low) / spread, prior, at, gain) for at in begins]
        scale, tilt, intercept, slope = min(ends)[1]
        return Mixture(low, spread, scale, tilt, intercept, float(np.exp(slope)))

    def resampled(
        self,
        mixture: Mixture,
        total: np.ndarray,
        most: float,
        kept: np.ndarray,
        near: Callable[[int, np.ndarray], np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bootstrap precision and recall of the ``kept (t,)`` best pairs: two ``(b, t) float64``.

        ``total (b,)``: numbers of right pairs, unless the mixture finds more; there are at most
        ``most``. ``near`` draws numbers of wrong pairs that decoys do not foresee, for the number
        of a resample and ``kept`` [none]. Sources, decoys and the modelled range are resampled.
        Given the probabilities, the numbers of wrong and of missed pairs are random, with an
        uncertain expectation.
        """
        generator = np.random.default_rng(SEED)
        precision = np.empty((RESAMPLES, len(kept)))
        recall = np.empty((RESAMPLES, len(kept)))
        seen = np.cumsum(np.concatenate([[0.0], self.pairs[::-1]]))
        for number in range(RESAMPLES):
            start = generator.uniform(*self.law.starts)
            drawn = generator.poisson(self.pairs), generator.poisson(self.decoys)
            fitted = self.fit(start, drawn, mixture) if drawn[1].any() else mixture
            fitted = replace(fitted, lowered=mixture.lowered)
            right = self.pairs * fitted.probability(self.x)
            sums = np.cumsum(np.concatenate([[0.0], right[::-1]]))
            above = np.interp(kept, seen, sums)
            unlike = self.law.unlike, UNLIKE_MISSED, UNLIKE_HIDDEN
            factors = np.exp(generator.normal(0, unlike))
            wrong = _poisson(number, 0, MORE_WRONG + factors[0] * np.maximum(kept - above, 0))
            if near is not None:
                wrong = np.maximum(wrong, near(number, kept))
            wrong = np.minimum(wrong, kept)
            hidden = factors[2] * max(total[number] - sums[-1], 0)
            below = _poisson(number, 1, factors[1] * np.maximum(sums[-1] - above, 0) + hidden)
            below = np.minimum(below, np.maximum(most - (kept - wrong), 0))
            precision[number] = 1 - wrong / np.maximum(kept, 1)
            recall[number] = (kept - wrong) / np.maximum(kept - wrong + below, 1e-9)
        return precision, recall


def _poisson(resample: int, kind: int, expected: np.ndarray) -> np.ndarray:
    """Draw Poisson numbers of ``expected (t,)``, each with the same seed, so that they are
    independent of each other's presence.
    """
    seed = SEED, resample, kind
    return np.array([np.random.default_rng(seed).poisson(mean) for mean in expected.tolist()])


def _all_right(count: float, observed: float, cut: float, spread: float) -> float:
    """Return the size and mean of a normal sample from the ``count`` and mean above a ``cut``."""
    low, high = MEANS
    for _ in range(BISECTIONS):
        mean = (low + high) / 2
        away = (cut - mean) / spread
        density = math.exp(-(away**2) / 2) / math.sqrt(2 * math.pi)
        expected = mean + spread * density / max(_normal_above(away), 1e-300)
        rising = count * (observed - expected) / spread**2
        if rising > (mean - RIGHT_MEAN) / MEAN_SPREAD**2:
            low = mean
        else:
            high = mean
    return count / max(_normal_above((cut - low) / spread), 1e-3)


def _normal_above(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def drawn_spreads() -> np.ndarray:
    """Return the usual spread of right pairs, then one for each resample."""
    drawn = np.random.default_rng(SEED).normal(RIGHT_SPREAD, UNLIKE_SPREAD, RESAMPLES)
    return np.concatenate([[RIGHT_SPREAD], np.maximum(drawn, RIGHT_SPREAD / 2)])


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the interval that holds the share ``INSIDE`` of resampled ``values``."""
    low, high = np.quantile(values, [(1 - INSIDE) / 2, (1 + INSIDE) / 2])
    return float(low), float(high)


def _climb(
    pairs: np.ndarray,
    weights: np.ndarray,
    x: np.ndarray,
    prior: tuple[np.ndarray, np.ndarray],
    start: np.ndarray,
    gain: float,
) -> tuple[float, list[float]]:
    """Minimise the penalised negative log-likelihood by Fisher scoring with damping.

    Returns its value and the parameters. ``prior``: mean and standard deviation of the parameters,
    ``(4,)`` each.
    """
    center, precision = prior[0], 1 / np.square(prior[1])

    def loss(at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        slope = np.exp(np.clip(at[3], -5, 5))
        odds = np.clip(at[2] + slope * x, -LIMIT, LIMIT)
        # log of exp(wrong) + exp(wrong + odds), without overflow
        logit = at[0] + at[1] * x + np.logaddexp(0, odds)
        value = (pairs + weights) @ np.logaddexp(0, logit) - pairs @ logit
        right = sigmoid(odds)
        slopes = np.stack([np.ones_like(x), x, right, right * slope * x])
        share = sigmoid(logit)
        away = at - center
        gradient = slopes @ ((pairs + weights) * share - pairs) + precision * away
        curvature = (pairs + weights) * share * (1 - share)
        fisher = (slopes * curvature) @ slopes.T + np.diag(precision)
        return float(value + precision @ away**2 / 2), gradient, fisher

    at, damping = start.astype(np.float64), 1e-3
    value, gradient, fisher = loss(at)
    for _ in range(STEPS):
        step = np.linalg.solve(fisher + damping * np.diag(np.diag(fisher)), gradient)
        tried = loss(at - step)
        if tried[0] <= value:
            done = value - tried[0] < gain
            at, (value, gradient, fisher) = at - step, tried
            damping = max(damping / 5, 1e-9)
            if done:
                break
        else:
            damping *= 10
            if damping > 1e9:
                break
    return value, at.tolist()
