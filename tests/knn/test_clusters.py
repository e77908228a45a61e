"""Clusters of both sides of a hybrid search."""

import numpy as np
from support.sides import side

from miner.knn import clusters


def test_clusters_of_equal_vectors() -> None:
    """More clusters than different vectors: empty ones keep their centroids."""
    vectors = np.tile(np.float16([1, 0, 0, 0]), (50, 1))
    made = clusters.learn((side(vectors), side(vectors)), 8, 1)
    assert made.shape == (8, 4) and np.isfinite(made).all()
