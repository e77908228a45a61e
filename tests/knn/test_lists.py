"""Candidate lists: merging in parts."""

import numpy as np

from miner.kernels.blocks import merge_lists
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


def test_lists_of_blocks_merge_to_those_of_all() -> None:
    generator = np.random.default_rng(1)
    scores = generator.integers(0, 5, size=(6, 40)).astype(np.float32)
    places = np.tile(np.arange(40, dtype=np.int32), (6, 1))
    whole, parts = Lists.empty(8, 7), Lists.empty(8, 7)
    whole.merge(1, scores, places)
    for part in (slice(25, 40), slice(0, 3), slice(3, 25)):
        block = Lists.empty(6, 7)  # of which few places may be filled
        block.merge(0, scores[:, part], places[:, part])
        merge_lists(block.similarity, block.position, 1, *parts.arrays)
    for left, right in zip(whole.arrays, parts.arrays, strict=True):
        np.testing.assert_array_equal(left, right)
