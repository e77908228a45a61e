"""Parts that shards write for each other, against everything at once."""

import numpy as np
import pytest

from miner.knn.neighbors import Neighbors
from miner.mining.exchange import Places, listed_parts, rival_parts


@pytest.mark.parametrize("seed", range(4))
def test_places_in_lists(seed: int) -> None:
    random = np.random.default_rng(seed)
    edges, sources, targets, k = [0, 7, 7, 20, 40], 40, 33, 4  # one part has no rows
    row = np.stack([random.permutation(sources + 5)[:k] for _ in range(targets)])
    row[row >= sources] = -1
    lists = Neighbors(random.random((targets, k)).astype(np.float32), row)
    spans = [(i, min(targets, i + 10)) for i in range(0, targets, 10)]
    sent = [
        listed_parts(Neighbors(lists.similarity[a:b], lists.row[a:b]), edges[:-1]) for a, b in spans
    ]
    for shard, span in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        parts = [
            (parts[starts[shard] : starts[shard + 1]], first)
            for (parts, starts), (first, _) in zip(sent, spans, strict=True)
        ]
        found = Places.joined(parts).by_source(span[1] - span[0])
        wanted = Places.of_lists(lists.similarity, lists.row, span).by_source(span[1] - span[0])
        for one, other in zip(found, wanted, strict=True):
            assert np.array_equal(one, other)


def test_rivals() -> None:
    random = np.random.default_rng(1)
    target, logit = random.integers(0, 50, 300), random.normal(size=300)
    parts, starts = rival_parts(target, logit, [0, 10, 20, 30])  # rows from 40 on are decoys
    for shard in range(4):
        own = parts[starts[shard] : starts[shard + 1]]
        mask = np.minimum(target // 10, 3) == shard
        assert np.array_equal(own["target"] + 10 * shard, target[mask])
        assert np.array_equal(own["logit"], logit[mask])
