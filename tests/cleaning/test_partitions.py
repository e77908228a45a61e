"""Merging the sorted parts gives the order of all pairs sorted at once."""

import numpy as np
import pytest

from miner.cleaning import comparing
from miner.cleaning.comparing import merged, ranked


@pytest.mark.parametrize("seed", range(4))
def test_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MERGED", 1)
    monkeypatch.setattr(comparing, "LEAST", 7)
    random = np.random.default_rng(seed)
    rank = random.integers(0, 6, 300) / 3
    owner = random.integers(0, 4, 300)
    runs = [ranked(rank[owner == i], np.flatnonzero(owner == i), np.ones(300)[owner == i])[0]
            for i in range(5)]  # fmt: skip
    place = [np.full(len(run), -1) for run in runs]
    done = 0
    for pairs, own, spans in merged(runs):
        start = 0
        for places, span in zip(place, spans, strict=True):
            size = span.stop - span.start
            places[span] = done + own[start : start + size]
            start += size
        done += len(pairs)
    found = np.empty(300, dtype=np.int64)
    for run, places in zip(runs, place, strict=True):
        found[run["row"]] = places
    wanted = np.empty(300, dtype=np.int64)
    wanted[np.lexsort((np.arange(300), -rank))] = np.arange(300)
    assert np.array_equal(found, wanted)
