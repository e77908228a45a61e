"""miner.scoring.margin and reference agree with loops and dicts by the definitions."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sides import QUICK

from miner.knn.neighbors import Neighbors
from miner.option_values import MARGINS, RETRIEVALS
from miner.scoring.margin import (
    RATIO_FLOOR,
    CandidateBlocks,
    Candidates,
    Listed,
    candidates,
    list_places,
    margin_score,
    neighborhood_mean,
)
from miner.scoring.matching import Retrieval, best_pairs, match_one_to_one, retrieve
from miner.scoring.reference import Reference

# Pair of the reference: (score, source, target, similarity, ratio, forward and backward rank).
Row = tuple[float, int, int, float, float, int, int]


def reference_mean(neighbors: Neighbors, query: int) -> float:
    found = [
        float(similarity)
        for similarity, row in zip(neighbors.similarity[query], neighbors.row[query], strict=True)
        if row >= 0
    ]
    return float(np.float32(math.fsum(found) / len(found))) if found else 0.0


def reference_score(similarity: float, source: float, target: float, margin: str) -> float:
    if margin == "absolute":
        return similarity
    if margin == "distance":
        return similarity - (source + target) / 2
    return similarity / max((source + target) / 2, RATIO_FLOOR)


def reference_candidates(forward: Neighbors, backward: Neighbors, margin: str) -> dict:
    similarities, forward_rank, backward_rank = {}, {}, {}
    for t in range(len(backward)):
        for j, s in enumerate(backward.row[t].tolist()):
            if s >= 0 and (s, t) not in backward_rank:
                backward_rank[s, t] = j + 1
                similarities[s, t] = float(backward.similarity[t, j])
    for s in range(len(forward)):
        for j, t in enumerate(forward.row[s].tolist()):
            if t >= 0 and (s, t) not in forward_rank:
                forward_rank[s, t] = j + 1
                similarities[s, t] = float(forward.similarity[s, j])
    rows = {}
    for s, t in sorted(similarities):
        means = reference_mean(forward, s), reference_mean(backward, t)
        rows[s, t] = (
            reference_score(similarities[s, t], *means, margin),
            s,
            t,
            similarities[s, t],
            reference_score(similarities[s, t], *means, "ratio"),
            forward_rank.get((s, t), 0),
            backward_rank.get((s, t), 0),
        )
    return rows


def by_score(row: Row) -> tuple[float, int, int]:
    return (-row[0], row[1], row[2])


def reference_retrieve(rows: dict, retrieval: str) -> list[Row]:
    forward, backward = {}, {}
    for row in sorted(rows.values(), key=by_score):
        if row[5] > 0:
            forward.setdefault(row[1], row)  # sorted, best first, ties by target
        if row[6] > 0:
            backward.setdefault(row[2], row)
    forward_best, backward_best = set(forward.values()), set(backward.values())
    if retrieval == "forward":
        return sorted(forward_best, key=by_score)
    if retrieval == "backward":
        return sorted(backward_best, key=by_score)
    if retrieval == "intersection":
        return sorted(forward_best & backward_best, key=by_score)
    kept: list[Row] = []
    for row in sorted(forward_best | backward_best, key=by_score):
        if all(row[1] != other[1] and row[2] != other[2] for other in kept):
            kept.append(row)
    return kept


def as_rows(pairs: Candidates) -> list[Row]:
    return list(zip(*(getattr(pairs, field.name).tolist() for field in fields(pairs)), strict=True))


def nearest(similarity: np.ndarray, k: int, found: np.ndarray | None = None) -> Neighbors:
    """Return exact top-k lists of a (n, m) matrix's rows, without those that ``found`` marks as
    missed.
    """
    n, m = similarity.shape
    # Values beside a -1 must not matter, so they are the worst that a search could leave.
    values = np.full((n, k), np.nan, dtype=np.float32)
    rows = np.full((n, k), -1, dtype=np.int64)
    for i in range(n):
        seen = [j for j in range(m) if found is None or found[i, j]]
        best = sorted(seen, key=lambda j: (-similarity[i, j], j))[:k]
        rows[i, : len(best)] = best
        values[i, : len(best)] = similarity[i, best]
    return Neighbors(values, rows)


@st.composite
def searches(draw, exact: bool = False) -> tuple[Neighbors, Neighbors]:
    """Return both directions of a small search with ties, negatives, misses, and k > n."""
    n, m = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    k = draw(st.integers(1, 8))
    cells = st.lists(st.integers(-3, 8), min_size=n * m, max_size=n * m)
    similarity = np.array(draw(cells), dtype=np.float32).reshape(n, m) / 8
    if exact:
        return nearest(similarity, k), nearest(similarity.T, k)
    masks = st.lists(st.integers(0, 3), min_size=n * m, max_size=n * m)
    seen = np.array(draw(masks), dtype=int).reshape(n, m)
    return nearest(similarity, k, seen & 1), nearest(similarity.T, k, seen.T & 2)


@settings(max_examples=300)
@given(searches(), st.sampled_from(MARGINS), st.sampled_from(RETRIEVALS))
def test_candidates_and_retrieval_follow_the_definition(search, margin, retrieval):
    pairs, expected = candidates(*search, margin=margin), reference_candidates(*search, margin)
    assert as_rows(pairs) == list(expected.values())
    types = [getattr(pairs, field.name).dtype for field in fields(pairs)]
    assert types == [*map(np.dtype, ("f8", "i8", "i8", "f4", "f8", "i2", "i2"))]
    assert as_rows(retrieve(pairs, retrieval)) == reference_retrieve(expected, retrieval)


@given(searches(), st.sampled_from(MARGINS), st.sampled_from(RETRIEVALS), st.integers(1, 20))
def test_blocks_of_sources_change_nothing(search, margin, retrieval, size):
    blocks = CandidateBlocks(search[0], Listed.of(search[1], len(search[0])), margin)
    spans = blocks.spans(size)
    assert [row for span in spans for row in range(*span)] == list(range(len(search[0])))
    for start, end in spans:  # only a span's last source may exceed its size
        assert len(blocks.block(start, end - 1)) < size
    places = search[0].row.size + int((search[1].row >= 0).sum())
    assert len(spans) <= places // size + 1
    kept = Retrieval(len(search[1]), retrieval)
    found = []
    for span in spans:
        block = blocks.block(*span)
        found += as_rows(block)
        kept.add(block)
    whole = candidates(*search, margin)
    assert found == as_rows(whole)
    assert as_rows(kept.result()) == as_rows(retrieve(whole, retrieval))


@given(searches(), st.integers(1, 20), st.data())
def test_copies_are_no_candidates(search, size, data):
    numbers = st.integers(0, 2)
    left, right = (
        np.array(data.draw(st.lists(numbers, min_size=len(one), max_size=len(one))), np.int32)
        for one in search
    )
    right = right[: data.draw(st.integers(0, len(right)))]  # decoys follow, without a number
    listed = Listed.of(search[1], len(search[0]))
    blocks = CandidateBlocks(search[0], listed, "ratio", (left, right))
    found = [row for span in blocks.spans(size) for row in as_rows(blocks.block(*span))]
    whole = CandidateBlocks(search[0], listed, "ratio").block(0, len(search[0]))
    numbered = dict(enumerate(right.tolist()))
    apart = [
        not left[source] or left[source] != numbered.get(target)
        for source, target in zip(whole.source_row, whole.target_row.tolist(), strict=True)
    ]
    assert found == as_rows(whole.take(np.array(apart, bool)))


def listed(lists: Neighbors, span: tuple[int, int]) -> Listed:
    return Listed.of_places(list_places(lists, span), span, neighborhood_mean(lists))


@settings(max_examples=60)
@given(searches(exact=True), st.sampled_from(RETRIEVALS), st.integers(1, 4))
def test_shards_of_sources_change_nothing(search, retrieval, size):
    """Candidates of a shard have rows counted from its first source."""
    forward, backward = search
    pairs = candidates(forward, backward)
    kept, found = Retrieval(len(backward), retrieval), []
    for first in range(0, len(forward), size):
        part = slice(first, first + size)
        own = Neighbors(forward.similarity[part], forward.row[part])
        blocks = CandidateBlocks(own, listed(backward, (first, first + len(own))))
        block = blocks.block(0, len(own))
        block = replace(block, source_row=block.source_row + first)
        found += as_rows(block)
        kept.add_best(*best_pairs(block))
    assert found == as_rows(pairs)
    assert as_rows(kept.result()) == as_rows(retrieve(pairs, retrieval))


@given(searches(), st.sampled_from(RETRIEVALS), st.randoms(use_true_random=False))
def test_order_of_candidates_does_not_matter(search, retrieval, random):
    pairs = candidates(*search)
    shuffled = list(range(len(pairs)))
    random.shuffle(shuffled)
    again = retrieve(pairs.take(np.array(shuffled, dtype=np.int64)), retrieval)
    assert as_rows(again) == as_rows(retrieve(pairs, retrieval))


matches = st.lists(st.tuples(st.integers(-2, 3), st.integers(-2, 5), st.integers(0, 5)))


@given(matches)
def test_greedy_matching_follows_the_definition(rows):
    score, source, target = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    kept = match_one_to_one(score / 4, source, target)
    assert kept.dtype == np.int64
    expected: list[tuple[int, int, int]] = []
    for a, s, t in sorted(rows, key=lambda row: (-row[0], row[1], row[2])):
        if all(s != other[1] and t != other[2] for other in expected):
            expected.append((a, s, t))
    assert [rows[i] for i in kept.tolist()] == expected


def test_margins_are_elementwise_and_keep_the_shape():
    for margin in MARGINS:
        score = margin_score([[0.5, 0.25]], [[0.5, 0.25]], [[0.25, 0.25]], margin)
        assert score.shape == (1, 2)
        assert score.dtype == np.float64
        assert margin_score(0.5, 0.5, 0.5, margin).shape == ()
        assert margin_score(0.5, [0.5, 0.25], 0.5, margin).shape == (2,)
    assert margin_score(0.5, 0.5, 0.25, "distance") == 0.125
    assert margin_score(0.5, 0.5, 0.25, "ratio") == 0.5 / 0.375


def test_the_forward_similarity_stands_for_a_pair_in_both_lists():
    forward = Neighbors(np.array([[0.5]]), np.array([[0]]))
    backward = Neighbors(np.array([[0.25]]), np.array([[0]]))
    assert candidates(forward, backward).similarity.tolist() == [0.5]


@pytest.mark.parametrize(
    ("similarity", "row"),
    [
        ([[np.nan, 0.5]], [[0, 1]]),
        ([[np.inf, 0.5]], [[0, 1]]),
        ([[0.5, 0.5]], [[0, -2]]),
        ([[0.5]], [[0, 1]]),
        ([0.5], [0]),
        ([[0.5]], [[0.0]]),
        (np.zeros((0, 32768)), np.zeros((0, 32768), dtype=int)),
    ],
)
def test_faulty_neighbors_are_refused(similarity, row):
    with pytest.raises(ValueError, match="neighbour"):
        Neighbors(np.array(similarity), np.array(row))


def test_rows_outside_the_other_corpus_are_refused():
    one, two = (
        Neighbors(np.zeros((1, 1)), np.array([[0]])),
        Neighbors(np.zeros((1, 1)), np.array([[1]])),
    )
    with pytest.raises(ValueError, match="forward neighbours name row 1, .* has 1 sentences"):
        candidates(two, one)
    with pytest.raises(ValueError, match="backward neighbours"):
        candidates(one, two)


def test_nan_and_ragged_columns_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        margin_score([0.5, np.nan], 0.5, 0.5, "absolute")
    with pytest.raises(ValueError, match="NaN"):
        match_one_to_one(np.array([np.nan]), np.array([0]), np.array([0]))
    with pytest.raises(ValueError, match="length"):
        match_one_to_one(np.array([0.5]), np.array([0]), np.array([0, 1]))
    empty = np.array([])
    with pytest.raises(ValueError, match="length"):
        Candidates(np.zeros(1), *[empty] * 6)
    with pytest.raises(ValueError, match="NaN"):
        Candidates(*[np.array([np.nan])] * 7)


Texts = tuple[list[str], list[str]]
Vectors = tuple[np.ndarray, np.ndarray]


def margin_reference(
    texts: Texts, vectors: Vectors, base: Texts, base_vectors: Vectors, k: int, margin: str
) -> np.ndarray:
    """Compute margins pair by pair from the k nearest distinct sentences without the partner."""
    out = []
    for pair in range(len(texts[0])):
        means = []
        for side in (0, 1):
            other, vector = 1 - side, vectors[side][pair].astype(np.float64)
            distinct = {}
            for text, row in zip(base[other], base_vectors[other], strict=True):
                if row.any() and text != texts[other][pair]:
                    distinct.setdefault(text, float(row.astype(np.float64) @ vector))
            near = sorted(distinct.values(), reverse=True)[:k] if vector.any() else []
            means.append(sum(near) / len(near) if near else 0.0)
        cosine = vectors[0][pair].astype(np.float64) @ vectors[1][pair].astype(np.float64)
        mean = (means[0] + means[1]) / 2
        out.append(cosine - mean if margin == "distance" else cosine / max(mean, RATIO_FLOOR))
    return np.array(out)


def drawn(generator: np.random.Generator, n: int) -> tuple[Texts, Vectors]:
    """Draw sentences with duplicates, one vector each, some of them zero."""
    table = np.random.default_rng(0).normal(size=(2, 12, 6))
    table /= np.linalg.norm(table, axis=2, keepdims=True)
    table[:, :2] = 0
    rows = generator.integers(12, size=(2, n))
    texts = tuple([f"{side} {row}" for row in rows[side]] for side in (0, 1))
    vectors = tuple(table[side, rows[side]].astype(np.float32) for side in (0, 1))
    return texts, vectors  # type: ignore[return-value]


@given(st.integers(0, 2**32), st.integers(1, 15), st.integers(1, 25), st.integers(1, 15))
@QUICK
def test_margins_are_those_of_the_definition(seed: int, n: int, m: int, k: int) -> None:
    generator = np.random.default_rng(seed)
    texts, vectors = drawn(generator, n)
    base, base_vectors = drawn(generator, m)
    reference = Reference(base, base_vectors, k)
    for margin in ("ratio", "distance"):
        found = reference.margins(texts, vectors, margin)
        expected = margin_reference(texts, vectors, base, base_vectors, k, margin)
        assert found.dtype == np.float64 and found.shape == (n,)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_pair_alone_has_no_neighbours() -> None:
    one = np.ones((1, 1), dtype=np.float32)
    reference = Reference((["a"], ["b"]), (one, one), 4)
    assert reference.margins((["a"], ["b"]), (one, one)) == pytest.approx([1 / RATIO_FLOOR])
    assert reference.margins((["c"], ["d"]), (one, one)) == pytest.approx([1.0])
    assert len(reference.margins(([], []), (one[:0], one[:0]))) == 0
