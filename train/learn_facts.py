"""Predictors of facts (:mod:`miner.scoring.facts`), learned from bitext with English.

Of each language, features and classes that occur together more or less often than by chance get a
weight. FTRL-Proximal (McMahan et al. 2013) learns the weights, and again after the small ones are
dropped. How evidence counts is the same in all languages, unless it contradicts too many held-out
pairs of one.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from miner.kernels import facts as kernel
from miner.ragged import offsets_of
from miner.scoring.fact_reader import Reader
from miner.scoring.facts import Predictor, Tokens, kind_logits, pack
from miner.text.language_codes import ENGLISH
from miner_train.data import SplitPairs
from miner_train.fact_classes import fact_classes
from miner_train.language_texts import rows_by_languages

# Maximum and minimum pairs of a language to learn from.
MOST, FEWEST = 400_000, 1000
# Minimum sentences with a feature, and with a class.
SEEN, PRESENT = 8, 10
# Minimum distance of a feature and a class from independence, in standard deviations.
APART = 3.0
# Maximum features of a class; kinds with few classes have more.
PER_CLASS, OF_FEW = 400, {"negation": 8000, "person": 4000, "opposite": 800}
# Passes before and after small weights are dropped; rate, sparsity and decay of FTRL-Proximal.
PASSES, RATE, SPARSE, DECAY = (6, 5), 1.0, 0.5, 0.5
# Maximum weights of a language by kind, and the smallest absolute weight that is kept.
WEIGHTS = {"negation": 4500, "number": 2000, "person": 6000, "time": 1000, "opposite": 5000}
LEAST = 0.05
# Logit of a class that the text of a language hardly has.
UNSEEN = -1.0
# Held-out pairs of a language that the evidence is checked on, and how many of them are joined to
# one: longer sentences have more to be wrong about.
HELD, JOINED = 4000, (1, 1, 1, 2, 3, 5)
# Weights of the evidence of each kind (:func:`miner.scoring.facts.kind_logits`), chosen on the
# development part of `python -m benchmarks contrast`; those of persons on labelled text as well.
# The last weight is for the logarithm of length / USUAL_LENGTH, because long sentences are
# translated more freely.
EVIDENCE = {
    "negation": (17.5, -6.5, -7.5, -5.5, 14.0),
    "number": (21.0, -2.7, -1.6, -4.0, 3.6),
    "person": (33.0, -5.4, 0.0, 0.0, 18.0),
    "time": (37.0, -4.9, -3.2, -9.0, 16.0),
    "opposite": (22.0, -4.9, -0.5, 0.0, 11.5),
}
USUAL_LENGTH = 9
# Most held-out pairs of a language that a kind may contradict, as a share.
MOST_CONTRADICTED = 0.02


class Examples(NamedTuple):
    """Pairs of a language with English: token ids of the other side, and marks ``(n, k)``."""

    tokens: Tokens
    seen: np.ndarray


def learn_facts(split: SplitPairs, translations: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Learn the arrays of :mod:`miner.scoring.facts`; none without text that has English.

    ``translations``: rows of the training pairs that are translations. The token ids of the text
    are those of the model.
    """
    classes = fact_classes()
    reader = Reader(classes)
    training, held = (_by_language(split, rows) for rows in (translations, split.held))
    learned, tested, right = {}, {}, {}
    for number, (code, sides) in enumerate(sorted(training.items())):
        generator = np.random.default_rng([seed, 21, number])
        examples = _examples(split, sides, reader, MOST, generator)
        if len(examples.seen) < FEWEST:
            continue
        arguments, known = _learn(reader, examples, generator)
        learned[code] = arguments
        tested[code] = np.where(known, reader.tested, reader.tested & kernel.ADDED)
        if code in held:
            check = _examples(split, held[code], reader, HELD, generator, JOINED)
            logits = Predictor.of(*arguments).logits(check.tokens)
            evidence = reader.evidence(logits, check.seen, tested[code])
            right[code] = evidence, np.diff(check.tokens[1])
    if not learned:
        return {}
    weights = _weigh(reader.kinds, right, learned)
    return pack(classes, learned, tested, weights)


def _by_language(split: SplitPairs, rows: np.ndarray) -> dict[str, list[tuple[int, np.ndarray]]]:
    """Return side of the English sentence and rows of pairs with English, by the other language."""
    by_language: dict[str, list[tuple[int, np.ndarray]]] = {}
    for pair, pair_rows in rows_by_languages(split, rows).items():
        if pair.count(ENGLISH) == 1:
            side = pair.index(ENGLISH)
            by_language.setdefault(pair[1 - side], []).append((side, pair_rows))
    return by_language


def _examples(
    split: SplitPairs,
    sides: Sequence[tuple[int, np.ndarray]],
    reader: Reader,
    most: int,
    generator: np.random.Generator,
    joined: Sequence[int] = (1,),
) -> Examples:
    """Draw at most so many pairs of a language, ``joined`` by so many at random."""
    ids, counts, seen = [], [], []
    total = sum(len(rows) for _, rows in sides)
    for side, rows in sides:
        share = min(len(rows), -(-most * len(rows) // max(total, 1)))
        chosen = np.sort(generator.permutation(rows)[:share])
        texts = split.text(chosen)
        tokens = (split.pairs.target if side == 0 else split.pairs.source).take(chosen)
        ids.append(tokens.ids)
        sizes = generator.choice(joined, len(chosen))
        starts = np.append(0, np.minimum(np.cumsum(sizes), len(chosen)))
        starts = np.unique(starts)
        counts.append(np.diff(tokens.offsets[starts]))
        english, other = (
            [" ".join(texts[column][a:b]) for a, b in pairwise(starts.tolist())]
            for column in (side, 1 - side)
        )
        seen.append(reader.read(english, other))
    return Examples((np.concatenate(ids), offsets_of(np.concatenate(counts))), np.concatenate(seen))


def _learn(
    reader: Reader, examples: Examples, generator: np.random.Generator
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Learn the arguments of `Predictor.of`, and which classes have text enough ``(k,) bool``."""
    (ids, offsets), seen = examples
    buckets = np.empty((len(ids), 2), np.int32)
    kernel.list_features(ids, offsets, kernel.BITS, buckets)
    count = np.bincount(buckets.ravel(), minlength=1 << kernel.BITS)
    features = np.flatnonzero(count >= SEEN)
    number_of = np.full(1 << kernel.BITS, -1, np.int32)
    number_of[features] = np.arange(len(features), dtype=np.int32)
    rows = number_of[buckets]
    present = (seen == kernel.PRESENT).sum(axis=0)
    share = np.clip(present / len(seen), 1e-5, 1 - 1e-5)
    known = present >= PRESENT
    most = np.array([OF_FEW.get(reader.kinds[kind], PER_CLASS) for kind in reader.kind]) * known
    feature, owner = _candidates(rows, offsets, seen, count[features], share, most)
    weights, constants = _fit((rows, offsets, seen), feature, owner, share, PASSES[0], generator)
    impact = np.abs(weights) * np.sqrt(np.minimum(count[features][feature], 10_000))
    kept = np.abs(weights) > LEAST
    for kind, name in enumerate(reader.kinds):
        mask = kept & (reader.kind[owner] == kind)
        if mask.sum() > WEIGHTS[name]:
            kept[mask] = impact[mask] >= np.sort(impact[mask])[-WEIGHTS[name]]
    feature, owner = feature[kept], owner[kept]
    weights, constants = _fit(
        (rows, offsets, seen), feature, owner, share, PASSES[1], generator, sparse=0.0
    )
    used, counts = np.unique(feature, return_counts=True)
    constants[~known] = UNSEEN
    return (features[used], counts, owner, weights, constants), known


def _candidates(
    rows: np.ndarray,
    offsets: np.ndarray,
    seen: np.ndarray,
    count: np.ndarray,
    share: np.ndarray,
    most: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes that are not independent, sorted: of a class ``most (k,)``."""
    together = np.zeros((len(count), seen.shape[1]), np.int32)
    kernel.count(rows, offsets, seen, together)
    features, owners = [], []
    for number in np.flatnonzero(most).tolist():
        p = share[number]
        apart = (together[:, number] - count * p) / np.sqrt(count * p * (1 - p) + 1)
        found = np.flatnonzero(np.abs(apart) >= APART)
        if len(found) > most[number]:
            best = np.argsort(-np.abs(apart[found]), kind="stable")[: most[number]]
            found = found[best]
        features.append(found)
        owners.append(np.full(len(found), number))
    if not features:
        return np.empty(0, np.int64), np.empty(0, np.int32)
    feature, owner = np.concatenate(features), np.concatenate(owners)
    order = np.lexsort((owner, feature))
    return feature[order], owner[order].astype(np.int32)


def _fit(
    text: tuple[np.ndarray, np.ndarray, np.ndarray],
    feature: np.ndarray,
    owner: np.ndarray,
    share: np.ndarray,
    passes: int,
    generator: np.random.Generator,
    sparse: float = SPARSE,
) -> tuple[np.ndarray, np.ndarray]:
    """Learn the weights of pairs of feature and class, and the constants of the classes."""
    rows, offsets, seen = text
    used, counts = np.unique(feature, return_counts=True)
    number_of = np.full(int(rows.max(initial=0)) + 1, -1, np.int32)
    number_of[used] = np.arange(len(used), dtype=np.int32)
    kept = np.where(rows >= 0, number_of[rows], np.int32(-1))
    starts = offsets_of(counts).astype(np.int32)
    weights, sums, squares = (np.zeros(len(feature), np.float32) for _ in range(3))
    constants = np.log(share / (1 - share)).astype(np.float32)
    for _ in range(passes):
        order = generator.permutation(len(seen))
        settings = RATE, sparse, DECAY
        kernel.learn(
            kept, offsets, seen, order, starts, owner, *settings, weights, constants, sums, squares
        )
    return weights, constants


def _weigh(
    kinds: Sequence[str], held: Mapping[str, tuple[np.ndarray, np.ndarray]], codes: Iterable[str]
) -> dict[str, np.ndarray]:
    """Return the weights of the evidence of each language, ``(kinds, 5)``.

    ``held``: evidence and lengths of held-out pairs, which few kinds of facts may contradict.
    """
    usual = np.array([EVIDENCE[kind] for kind in kinds])
    usual[:, 0] -= usual[:, -1] * np.log(USUAL_LENGTH)
    weights = {}
    for code in codes:
        weights[code] = usual.copy()
        if code in held:
            low = np.quantile(kind_logits(*held[code], usual), MOST_CONTRADICTED, axis=0)
            weights[code][:, 0] += np.maximum(0, -low)
    return weights
