"""What the negatives of a mega-batch are like, for people to look at (P18, P19).

The choice is that of :mod:`train.negatives`, by the vectors of a model that is trained already.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from miner.text.bitext import Bitext
from train.data import text_ids
from train.negatives import choose_negatives, nearest_reference


@dataclass(frozen=True)
class Pairs:
    """n pairs that were drawn: texts, and ``lines (n,) int64``, where they stand."""

    source: list[str]
    target: list[str]
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        """The pairs ``rows``, in that order."""
        chosen = rows.tolist()
        return Pairs(
            [self.source[row] for row in chosen],
            [self.target[row] for row in chosen],
            self.lines[rows],
        )


def draw(blocks: Iterable[Bitext], most: int, seed: int) -> Pairs:
    """``most`` pairs at random, in random order, or all of fewer; the same for any blocks.

    A pair gets a random number as it is read, and the lowest stay. Memory holds what is drawn.
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
        kept = Pairs(
            kept.source + more.source,
            kept.target + more.target,
            np.append(kept.lines, more.lines),
        ).take(order)
    return kept


@dataclass(frozen=True)
class Hardest:
    """The hardest negatives of n pairs, each from the mega-batch of its pair.

    size: pairs of a mega-batch. for_source, for_target: ``(n,) int64``, the negative of each
    source and of each target, counted over both columns of all pairs that were given, the sources
    first; -1 is none. translation, against_source, against_target: ``(n,) float32``, cosines of
    the two sentences, of the source with its negative, and of the target with its; -inf for none.
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
    """The hardest negatives where ``size`` pairs after another make a mega-batch.

    ``source, target (N, d) float32`` are unit rows of the sentences of ``pairs``. Pairs behind
    the last whole mega-batch are left out; fewer than one are one. ``either`` takes negatives from
    both columns, as :func:`train.negatives.choose_negatives` does.
    """
    ids: dict[str, int] = {}
    text = text_ids(pairs.source, ids), text_ids(pairs.target, ids)
    total = len(source)
    size = min(size, total)
    n = total // max(size, 1) * size
    chosen = np.full((2, n), -1)
    for start in range(0, n, max(size, 1)):
        part = slice(start, start + size)
        found = choose_negatives(
            source[part],
            target[part],
            text[0][part],
            text[1][part],
            "max",
            either,
            np.random.default_rng(0),  # draws nothing
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


def hardest_reference(
    source: np.ndarray, target: np.ndarray, pairs: Pairs, size: int, either: bool
) -> tuple[list[int], list[int]]:
    """``for_source`` and ``for_target`` of :func:`hardest`, by whole matrices, a row at a time."""
    total = len(source)
    size = min(size, total)
    texts = [*pairs.source, *pairs.target]
    chosen: tuple[list[int], list[int]] = [], []
    for start in range(0, total - size + 1, max(size, 1)):
        rows = range(start, start + size)
        left, right = (
            np.array([texts.index(side[row]) for row in rows], dtype=np.int64)
            for side in (pairs.source, pairs.target)
        )
        found = nearest_reference(source[rows], target[rows], left, right, either)
        for side, negatives in zip(chosen, found, strict=True):
            for row in negatives.tolist():
                column, place = divmod(row, max(size, 1))
                side.append(-1 if row < 0 else column * total + start + place)
    return chosen


def _in_all(rows: np.ndarray, start: int, size: int, total: int) -> np.ndarray:
    """Rows over both columns of a mega-batch as rows over those of all pairs."""
    return np.where(rows < 0, -1, rows + start + (rows >= size) * (total - size))


def _cosine(rows: np.ndarray, base: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    found = np.einsum("nd,nd->n", rows, base[chosen], dtype=np.float64)
    return np.where(chosen < 0, -np.inf, found).astype(np.float32)


@dataclass(frozen=True)
class Figures:
    """Of n cosines with negatives, or with translations: ``quartiles`` are the three of them.

    nearer: the share of negatives that are nearer than the translation. violating: the share that
    is not farther than it by the margin, for which the loss of P19 (equation 1) is above 0. Of
    translations, and of nothing, these are None.
    """

    n: int
    mean: float
    quartiles: tuple[float, float, float]
    nearer: float | None = None
    violating: float | None = None


def figures(
    translation: np.ndarray, against: np.ndarray | None = None, margin: float = 0.0
) -> Figures | None:
    """Figures of the cosines ``against (n,)`` of negatives, or else of ``translation (n,)``.

    Places without a negative, -inf, are left out; None where nothing is left.
    """
    values = translation if against is None else against
    there = np.isfinite(values)
    values, translation = values[there].astype(np.float64), translation[there].astype(np.float64)
    if not len(values):
        return None
    first, second, third = np.percentile(values, (25, 50, 75)).tolist()
    found = len(values), float(values.mean()), (first, second, third)
    if against is None:
        return Figures(*found)
    nearer = float(np.mean(values > translation))
    return Figures(*found, nearer, float(np.mean(values > translation - margin)))
