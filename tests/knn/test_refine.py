"""Exact ranking of candidates: by definition, equal for small and large files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.knn import refine
from miner.knn.vector_set import VectorSet


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.integers(1, 60), st.integers(1, 400))
def test_candidates_are_ranked_by_exact_similarities(tmp_path_factory, seed, count, size, pages):
    """With ties, empty slots, excluded rows, and parts of a mapped file from any row."""
    generator = np.random.default_rng(seed)
    path: Path = tmp_path_factory.mktemp("vectors") / "all.npy"
    np.save(path, generator.integers(-3, 4, (size, 6)).astype(np.float16))
    mapped = np.load(path, mmap_mode="r")
    base = VectorSet(mapped, np.arange(size)[:: 1 + seed % 2])
    queries = generator.integers(-3, 4, (count, 6)).astype(np.float16)
    width = min(5, len(base))
    found = np.empty((count, width), np.int32)
    for row in found:
        row[:] = generator.permutation(len(base))[:width]
    found[generator.random(found.shape) < 0.2] = -1
    taken = mapped[base.rows[found]].astype(np.float32)
    true = np.einsum("qd,qwd->qw", queries.astype(np.float32), taken)
    true[found < 0] = -np.inf
    order = np.lexsort((found, -true), axis=1)[:, :3]
    for most in (pages, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(refine, "PAGES", most)
            similarity, position = refine.rank(queries, base, found, 3)
        np.testing.assert_array_equal(similarity, np.take_along_axis(true, order, axis=1))
        np.testing.assert_array_equal(position, np.take_along_axis(found, order, axis=1))
