"""Examples and statistics of the hardest negatives by size of the mega-batch (P18, P19).

Negatives are chosen by :mod:`miner_train.negatives`, with the vectors of a trained model.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from miner.text.bitext import Bitext
from miner_train.data import text_ids
from miner_train.negatives import choose_negatives


@dataclass(frozen=True)
class Pairs:
    """Sample of n pairs: texts, and their line numbers ``lines (n,) int64``."""

    source: list[str]
    target: list[str]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        """Select pairs by ``rows``, in that order."""
        chosen = rows.tolist()
        return Pairs(
            [self.source[row] for row in chosen],
            [self.target[row] for row in chosen],
            self.lines[rows],
        )


def draw(blocks: Iterable[Bitext], most: int, seed: int) -> Pairs:
    """Draw at most ``most`` pairs at random, in random order, whatever the blocks.

    Each pair gets a random number, and the lowest stay; memory holds the sample only.
    """
    generator = np.random.default_rng(seed)
    kept = Pairs([], [], np.zeros(0, dtype=np.int64))
    keys = np.zeros(0)
    for block in blocks:
        fresh = generator.random(len(block))
        low = np.flatnonzero(fresh < keys[-1]) if len(keys) == most else np.arange(len(block))
        more = Pairs(block.source, block.target, block.lines).take(low)
        keys = np.append(keys, fresh[low])
        order = np.argsort(keys, kind="stable")[:most]
        keys = keys[order]
        lines = np.append(kept.lines, more.lines)
        kept = Pairs(kept.source + more.source, kept.target + more.target, lines).take(order)
    return kept


@dataclass(frozen=True)
class Hardest:
    """Hardest negatives of n pairs, each from the mega-batch of its pair, of ``size`` pairs.

    for_source, for_target: ``(n,) int64``, negatives, counted over both columns of all pairs given,
        sources first; -1 is none.
    translation, against_source, against_target: ``(n,) float32``, cosines of source and target, and
        of each with its negative; -inf without one.
    """

    size: int
    for_source: np.ndarray
    for_target: np.ndarray
    translation: np.ndarray
    against_source: np.ndarray
    against_target: np.ndarray

    def __len__(self) -> int:
        return len(self.translation)


def hardest(
    source: np.ndarray, target: np.ndarray, pairs: Pairs, size: int, either: bool
) -> Hardest:
    """Choose the hardest negatives in mega-batches of ``size`` consecutive pairs.

    ``source, target (N, d) float32`` are unit rows of the sentences of ``pairs``. Pairs after the
    last whole mega-batch are left out; fewer pairs than ``size`` are one mega-batch. ``either``
    takes negatives from both columns, as :func:`miner_train.negatives.choose_negatives` does.
    """
    ids: dict[str, int] = {}
    text = text_ids(pairs.source, ids), text_ids(pairs.target, ids)
    total = len(source)
    size = min(size, total)
    n = total // max(size, 1) * size
    chosen = np.full((2, n), -1)
    nothing = np.random.default_rng(0)  # is not drawn from
    for start in range(0, n, max(size, 1)):
        part = slice(start, start + size)
        found = choose_negatives(
            source[part], target[part], text[0][part], text[1][part], "max", either, nothing
        )
        chosen[:, part] = [_in_all(rows, start, size, total) for rows in found]
    both = np.concatenate([source, target])
    return Hardest(
        size,
        chosen[0],
        chosen[1],
        _cosine(source[:n], target, np.arange(n)),
        _cosine(source[:n], both, chosen[0]),
        _cosine(target[:n], both, chosen[1]),
    )


def _in_all(rows: np.ndarray, start: int, size: int, total: int) -> np.ndarray:
    """Convert rows over both columns of a mega-batch to rows over both columns of all pairs."""
    return np.where(rows < 0, -1, rows + start + (rows >= size) * (total - size))


def _cosine(rows: np.ndarray, base: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    found = np.einsum("nd,nd->n", rows, base[chosen], dtype=np.float64)
    return np.where(chosen < 0, -np.inf, found).astype(np.float32)


@dataclass(frozen=True)
class CosineStatistics:
    """Mean and quartiles of n cosines of sentences with negatives, or with translations.

    nearer: share of negatives that are nearer than the translation. violating: share of negatives
    whose loss (P19, equation 1) is above 0. Both are None for translations.
    """

    n: int
    mean: float
    quartiles: tuple[float, float, float]
    nearer: float | None = None
    violating: float | None = None


def statistics(
    translation: np.ndarray, against: np.ndarray | None = None, margin: float = 0.0
) -> CosineStatistics | None:
    """Statistics of the cosines ``against (n,)`` of negatives, or else of ``translation (n,)``.

    Rows without a negative, -inf, are left out; None if no row is left.
    """
    values = translation if against is None else against
    there = np.isfinite(values)
    values, translation = values[there].astype(np.float64), translation[there].astype(np.float64)
    if not len(values):
        return None
    first, second, third = np.percentile(values, (25, 50, 75)).tolist()
    found = len(values), float(values.mean()), (first, second, third)
    if against is None:
        return CosineStatistics(*found)
    nearer = float(np.mean(values > translation))
    return CosineStatistics(*found, nearer, float(np.mean(values > translation - margin)))
