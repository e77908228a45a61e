"""Order of the pairs of an epoch: language pairs sampled by temperature, batches of one or of all.

Temperature: Arivazhagan et al. 2019, "Massively multilingual neural machine translation in the
wild", section 3.2.
"""

import numpy as np

from miner_train.config import TrainConfig


def epoch_order(
    language: np.ndarray, config: TrainConfig, epoch: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the order of an epoch, and the ends of the runs that batches stay within.

    ``language (n,) int16`` are the numbers of the pairs' language pairs; pairs of unknown languages
    share one number. The order ``(n,) int64`` holds each row once, or as often as the temperature
    asks. ``ends (m,) int64`` ascend to ``n``: one run, or runs of one language pair each, in random
    order. Seed and epoch decide everything. A single language pair is one run without repeats.
    """
    n = len(language)
    generator = np.random.default_rng([config.seed, 3, epoch])
    order = generator.permutation(n)
    several = n > 0 and (language != language[0]).any()
    if several and config.temperature != 1:
        order = generator.permutation(_resampled(order, language, config.temperature, generator))
    if not several or config.batches == "mixed":
        return order, np.array([n])
    most = config.batch * config.megabatch
    runs = [
        run
        for rows in _by_language(order, language)
        # Equal parts, since a remainder of a few pairs would make a batch of few negatives.
        for run in np.array_split(rows, -(-len(rows) // most))
    ]
    runs = [runs[i] for i in generator.permutation(len(runs))]
    order = np.concatenate([order[:0], *runs])
    return order, np.cumsum([len(run) for run in runs], dtype=np.int64)


def shares(counts: np.ndarray, temperature: float) -> np.ndarray:
    """Return how many pairs of each language pair an epoch takes, ``(m,) int64``.

    ``counts (m,)`` are the pairs there are. The shares are in proportion to
    ``counts ** (1 / temperature)`` and have the same sum.
    """
    weights = counts ** (1 / temperature)
    exact = counts.sum() * weights / weights.sum()
    found = np.floor(exact).astype(np.int64)
    missing = int(counts.sum() - found.sum())
    found[np.argsort(found - exact, kind="stable")[:missing]] += 1
    return found


def _resampled(
    order: np.ndarray, language: np.ndarray, temperature: float, generator: np.random.Generator
) -> np.ndarray:
    """Repeat or leave out rows of ``order``, so that each language pair has its share."""
    groups = _by_language(order, language)
    takes = shares(np.array([len(rows) for rows in groups]), temperature)
    found = [order[:0]]
    for rows, share in zip(groups, takes.tolist(), strict=True):
        passes = -(-share // len(rows))
        found += [generator.permutation(rows) for _ in range(passes - 1)]
        if share:
            found.append(generator.permutation(rows)[: share - (passes - 1) * len(rows)])
    return np.concatenate(found)


def _by_language(order: np.ndarray, language: np.ndarray) -> list[np.ndarray]:
    """Split rows by language pair, each part in the order given."""
    numbers = language[order]
    return [order[numbers == number] for number in np.unique(numbers)]
