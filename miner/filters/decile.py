"""The decile filter: keep the best tenths of the pairs by another filter's score."""

import numpy as np

from miner.filters.filter_types import GLOBAL, Comparison, Filter, Setting


class Decile(Comparison):
    """Tenths of the pairs that are left, by rank."""

    by = "place"

    def of_places(self, place: np.ndarray, total: int) -> np.ndarray:
        """Tenth of each pair, 1 (the worst) to 10, by its place, 0 for the best of all."""
        return np.asarray(np.floor((total - 1 - place) * 10 / max(total, 1)) + 1)


FILTERS = (
    Filter(
        "decile",
        "tenth of the pairs left that a pair's score is in, from 1, the worst, to 10",
        "in tenth {value:.0f} of 10, counted from the worst",
        "higher",
        lambda settings, context: Decile(),
        minimum=9,
        settings={"of": Setting("cosine", "label of the filter whose score counts", score=True)},
        stage=GLOBAL,
        whole=True,
        relative=True,
        paper="Wieting & Gimpel 2018, section 3",
    ),
)
