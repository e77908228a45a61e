"""Duplicates by partitions, against those of all sentences at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from miner.shards.duplicate_sentences import (
    duplicates_of,
    hashed,
    partition_of,
    write_distinct,
    write_first,
)

from miner.index.sentence_file import Texts
from miner.index.store import first_rows


@pytest.mark.parametrize("seed", range(4))
def test_duplicates(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miner.shards.duplicate_sentences.BLOCK", 7)
    random = np.random.default_rng(seed)
    count, parts = 60, int(random.integers(1, 6))
    forms = random.integers(0, 20, count)
    # Some sentences of one hash differ.
    hashes = (forms // 2).astype(np.uint64) * np.uint64(0x1111111111111111)
    lines = [f"Form {form}{'.' * int(random.integers(2))}\n" for form in forms]
    (tmp_path / "text").write_text("".join(lines))
    offsets = np.cumsum([0, *map(len, lines)])
    texts = Texts(tmp_path / "text", offsets)
    known = random.random(count) < 0.8
    edges = [0, 13, 13, 40, count]
    spans = list(zip(edges[:-1], edges[1:], strict=True))
    shards = [hashed(hashes[a:b], known[a:b]) for a, b in spans]
    found = [
        duplicates_of(partition_of(shards, edges[:-1], part, parts), texts.__getitem__)
        for part in range(parts)
    ]
    first = np.empty(count, dtype=np.int64)
    distinct = np.empty(sum(one.distinct for one in found), dtype=np.int64)
    write_first(first, [one.row for one in found], [one.first for one in found])
    write_distinct(distinct, [one.dropped for one in found])
    wanted = first_rows(hashes, texts)
    assert np.array_equal(first, wanted)
    rows = np.flatnonzero(known)
    _, place = np.unique(wanted[rows], return_index=True)
    assert np.array_equal(distinct, np.sort(rows[place]))
