"""Hybrid search: retrieval by tokens, clusters, and candidate lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sides import side

from miner.arrays import Room
from miner.encoder.lexicon import Lexicon
from miner.knn import clusters, postings
from miner.knn.lists import Lists
from miner.knn.postings import Frequency, Postings, SideTokens
from miner.knn.vector_set import VectorSet
from miner.ragged import offsets_of

SIZE = 12
LISTS = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=6), min_size=1, max_size=20)


def retrieve_reference(
    queries: list[list[int]],
    base: list[list[int]],
    lexicon: dict[int, dict[int, float]],
    parameters: tuple[float, float, int],
    common: float,
    width: int,
) -> list[list[int]]:
    """Positions that :class:`miner.knn.postings.Postings` retrieves for each query.

    ``parameters`` are the weight of a token itself, the least probability and the budget.
    """
    own, probable, budget = parameters
    holders: dict[int, list[int]] = {}
    for j, tokens in enumerate(base):
        for y in sorted(set(tokens)):
            holders.setdefault(y, []).append(j)
    most = max(1, common * len(base))
    holders = {y: found for y, found in holders.items() if len(found) <= most}
    idf = {y: np.float32(np.log(len(base) / len(found))) for y, found in holders.items()}
    idf = {y: value for y, value in idf.items() if value}
    inverse = []
    for tokens in base:
        total = sum(float(idf[y]) ** 2 for y in dict.fromkeys(tokens) if y in idf)
        inverse.append(np.float32(1 / np.sqrt(total)) if total else np.float32(0))
    result = []
    for tokens in queries:
        weight: dict[int, np.float32] = {}
        for x in dict.fromkeys(tokens):
            asked = [(x, own)]
            asked += [(y, p) for y, p in sorted(lexicon.get(x, {}).items()) if p >= probable]
            for y, share in asked:
                if y in idf:
                    weight[y] = np.float32(weight.get(y, np.float32(0)) + np.float32(share))
        left, score = budget, {}
        for y in sorted(weight, key=lambda y: (len(holders[y]), y)):
            left -= len(holders[y])
            if left < 0:
                break
            share = np.float32(np.float32(weight[y] * idf[y]) * idf[y])
            for j in holders[y]:
                score[j] = np.float32(score.get(j, np.float32(0)) + share)
        value = {j: np.float32(total * inverse[j]) for j, total in score.items()}
        result.append(sorted(value, key=lambda j: (-value[j], j))[:width])
    return result


def ragged(lists: list[list[int]]) -> SideTokens:
    ids = np.array([i for tokens in lists for i in tokens], np.int32)
    return ids, offsets_of(np.array([len(tokens) for tokens in lists], np.int64))


def lexicon_of(table: dict[int, dict[int, float]]) -> Lexicon:
    rows = [sorted(table.get(x, {}).items()) for x in range(SIZE)]
    return Lexicon(
        offsets_of(np.array([len(row) for row in rows], np.int64)),
        np.array([y for row in rows for y, _ in row], np.int32),
        np.array([p for row in rows for _, p in row], np.float32),
        np.full(SIZE, 0.01, np.float32),
    )


@settings(max_examples=80, deadline=None)
@given(
    LISTS,
    LISTS,
    st.dictionaries(
        st.integers(0, SIZE - 1),
        st.dictionaries(st.integers(0, SIZE - 1), st.sampled_from([0.01, 0.0625, 0.25, 1.0])),
    ),
    st.sampled_from([0, 1, 5, 1000]),
    st.sampled_from([0.05, 0.5, 1.0]),
    st.integers(1, 25),
    st.integers(1, 3),
)
def test_retrieval_is_its_definition(queries, base, table, budget, common, width, threads):
    """With ties, repeated tokens, sentences without tokens, excluded rows, short lists."""
    side, asked = ragged(base), ragged(queries)
    rows = np.arange(0, len(base), 1 + len(base) % 2)
    chosen = VectorSet(np.ones((len(base), 1), np.float16), rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "BUDGET", budget)
        patch.setattr(postings, "COMMON", common)
        frequency = Frequency.of(side, chosen, SIZE)
        index = Postings(side, chosen, lexicon_of(table), Room(1 << 20), frequency)
        found, scores = index.search(asked, np.arange(len(queries)), width, threads)
    wanted = retrieve_reference(
        queries,
        [base[row] for row in rows],
        table,
        (postings.OWN, postings.PROBABLE, budget),
        common,
        width,
    )
    assert [[j for j in row if j >= 0] for row in found.tolist()] == wanted
    np.testing.assert_array_equal(np.isfinite(scores), found >= 0)


@settings(max_examples=40, deadline=None)
@given(LISTS, LISTS, st.sampled_from([1, 5, 1000]), st.integers(1, 8), st.integers(1, 9))
def test_the_best_of_all_parts_are_the_best_of_the_whole(queries, base, budget, width, size):
    """For parts of any size with the frequencies of the whole: equal positions, scores and ties."""
    side, asked = ragged(base), ragged(queries)
    lexicon = lexicon_of({x: {(x + 1) % SIZE: 0.5} for x in range(SIZE)})
    rows = np.arange(len(base))

    def chosen(own: np.ndarray) -> VectorSet:
        return VectorSet(np.ones((len(base), 1), np.float16), own)

    frequency = Frequency.of(side, chosen(rows), SIZE)
    best = Lists.empty(len(queries), width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "BUDGET", budget)
        patch.setattr(postings, "COMMON", 0.5)
        whole = Postings(side, chosen(rows), lexicon, Room(1 << 20), frequency)
        wanted, scores = whole.search(asked, np.arange(len(queries)), width, 1)
        for start in range(0, len(base), size):
            part = chosen(rows[start : start + size])
            index = Postings(side, part, lexicon, Room(1 << 20), frequency)
            found, value = index.search(asked, np.arange(len(queries)), width, 2)
            best.merge(0, value, np.where(found < 0, found, found + start))
    np.testing.assert_array_equal(best.position, wanted)
    np.testing.assert_array_equal(best.similarity, scores)


def test_clusters_of_equal_vectors() -> None:
    """With more clusters than distinct vectors: empty clusters keep their centroids."""
    vectors = np.tile(np.float16([1, 0, 0, 0]), (50, 1))
    made = clusters.learn((side(vectors), side(vectors)), 8, 1)
    assert made.shape == (8, 4) and np.isfinite(made).all()


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
