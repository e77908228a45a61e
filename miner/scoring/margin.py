"""Margin scores: from neighbour lists in both directions to scored candidates.

After Artetxe & Schwenk 2019, *Margin-based Parallel Corpus Mining with Multilingual Sentence
Embeddings* (A19 below), section 3. Some sentences are close to everything, so a cosine is compared
with the mean cosine of both sentences to their nearest neighbours.

Candidates of a large search are joined block by block (:class:`CandidateBlocks`).
:mod:`miner.scoring.matching` selects pairs among them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miner.arrays import Columns
from miner.knn.neighbors import Neighbors
from miner.option_values import MARGINS, canonical
from miner.ragged import offsets_of

# Lists averaged at a time.
LISTS = 1 << 15
# Place of a source in the list of a target.
PLACE = np.dtype([("source", "<i4"), ("target", "<i4"), ("place", "<i2"), ("similarity", "<f4")])
# Minimum denominator of the ratio margin. The neighbourhood mean of a sentence that resembles
# nothing is near zero or negative. Divided by it, a poor cosine would become a huge score, and two
# negatives a good one. Below the floor the score is ten times the cosine.
RATIO_FLOOR = 0.1


@dataclass(frozen=True, eq=False)
class Candidates(Columns):
    """Scored sentence pairs as columns of one length, each pair (source, target) once.

    score: (m,) float64, by the chosen margin; thresholds apply to it
    source_row, target_row: (m,) int64
    similarity: (m,) float32, the cosine
    margin_ratio: (m,) float64, the ratio margin, also where ``score`` is another one
    forward_rank: (m,) int16, 1-based place of the target among the source's neighbours;
        0 = not among them
    backward_rank: (m,) int16, the same for the source among the target's neighbours

    Scores are float64 because numpy rounds a Python threshold to the type of the array it is
    compared with: against float32 scores a threshold would not cut where it says.

    Raises ``ValueError`` when the columns differ in length or a score is NaN.
    """

    score: NDArray[np.float64]
    source_row: NDArray[np.int64]
    target_row: NDArray[np.int64]
    similarity: NDArray[np.float32]
    margin_ratio: NDArray[np.float64]
    forward_rank: NDArray[np.int16]
    backward_rank: NDArray[np.int16]

    def __post_init__(self) -> None:
        if len({np.shape(getattr(self, field.name)) for field in fields(self)}) != 1:
            raise ValueError("the columns of candidates differ in length")
        refuse_nan(self.score)

    @classmethod
    def zeros(cls, size: int) -> Candidates:
        """Return ``size`` pairs with zero columns."""
        columns: list[Any] = [np.zeros(size, dtype) for dtype in DTYPES]
        return cls(*columns)


# Types of the columns of Candidates.
DTYPES = (np.float64, np.int64, np.int64, np.float32, np.float64, np.int16, np.int16)


def neighborhood_mean(neighbors: Neighbors) -> NDArray[np.float32]:
    """Return the mean similarity of each sentence to its neighbours, (n,) float32: A19, eq. 2.

    Lists shorter than k, in a corpus smaller than k, are averaged over their length. A sentence
    without neighbours has 0.
    """
    mean = np.empty(len(neighbors), dtype=np.float32)
    for start in range(0, len(neighbors), LISTS):
        part = slice(start, start + LISTS)
        exists = neighbors.row[part] >= 0
        # A float64 sum of a few float32 cosines is exact except for the last bits, which rounding
        # to float32 drops: the mean does not depend on the order of the list or on its padding.
        total = np.where(exists, neighbors.similarity[part], 0).sum(axis=1, dtype=np.float64)
        mean[part] = total / np.maximum(exists.sum(axis=1), 1)
    return mean


def margin_score(
    similarity: ArrayLike, source_mean: ArrayLike, target_mean: ArrayLike, margin: str = "ratio"
) -> NDArray[np.float64]:
    """Score pairs by a margin: A19, eq. 2 and the three margin functions of section 3.

    With b = (source_mean + target_mean) / 2, elementwise and in float64: ``absolute`` cos,
    ``distance`` cos - b, ``ratio`` cos / max(b, RATIO_FLOOR). The means are the
    :func:`neighborhood_mean` of each pair's two sentences, broadcast against the cosines
    ``similarity``. Raises ``ValueError`` for an unknown margin or a NaN in its inputs.
    """
    margin = canonical(margin, MARGINS)
    cosine = np.asarray(similarity, dtype=np.float64)
    source = np.asarray(source_mean, dtype=np.float64)
    target = np.asarray(target_mean, dtype=np.float64)
    mean = (source + target) / 2
    if margin == "absolute":
        score = np.broadcast_to(cosine, np.broadcast_shapes(cosine.shape, mean.shape)).copy()
    elif margin == "distance":
        score = np.asarray(cosine - mean)
    else:
        score = np.asarray(cosine / np.maximum(mean, RATIO_FLOOR))
    refuse_nan(score)
    return score


def candidates(forward: Neighbors, backward: Neighbors, margin: str = "ratio") -> Candidates:
    """Score every pair in the lists of either direction, once (A19, section 3).

    ``forward`` has the neighbours of the sources among the targets, ``backward`` the reverse;
    ``margin`` is one of ``MARGINS``. Returns the pairs sorted by (source_row, target_row). A pair
    in both lists has both ranks and the forward similarity, which equals the backward one wherever
    the search scores exactly. A rank is the position in the list; of a target listed twice it is
    the better one.

    Raises ``ValueError`` for an unknown margin or a row outside the other corpus.
    """
    blocks = CandidateBlocks(forward, Listed.of(backward, len(forward)), margin)
    return blocks.block(0, len(forward))


@dataclass(frozen=True, eq=False)
class Listed:
    """Places of n sources in the neighbour lists of all m targets.

    ``target (l,) int64``, ``place (l,) int16`` and ``similarity (l,) float32`` are a ragged array:
    sorted by source, then by target and place; source ``i`` begins at ``starts[i]``. ``mean (m,)
    float32`` is the :func:`neighborhood_mean` of each target.
    """

    starts: NDArray[np.int64]
    target: NDArray[np.int64]
    place: NDArray[np.int16]
    similarity: NDArray[np.float32]
    mean: NDArray[np.float32]

    @classmethod
    def of(cls, lists: Neighbors, sources: int) -> Listed:
        """Sort the targets' lists by source. Raises ValueError for a row beyond the ``sources``."""
        _refuse_beyond("backward", lists, sources)
        span = 0, sources
        return cls.of_places(list_places(lists, span), span, neighborhood_mean(lists))

    @classmethod
    def of_places(cls, places: np.ndarray, span: tuple[int, int], mean: np.ndarray) -> Listed:
        """Sort :func:`list_places` ``places (l,)`` by source.

        ``span``: range of the sources; their rows count from its start. ``mean``: neighbourhood
        means of all targets.
        """
        source = places["source"] - span[0]
        order = np.argsort(source, kind="stable")
        starts = offsets_of(np.bincount(source, minlength=span[1] - span[0]))
        target = places["target"][order].astype(np.int64)
        return cls(starts, target, places["place"][order], places["similarity"][order], mean)


def list_places(lists: Neighbors, span: tuple[int, int], first: int = 0) -> np.ndarray:
    """Return the places of a span of sources in the lists of targets: ``(l,)`` of `PLACE`.

    They are sorted by target and place. The targets count from ``first``.
    """
    target, slot = np.nonzero((lists.row >= span[0]) & (lists.row < span[1]))
    places = np.empty(len(target), dtype=PLACE)
    places["source"], places["target"] = lists.row[target, slot], target + first
    places["place"], places["similarity"] = slot, lists.similarity[target, slot]
    return places


class CandidateBlocks:
    """Candidates of a search in blocks of sources, so that memory is bounded.

    Every pair is in the block of its source; the concatenated blocks are the result of
    :func:`candidates`. ``copies`` holds a number for each source, then for each target (0 for those
    missing at the end): sentences with the same number above 0 are copies, and not candidates for
    each other.
    """

    def __init__(
        self,
        forward: Neighbors,
        backward: Listed,
        margin: str = "ratio",
        copies: tuple[np.ndarray, np.ndarray] | None = None,
    ):
        self.margin = canonical(margin, MARGINS)
        self.forward, self.backward, self.copies = forward, backward, copies
        self.targets = len(backward.mean)
        _refuse_beyond("forward", forward, self.targets)
        self.means = neighborhood_mean(forward), backward.mean

    @property
    def most(self) -> int:
        """Maximum number of candidates."""
        return int(self.forward.row.size + len(self.backward.target))

    def spans(self, size: int) -> list[tuple[int, int]]:
        """Cut the sources into blocks of about ``size`` candidates, at least one source each."""
        starts = self.backward.starts
        most = starts + self.forward.row.shape[1] * np.arange(len(starts))
        edges = np.searchsorted(most, np.arange(0, most[-1], size))
        edges = np.unique(np.append(edges, len(self.forward)))
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def block(self, start: int, end: int) -> Candidates:
        """Return the candidates of the sources from ``start`` to ``end``, exclusive."""
        n_target, backward = self.targets, self.backward
        # One integer per pair, because sorting it is several times faster than sorting two columns.
        source, slot = np.nonzero(self.forward.row[start:end] >= 0)
        source += start
        forward_key = source * n_target + self.forward.row[source, slot]
        # np.unique keeps the first occurrence, which has the best rank, because lists are sorted.
        forward_key, first = np.unique(forward_key, return_index=True)
        forward_place = slot[first]
        forward_similarity = self.forward.similarity[source[first], forward_place]

        part = slice(backward.starts[start], backward.starts[end])
        source = np.repeat(np.arange(start, end), np.diff(backward.starts[start : end + 1]))
        backward_key = source * n_target + backward.target[part]
        backward_key, first = np.unique(backward_key, return_index=True)
        backward_place = backward.place[part][first]
        backward_similarity = backward.similarity[part][first]

        # Sorted explicitly, because np.union1d hashes from numpy 2.3 on, which is many times slower
        # here.
        key = np.sort(np.concatenate((forward_key, backward_key)))
        key = key[run_starts(key)]
        apart = self._apart(key)
        in_forward = np.searchsorted(key, forward_key)
        in_backward = np.searchsorted(key, backward_key)
        similarity = np.zeros(len(key), dtype=np.float32)
        similarity[in_backward] = backward_similarity
        similarity[in_forward] = forward_similarity
        forward_rank = np.zeros(len(key), dtype=np.int16)
        forward_rank[in_forward] = forward_place + 1
        backward_rank = np.zeros(len(key), dtype=np.int16)
        backward_rank[in_backward] = backward_place + 1
        if apart is not None:
            key, similarity = key[apart], similarity[apart]
            forward_rank, backward_rank = forward_rank[apart], backward_rank[apart]

        # Without target sentences there are no pairs; the 1 only avoids 0 // 0.
        source_row, target_row = np.divmod(key, max(n_target, 1))
        means = self.means[0][source_row], self.means[1][target_row]
        ratio = margin_score(similarity, *means, "ratio")
        score = ratio if self.margin == "ratio" else margin_score(similarity, *means, self.margin)
        return Candidates(
            score, source_row, target_row, similarity, ratio, forward_rank, backward_rank
        )

    def without(self, partner: np.ndarray) -> CandidateBlocks:
        """Return the candidates of the sources that have a ``partner (n,)``, without it; -1: none.

        The other sources have no candidates.
        """
        lists, listed = self.forward, self.backward
        gone = (lists.row == partner[:, None]) | (partner < 0)[:, None]
        order = np.argsort(gone, axis=1, kind="stable")
        columns = np.where(gone, 0, lists.similarity), np.where(gone, -1, lists.row)
        forward = Neighbors(*(np.take_along_axis(column, order, axis=1) for column in columns))
        source = np.repeat(np.arange(len(partner)), np.diff(listed.starts))
        left = (partner[source] >= 0) & (listed.target != partner[source])
        backward = Listed(
            offsets_of(np.bincount(source[left], minlength=len(partner))),
            listed.target[left],
            listed.place[left],
            listed.similarity[left],
            listed.mean,
        )
        return CandidateBlocks(forward, backward, self.margin, self.copies)

    def _apart(self, key: np.ndarray) -> np.ndarray | None:
        """Return a mask of the pairs that are not copies; None if there are no copies."""
        if self.copies is None:
            return None
        source, target = np.divmod(key, max(self.targets, 1))
        source_numbers, target_numbers = self.copies
        number = source_numbers[source]
        copies = np.flatnonzero((number > 0) & (target < len(target_numbers)))
        copies = copies[target_numbers[target[copies]] == number[copies]]
        if not len(copies):
            return None
        apart = np.ones(len(key), bool)
        apart[copies] = False
        return apart


def _refuse_beyond(name: str, neighbors: Neighbors, size: int) -> None:
    """Raise ValueError for neighbours that name a row beyond the ``size`` of the other side."""
    if neighbors.row.size and neighbors.row.max() >= size:
        raise ValueError(
            f"the {name} neighbours name row {neighbors.row.max()}, "
            f"but the other side has {size} sentences"
        )


def run_starts(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a (m,) mask of the first value of each run of equal values."""
    starts = np.ones(len(values), dtype=np.bool_)
    starts[1:] = values[1:] != values[:-1]
    return starts


def refuse_nan(score: NDArray[np.floating]) -> None:
    """Raise ``ValueError`` for a NaN score, which cannot be ordered."""
    if np.isnan(score).any():
        raise ValueError("a score or similarity is NaN")
