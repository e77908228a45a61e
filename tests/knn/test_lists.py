"""Candidate lists: merging in parts."""

import numpy as np

from miner.knn.lists import Lists


def test_lists_can_be_merged_in_any_order() -> None:
    generator = np.random.default_rng(0)
    scores = generator.integers(0, 4, size=(5, 30)).astype(np.float32)
    one, other = Lists.empty(7, 6), Lists.empty(7, 6)
    parts = [slice(0, 10), slice(10, 11), slice(11, 30)]
    for lists, order in ((one, parts), (other, parts[::-1])):
        for part in order:
            places = np.tile(np.arange(30, dtype=np.int32)[part], (5, 1))
            lists.merge(2, scores[:, part], places)
    for left, right in zip(one.arrays, other.arrays, strict=True):
        np.testing.assert_array_equal(left, right)
    np.testing.assert_array_equal(one.position[2:], np.argsort(-scores, kind="stable")[:, :6])
    assert (one.position[:2] == -1).all() and np.isneginf(one.least[:2]).all()
