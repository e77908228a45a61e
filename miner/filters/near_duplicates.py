"""Filter `near_duplicates`: of pairs with nearly the same text, keep the best-scoring one.

It compares the pairs kept by the filters before it, so its result depends on theirs.
"""

import numpy as np

from miner.filters.filter_types import GLOBAL, Batch, Comparison, Filter, Rivals
from miner.text import near_copies
from miner.text.near_copies import HASHES, shingles, told


def signatures(batch: Batch) -> np.ndarray:
    """MinHash signatures of the shingles of both sides: ``(n, HASHES) uint32``."""
    sets = [
        [*shingles("s" + told(source)), *shingles("t" + told(target))]
        for source, target in zip(*batch.sides, strict=True)
    ]
    return near_copies.signatures(sets)


class NearDuplicates(Comparison):
    """Comparison by MinHash signatures."""

    field = ("signature", "<u4", HASHES)

    def sketch(self, batch: Batch) -> np.ndarray:
        return signatures(batch)

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        return near_copies.band_keys(sketches)

    def scores(self, rivals: Rivals) -> np.ndarray:
        """Return the similarity of each pair to a better one, 0 if there is none like it.

        It is the greatest estimated share of common shingles (Jaccard) with the best pair of a
        band, even if that pair is removed for a still better one. Bands with colliding keys, one in
        billions, are compared in full like any others.
        """
        alike = np.zeros(len(rivals.rows))
        for column in rivals.best.T:
            later = np.flatnonzero(column != rivals.rows)
            for part in range(0, len(later), 1 << 16):
                own = later[part : part + (1 << 16)]
                same = (rivals.sketches[own] == rivals.sketches_of(column[own])).mean(axis=1)
                alike[own] = np.maximum(alike[own], same)
        return alike


FILTERS = (
    Filter(
        "near_duplicates",
        "estimated share of common shingles with a better pair (MinHash), 0 to 1",
        "{value:.0%} the same as a better pair",
        "lower",
        lambda settings, context: NearDuplicates(),
        maximum=0.8,
        stage=GLOBAL,
        libraries=("rensa",),
        paper="Broder 1997",
        range=(0, 1),
    ),
)
