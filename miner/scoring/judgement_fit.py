"""Logistic regression on judges' answers about pairs.

An answer "no" may be due to a fault that no feature sees: with some probability a pair is wrong
however good it looks. And judges sometimes err. Both rates are fitted with the weights, by
expectation maximisation, so that a few faulty pairs or slips do not flatten the function.
"""

from dataclasses import dataclass

import numpy as np

from miner.scoring.logistic import Logistic, fit_ridge, shift_to, sigmoid

# Precision of the normal priors of the constant around 0 and of the slope around 1.
CONSTANT, SLOPE = 0.5, 5.0
FARTHEST = 8.0
# Beta pseudo-counts of pairs that look right (faulty, sound), and of answers (wrong, right).
FAULTS, ERRORS = (0.5, 10.0), (1.0, 50.0)
ROUNDS = 15


@dataclass(frozen=True, eq=False)
class JudgementFit:
    """Fitted function: ``weights (f,)``, the rate of faulty pairs, and the rate of wrong answers.

    ``faulty``: counts of pairs with and without a fault; ``erring``: counts of wrong and right
    answers; ``covariance (f, f)`` of the weights.
    """

    weights: np.ndarray
    faulty: tuple[float, float]
    erring: tuple[float, float]
    covariance: np.ndarray

    @property
    def faults(self) -> float:
        return self.faulty[0] / sum(self.faulty)

    @property
    def errors(self) -> float:
        return self.erring[0] / sum(self.erring)

    def probability(self, design: np.ndarray) -> np.ndarray:
        """Return the probability of being right for each row of ``design (m, f)``."""
        return (1 - self.faults) * sigmoid(_sums(design, self.weights))


@dataclass(frozen=True, eq=False)
class Unlabelled:
    """Rows without an answer, ``pairs (m, f)``, and wrong rows, ``wrong (n, f)``.

    Pairs count as right with their probability by the function, each with the weight ``share`` of
    an answer. ``weight (n,)``: weight of each wrong row, in answers.
    """

    pairs: np.ndarray
    share: float
    wrong: np.ndarray
    weight: np.ndarray


def believed(answers: np.ndarray, probability: np.ndarray, errors: float) -> np.ndarray:
    """Return the probability that pairs are right, from answers ``(n,)`` in [0, 1] that may err."""
    yes, no = probability * (1 - errors), probability * errors
    other = 1 - probability
    return answers * yes / (yes + other * errors) + (1 - answers) * no / (no + other * (1 - errors))


def fit_answers(
    design: np.ndarray,
    answers: np.ndarray,
    penalty: np.ndarray,
    center: np.ndarray,
    *,
    errors: tuple[float, float] = ERRORS,
    unlabelled: Unlabelled | None = None,
) -> JudgementFit:
    """Fit the function to rows of ``design (n, f)`` and answers ``(n,)`` in [0, 1].

    ``penalty`` and ``center`` as in :func:`~miner.scoring.logistic.fit_ridge`; ``errors``:
    pseudo-counts of wrong and right answers, ``(0, 1)`` for judges that never err.
    """
    at, faulty, erring = center, FAULTS, errors
    rows = design
    if unlabelled is not None:
        rows = np.vstack([design, unlabelled.pairs, unlabelled.wrong])
    for _ in range(ROUNDS):
        faults = faulty[0] / sum(faulty)
        likely = sigmoid(design @ at)
        right = believed(answers, (1 - faults) * likely, erring[0] / sum(erring))
        slips = float(np.abs(answers - right).sum())
        erring = errors[0] + slips, errors[1] + len(answers) - slips
        fault = (1 - right) * faults * likely / (1 - (1 - faults) * likely)
        faulty = (fault.sum() + FAULTS[0], right.sum() + FAULTS[1])
        positive, negative = right + fault, 1 - right - fault
        if unlabelled is not None:
            expected = unlabelled.share * sigmoid(unlabelled.pairs @ at)
            positive = np.concatenate([positive, expected, np.zeros(len(unlabelled.wrong))])
            negative = np.concatenate([negative, np.zeros(len(expected)), unlabelled.weight])
        at = fit_ridge(rows, positive, negative, penalty, center)
    likely = sigmoid(rows @ at)
    curvature = (positive + negative) * likely * (1 - likely)
    hessian = (rows * curvature[:, None]).T @ rows + np.diag(penalty)
    return JudgementFit(at, faulty, erring, np.linalg.inv(hessian))


@dataclass(frozen=True, eq=False)
class Scale:
    """Scale of features: mean and standard deviation ``(f,)``."""

    center: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray) -> "Scale":
        """Measure features ``(n, f)``; a constant feature has deviation 1."""
        spread = features.std(axis=0, dtype=np.float64)
        return cls(features.mean(axis=0, dtype=np.float64), np.where(spread > 1e-9, spread, 1.0))

    def design(self, logit: np.ndarray, features: np.ndarray) -> np.ndarray:
        """Return a constant, the log-odds ``(n,)`` and standardised features: ``(n, f + 2)``."""
        return np.column_stack([_line(logit), (features - self.center) / self.spread])


def prior(features: int, penalty: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return precision and centre of the prior of the weights: constant, log-odds, ``features``.

    ``penalty``: precision of the normal prior of each feature's weight around 0.
    """
    precision = np.array([CONSTANT, SLOPE, *[penalty] * features])
    return precision, np.eye(1, len(precision), 1)[0]


def line(design: np.ndarray, fitted: JudgementFit) -> np.ndarray:
    """Return the design of the second function, which reads the first one's log-odds: ``(m, 2)``.

    The first function ranks, the second one calibrates.
    """
    return _line(_sums(design, fitted.weights))


def fit_again(
    start: Logistic, features: np.ndarray, answers: np.ndarray, penalty: float
) -> Logistic:
    """Fit a function again to answers ``(n,)`` about pairs with ``features (n, f)``.

    The first fit accounts for errors of judges and faults of pairs. Its log-odds are then shifted,
    so that the number of right pairs equals that of the answers. Half a pair of each kind is added.
    """
    scale = Scale.of(features)
    design = scale.design(start.logit(features), features)
    fitted = fit_answers(design, answers, *prior(features.shape[1], penalty))
    share = (answers.sum() + 0.5) / (len(answers) + 1)
    shift = shift_to(_sums(design, fitted.weights), share * len(answers))
    constant, slope, *rest = fitted.weights
    weight = np.array(rest) / scale.spread
    constant += slope * start.intercept + weight @ (start.mean - scale.center)
    return Logistic(start.names, constant + shift, slope * start.weight + weight, start.mean)


def _sums(design: np.ndarray, weights: np.ndarray) -> np.ndarray:
    # einsum adds in the same order for any number of threads and rows.
    return np.einsum("mf,f->m", design, weights)


def _line(logit: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(logit)), np.clip(logit, -FARTHEST, FARTHEST)])
