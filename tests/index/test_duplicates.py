"""Duplicates by partitions of hashes agree with all sentences at once."""

import numpy as np
import pytest

from miner.index import duplicates
from miner.index.duplicates import duplicates_of, first_rows, hashed, partition_of, write_first


@pytest.mark.parametrize("seed", range(4))
def test_duplicates(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "BLOCK", 7)
    random = np.random.default_rng(seed)
    count, parts = 60, int(random.integers(1, 6))
    forms = random.integers(0, 20, count)
    # Some sentences have equal hashes and different text.
    hashes = (forms // 2).astype(np.uint64) * np.uint64(0x1111111111111111)
    sentences = [f"Form {form}{'.' * int(random.integers(2))}" for form in forms]
    edges = [0, 13, 13, 40, count]
    spans = [hashed(hashes[a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    found = [
        duplicates_of(partition_of(spans, edges[:-1], part, parts), sentences.__getitem__)
        for part in range(parts)
    ]
    first = np.empty(count, dtype=np.int64)
    write_first(first, [one.row for one in found], [one.first for one in found])
    # A sentence repeats the first one with its hash, if that has the same normal form.
    same = [hashes.tolist().index(value) for value in hashes.tolist()]
    wanted = [j if forms[i] == forms[j] else i for i, j in enumerate(same)]
    assert first.tolist() == wanted
    assert np.array_equal(first, first_rows(hashes, sentences.__getitem__))
