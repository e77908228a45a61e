"""Quality function, learned without labels from held-out bitext, half of it corrupted on purpose.

Beside right and wrong pairs, the function learns from contrast cases: a translation must score
higher than its corruption (:mod:`miner_train.quality_contrasts`).

The kinds of noise occur in corpora from the web, as shared tasks on filtering describe them. The
corrupted side is drawn at random, so that the order of the languages does not matter.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from miner.encoder.encoder import Encoder
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.option_values import SIDES
from miner.scoring.comparer import COMPARED
from miner.scoring.logistic import Logistic, fit_ridge
from miner.scoring.quality import feature_names, features
from miner.scoring.verifier import Verifier
from miner_train.language_texts import LanguageText
from miner_train.learn_verifier import INVERSE_PENALTY, fit
from miner_train.quality_contrasts import contrast_cases

# Most held-out pairs to learn from, and least characters of the shorter side.
PAIRS, SHORTEST = 12_000, 15
# Weight of all contrast cases relative to all single pairs.
CONTRASTS = 4.0
# Weight of the comparer's logit beside the other features. It is fixed, because a fitted weight is
# five times as large, too large for text unlike the training's.
COMPARER = 0.15
# Share of pairs joined to another one: corpora from the web have whole paragraphs in a line.
JOINED = 0.4
# Nearest sentences among which the wrong partner of a misaligned pair is drawn.
NEIGHBORS = 8
# Least words of a sentence for a part of it to be removed or exchanged.
ENOUGH_WORDS = 6

Generator = np.random.Generator
Pair = tuple[str, str]
# noise(pair, other pair, names, generator): new text of the target; None where it does not apply.
Noise = Callable[[Pair, Pair, Sequence[str], Generator], str | None]

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=[^\W\d_] )[^\W\d_]*[A-ZÀ-ÖØ-ÞА-Я][^\W\d_]{2,}")


def learn_quality(encoder: Encoder, texts: Sequence[LanguageText], seed: int) -> dict[str, Any]:
    """Learn the function of :class:`miner.scoring.quality.Quality`, as JSON values.

    Each of the ``texts`` is corrupted separately, and its features use the lexicon of its
    languages. The encoder's model has a verifier.
    """
    total = sum(len(text.held[0]) for text in texts)
    verifier, values, good, contrasts = Verifier(encoder), [], [], []
    for text in texts:
        most = -(-PAIRS * len(text.held[0]) // max(total, PAIRS))
        pairs, labels = corrupt(encoder, text.held, seed, most)
        verifier = verifier.of(text.languages)
        source, target = (list(side) for side in zip(*pairs, strict=True))
        columns, known = features(verifier, source, target)
        values.append(columns[known])
        good.append(labels[known])
        contrasts.append(_contrasts(verifier, text, seed, most))
    every, true, names = np.concatenate(values), np.concatenate(good), feature_names(verifier)
    fitted = tuple(name for name in names if name != COMPARED)
    count = len(fitted)
    function = fit_contrasts(every[:, :count], true, np.concatenate(contrasts)[:, :count], fitted)
    if verifier.comparer is not None:
        function = with_comparer(function, every, true)
    return function.as_dict()


def _contrasts(verifier: Verifier, text: LanguageText, seed: int, most: int) -> np.ndarray:
    """Return the features of translations minus the features of their corruptions, ``(c, f)``.

    At most ``most`` held-out translations are corrupted.
    """
    rows = np.random.default_rng([seed, 10]).permutation(len(text.held[0]))[:most].tolist()
    source, target = ([side[row] for row in rows] for side in text.held)
    cases = contrast_cases((source, target), text.languages, seed)
    right, known = features(verifier, source, target)
    originals = np.array([row for row, _ in cases], dtype=np.int64)
    corrupted = [pair for _, pair in cases]
    source, target = ([pair[side] for pair in corrupted] for side in range(2))
    wrong, still = features(verifier, source, target)
    both = known[originals] & still
    return right[originals[both]] - wrong[both]


def fit_contrasts(
    features: np.ndarray, true: np.ndarray, contrasts: np.ndarray, names: tuple[str, ...]
) -> Logistic:
    """Fit a logistic regression to single pairs and to contrast cases, and calibrate it.

    ``true (m,) bool`` on ``features (m, f)``; a contrast case of ``contrasts (c, f)`` is decided
    rightly where the weighted sum of its differences is positive. Single pairs alone calibrate the
    probabilities (Platt 1999).
    """
    if not len(contrasts):
        return fit(features, true, names)
    values = features.astype(np.float64)
    spread = values.std(axis=0)
    spread[spread == 0] = 1
    mean = values[true].mean(axis=0)
    single = np.column_stack([np.ones(len(values)), (values - mean) / spread])
    design = np.concatenate(
        [single, np.column_stack([np.zeros(len(contrasts)), contrasts / spread])]
    )
    each = CONTRASTS * len(single) / len(contrasts)
    penalty = np.full(design.shape[1], (1 + CONTRASTS) * len(single) / INVERSE_PENALTY)
    penalty[0] = 0
    weights = fit_ridge(
        design,
        np.concatenate([true, np.full(len(contrasts), each)]),
        np.concatenate([~true, np.zeros(len(contrasts))]),
        penalty,
        np.zeros(design.shape[1]),
    )
    return calibrated(
        Logistic(names, float(weights[0]), weights[1:] / spread, mean), features, true
    )


def with_comparer(function: Logistic, features: np.ndarray, true: np.ndarray) -> Logistic:
    """Add the comparer's logit, the last column of ``features``, with the weight `COMPARER`."""
    weight, mean = np.append(function.weight, COMPARER), features[true, -1].mean(dtype=np.float64)
    names = (*function.names, COMPARED)
    both = Logistic(names, function.intercept, weight, np.append(function.mean, mean))
    return calibrated(both, features, true)


def calibrated(function: Logistic, features: np.ndarray, true: np.ndarray) -> Logistic:
    """Scale and shift the logits of a function so that they are right for these pairs.

    The order of pairs does not change.
    """
    scale = fit(function.logit(features)[:, None], true, ("logit",))
    slope = float(scale.weight[0])
    intercept = scale.intercept + slope * (function.intercept - float(scale.mean[0]))
    return Logistic(function.names, intercept, slope * function.weight, function.mean)


def corrupt(
    encoder: Encoder, held: tuple[Sequence[str], Sequence[str]], seed: int, most: int = PAIRS
) -> tuple[list[Pair], np.ndarray]:
    """Draw ``most`` of the ``held`` pairs, and corrupt about half of them.

    Returns them and labels ``(n,) bool``, true for pairs that are still translations.
    """
    generator = np.random.default_rng([seed, 9])
    every = list(zip(*held, strict=True))
    usable = [pair for pair in every if min(map(len, pair)) >= SHORTEST] or every
    chosen = [usable[i] for i in generator.permutation(len(usable))[:most].tolist()]
    pairs: list[Pair] = []
    while chosen:
        source, target = chosen.pop()
        if chosen and generator.random() < JOINED:
            more = chosen.pop()
            source, target = f"{source} {more[0]}", f"{target} {more[1]}"
        pairs.append((source, target))
    names = [name for pair in pairs for text in pair for name in _NAME.findall(text)]
    near = _neighbours(encoder, pairs, generator)
    good = generator.random(len(pairs)) < 0.5
    out = list(pairs)
    for row in np.flatnonzero(~good).tolist():
        kind = KINDS[generator.integers(len(KINDS))]
        pair = pairs[row]
        other = pairs[near[row] if generator.random() < 0.5 else generator.integers(len(pairs))]
        flip = generator.random() < 0.5
        if flip:
            pair, other = pair[::-1], other[::-1]
        new = kind(pair, other, names, generator)
        target = other[1] if new is None else new
        out[row] = (target, pair[0]) if flip else (pair[0], target)
        good[row] = out[row] == pairs[row]  # a shuffle may change nothing
    return out, good


def _neighbours(encoder: Encoder, pairs: Sequence[Pair], generator: Generator) -> np.ndarray:
    """Draw for each pair another one whose target is near to its source: ``(n,) int64``."""
    left, right = (
        VectorSet(encoder.on_side(name).encode(side).astype(np.float16), np.arange(len(pairs)))
        for name, side in zip(SIDES, zip(*pairs, strict=True), strict=True)
    )
    settings = SearchSettings(k=NEIGHBORS + 1, device="cpu", threads=encoder.threads)
    forward, _ = nearest_both(left, right, settings)
    rows = np.arange(len(pairs))
    choice = forward.row[rows, generator.integers(forward.row.shape[1], size=len(pairs))]
    # A random other pair where the pair itself was drawn, or nothing.
    any_other = (rows + 1 + generator.integers(max(len(pairs) - 1, 1), size=len(pairs))) % len(
        pairs
    )
    return np.where((choice == rows) | (choice < 0), any_other, choice)


def _misaligned(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str:
    return other[1]


def _cut(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str | None:
    """Keep the beginning or the end of the sentence, a quarter to two thirds of it."""
    words = pair[1].split()
    if len(words) < ENOUGH_WORDS:
        return None
    kept = int(len(words) * generator.uniform(0.25, 0.67))
    return " ".join(words[:kept] if generator.random() < 0.5 else words[-kept:])


def _added(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str:
    both = [pair[1], other[1]]
    return " ".join(both if generator.random() < 0.5 else both[::-1])


def _exchanged(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str | None:
    """Join the first half of the sentence and the second half of another one."""
    words, others = pair[1].split(), other[1].split()
    if min(len(words), len(others)) < ENOUGH_WORDS:
        return None
    return " ".join(words[: len(words) // 2] + others[len(others) // 2 :])


def _renumbered(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str | None:
    def another(match: re.Match[str]) -> str:
        return str(generator.integers(10 ** min(len(match.group()), 9)))

    new = _NUMBER.sub(another, pair[1])
    return None if new == pair[1] else new


def _renamed(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str | None:
    if not names:
        return None
    new = _NAME.sub(lambda match: names[int(generator.integers(len(names)))], pair[1])
    return None if new == pair[1] else new


def _copied(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str:
    return pair[0]


def _shuffled(pair: Pair, other: Pair, names: Sequence[str], generator: Generator) -> str | None:
    words = pair[1].split()
    if len(words) < ENOUGH_WORDS:
        return None
    return " ".join(words[i] for i in generator.permutation(len(words)))


KINDS: tuple[Noise, ...] = (
    _misaligned,
    _cut,
    _added,
    _exchanged,
    _renumbered,
    _renamed,
    _copied,
    _shuffled,
)
