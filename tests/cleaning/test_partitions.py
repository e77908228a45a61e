"""Partitions of keys and merged orders, against all pairs at once."""

import numpy as np
import pytest

from miner.cleaning import partitions
from miner.cleaning.partitions import answers, best_rows, entries, merged, ranked


@pytest.mark.parametrize("seed", range(4))
def test_best_of_each_key(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, parts = 500, int(random.integers(1, 9))
    keys = random.integers(0, 60, count).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    rank, rows = random.integers(0, 4, count) / 3, np.arange(count)
    cuts = np.sort(random.integers(0, count, 3))
    pieces = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, count], strict=True)]
    sent = [entries(keys[piece], rank[piece], rows[piece], parts) for piece in pieces]
    replies = [
        best_rows([own[starts[p] : starts[p + 1]] for own, starts in sent]) for p in range(parts)
    ]
    found = []
    for number, piece in enumerate(pieces):
        best = [rows_[starts[number] : starts[number + 1]] for rows_, starts in replies]
        found.append(answers(keys[piece], sent[number][0], np.concatenate(best)))
    best = np.concatenate(found)
    wanted = [min(np.flatnonzero(keys == key), key=lambda row: (-rank[row], row)) for key in keys]
    assert best.tolist() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_places(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MERGED", 1)
    monkeypatch.setattr(partitions, "LEAST", 7)
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
