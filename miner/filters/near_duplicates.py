"""The near_duplicates filter: of pairs with nearly the same text, keep the best-scoring one.

It compares the pairs that the filters before it have left, so its result depends on theirs.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from miner.filters.duplicates import plain
from miner.filters.filter_types import GLOBAL, Batch, Comparison, Context, Filter
from miner.libraries import library

# Hashes of a pair's signature, and hashes of one band. Two pairs are compared if all hashes of a
# band agree: with a probability of 0.64 if they share half of their shingles, of more than 0.9999
# if they share four fifths.
HASHES, BAND = 64, 4
SHINGLE = 5  # characters
SEED = 1


def signatures(batch: Batch) -> np.ndarray:
    """MinHash signatures (Broder 1997) of the shingles of both sides: ``(n, HASHES) uint32``."""
    rensa = library("rensa", "near_duplicates")
    shingles = []
    for pair in zip(*batch.sides, strict=True):
        both = ["s" + plain(pair[0]), "t" + plain(pair[1])]
        shingles.append(
            [
                text[start : start + SHINGLE]
                for text in both
                for start in range(max(len(text) - SHINGLE + 1, 1))
            ]
        )
    found = rensa.RMinHash.digests_from_token_sets(shingles, HASHES, SEED)
    return np.array(found, dtype=np.uint32).reshape(len(batch), HASHES)


def _key(band: np.ndarray) -> np.ndarray:
    """Number of a band of signatures ``(m, BAND)``: ``(m,) uint64``."""
    words = np.ascontiguousarray(band).view(np.uint64)
    return np.asarray(words[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ words[:, 1])


class NearDuplicates(Comparison):
    """Comparison by MinHash signatures."""

    field = ("signature", "<u4", HASHES)

    def __init__(self, settings: Mapping[str, Any], context: Context):
        library("rensa", "near_duplicates")  # if missing, raise before any work

    def sketch(self, batch: Batch) -> np.ndarray:
        return signatures(batch)

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        bands = range(0, HASHES, BAND)
        return np.stack([_key(sketches[:, start : start + BAND]) for start in bands], axis=1)

    def of_best(
        self,
        sketches: np.ndarray,
        rows: np.ndarray,
        best: np.ndarray,
        sketches_of: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """Similarity of each pair to a better one, 0 if there is none like it.

        It is the greatest estimated share of common shingles (Jaccard) with the best pair of a
        band, even if that one is removed for a still better one. Bands whose keys collide, one in
        billions, are compared in full like any others.
        """
        alike = np.zeros(len(rows))
        for column in best.T:
            later = np.flatnonzero(column != rows)
            for part in range(0, len(later), 1 << 16):
                own = later[part : part + (1 << 16)]
                same = (sketches[own] == sketches_of(column[own])).mean(axis=1)
                alike[own] = np.maximum(alike[own], same)
        return alike


FILTERS = (
    Filter(
        "near_duplicates",
        "estimated share of shingles in common with a better pair (MinHash), 0 to 1",
        "{value:.0%} the same as a better pair",
        "lower",
        NearDuplicates,
        maximum=0.8,
        stage=GLOBAL,
        libraries=("rensa",),
        paper="Broder 1997",
    ),
)
