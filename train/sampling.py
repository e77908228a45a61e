"""Samples of pairs: the order of an epoch, by language pair, and draws by length.

Temperature: Arivazhagan et al. 2019, "Massively multilingual neural machine translation in the
wild", section 3.2.
"""

from collections.abc import Sequence

import numpy as np

from miner_train.config import TrainConfig


def epoch_order(language: np.ndarray, config: TrainConfig, epoch: int) -> np.ndarray:
    """Return the rows of an epoch in order, ``(n,) int64``.

    ``language (n,) int16`` are the numbers of the language pairs. Each row occurs once, or as often
    as the temperature requires. In the last ``config.apart`` epochs each batch has a single
    language pair; rows that do not fill a batch come last, mixed. A single language pair has no
    repeats.
    """
    n = len(language)
    generator = np.random.default_rng([config.seed, 3, epoch])
    order = generator.permutation(n)
    if not n or (language == language[0]).all():
        return order
    if config.temperature != 1:
        order = generator.permutation(_resampled(order, language, config.temperature, generator))
    if epoch < config.epochs - config.apart:
        return order
    return _by_batches(order, language, config.batch * config.megabatch, generator)


def shares(counts: np.ndarray, temperature: float) -> np.ndarray:
    """Return how many pairs of each language pair an epoch takes, ``(m,) int64``.

    ``counts (m,)``: available pairs. The shares are in proportion to ``counts ** (1 /
    temperature)`` and have the same sum.
    """
    weights = counts ** (1 / temperature)
    exact = counts.sum() * weights / weights.sum()
    rounded = np.floor(exact).astype(np.int64)
    missing = int(counts.sum() - rounded.sum())
    rounded[np.argsort(rounded - exact, kind="stable")[:missing]] += 1
    return rounded


def drawn_by_length(
    sentences: Sequence[str], most: int, generator: np.random.Generator
) -> np.ndarray:
    """Draw at most ``most`` rows, with probabilities in proportion to the sentences' lengths."""
    lengths = np.fromiter(map(len, sentences), dtype=np.float64, count=len(sentences))
    # The largest u^(1/w) are a sample without replacement with weights w.
    keys = generator.random(len(lengths)) ** (1 / np.maximum(lengths, 1))
    return np.argsort(-keys, kind="stable")[:most]


def _by_batches(
    order: np.ndarray, language: np.ndarray, size: int, generator: np.random.Generator
) -> np.ndarray:
    """Sort ``order`` into batches of one language pair each, in random order, then the rest."""
    groups = [order[language[order] == number] for number in np.unique(language[order])]
    batches = [
        rows[start : start + size]
        for rows in groups
        for start in range(0, len(rows) - size + 1, size)
    ]
    rest = np.concatenate([rows[len(rows) - len(rows) % size :] for rows in groups])
    chosen = [batches[i] for i in generator.permutation(len(batches))]
    return np.concatenate([*chosen, generator.permutation(rest)])


def _resampled(
    order: np.ndarray, language: np.ndarray, temperature: float, generator: np.random.Generator
) -> np.ndarray:
    """Repeat or drop rows of ``order``, so that each language pair has its share."""
    groups = [order[language[order] == number] for number in np.unique(language)]
    takes = shares(np.array([len(rows) for rows in groups]), temperature)
    parts = []
    for rows, share in zip(groups, takes.tolist(), strict=True):
        passes = -(-share // len(rows))
        parts += [generator.permutation(rows) for _ in range(passes - 1)]
        if share:
            parts.append(generator.permutation(rows)[: share - (passes - 1) * len(rows)])
    return np.concatenate(parts)
