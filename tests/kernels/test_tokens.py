"""Pair features of tokens: the kernel agrees with its reference, whatever the batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernel_references import compare_reference, order_reference
from support.tokens import flat, random_lexicon

from miner.kernels import tokens
from miner.kernels.pool import packed
from miner.kernels.tokens import COLUMNS, LONGEST, ORDER_COLUMNS, compare
from miner.parallel import use_loop_threads
from miner.scoring.pair_features import unit_codes

NO_ORDER = np.empty((0, 4), dtype=np.float32)


@given(st.integers(0, 2**32 - 1))
def test_compare_is_its_reference(seed: int) -> None:
    """With empty sentences, repeats, ties, zero rows, long texts, and pairs in any order."""
    generator = np.random.default_rng(seed)
    size, dimension = int(generator.integers(2, 60)), int(generator.integers(1, 20))
    longest = generator.choice([3, 12, LONGEST + 9, 5 * LONGEST], 2)
    sides = [
        [
            generator.integers(0, size, generator.integers(0, most)).tolist()
            for _ in range(generator.integers(1, 12))
        ]
        for most in longest
    ]
    embedding = generator.normal(size=(size, dimension)).astype(np.float32)
    embedding[generator.random(size) < 0.1] = 0
    embedding[size // 2 :][generator.random(size - size // 2) < 0.3] = embedding[0]
    weight = (generator.random(size) + 0.1).astype(np.float32)
    lexicon = random_lexicon(generator, size)
    tables = lexicon.offsets, lexicon.pieces, lexicon.probability
    m = int(generator.integers(0, 60))
    source, target = (generator.integers(0, len(side), m) for side in sides)
    out = np.full((m, COLUMNS), np.nan, dtype=np.float32)
    arguments = *unit_codes(embedding), weight, lexicon.frequency
    order = np.full((m, ORDER_COLUMNS), np.nan, dtype=np.float32)
    compare(*map(flat, sides), source, target, arguments, tables, out, order)
    rows = list(zip(source.tolist(), target.tolist(), strict=True))
    arrays = [[np.array(one, dtype=np.int64) for one in side] for side in sides]
    expected = compare_reference(*arrays, rows, *arguments, tables)
    # A best similarity within rounding of MATCHED may count on either side.
    np.testing.assert_allclose(
        out[:, [0, 1, 4, 5, 6, 7, 8]], expected[:, [0, 1, 4, 5, 6, 7, 8]], atol=2e-5
    )
    if m:
        assert (np.abs(out[:, 2:4] - expected[:, 2:4]) < 1e-5).mean() > 0.9
    texts = [
        [side[row] for row in rows] for side, rows in zip(sides, (source, target), strict=True)
    ]
    expected_order = order_reference(*texts, *arguments[:3])
    if m:
        assert (np.abs(order - expected_order) < 2e-5).mean() > 0.9
    without = np.empty_like(out)
    compare(*map(flat, sides), source, target, arguments, tables, without, NO_ORDER)
    np.testing.assert_array_equal(without, out)


def test_codes_of_4_bits_give_the_same_bits() -> None:
    """For short texts and windows of long ones, with more tokens than are unpacked at a time."""
    generator = np.random.default_rng(3)
    size, width = 400, 64
    codes = generator.integers(-7, 8, (size, width)).astype(np.int8)
    scale = (1 / np.sqrt(np.square(codes.astype(np.int64)).sum(axis=1))).astype(np.float32)
    rest = scale, np.ones(size, np.float32), np.full(size, 1e-3, np.float32)
    lexicon = random_lexicon(generator, size)
    text = flat([generator.integers(0, size, n).tolist() for n in (5, 90, LONGEST, 300, 700)])
    source, target = (np.repeat(np.arange(5), 5), np.tile(np.arange(5), 5))
    found = []
    for table in (codes, packed(codes)):
        out, order = np.empty((25, COLUMNS), np.float32), np.empty((25, 4), np.float32)
        compare(text, text, source, target, (table, *rest), lexicon.entries, out, order)
        found.append((out, order))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_texts_of_many_tokens() -> None:
    """With 2**16 tokens, and more distinct target tokens of a source than hash slots."""
    generator = np.random.default_rng(5)
    size = 9000
    embedding = generator.normal(size=(size, 8)).astype(np.float32)
    known = *unit_codes(embedding), np.ones(size, np.float32), np.full(size, 1e-4, np.float32)
    lexicon = np.zeros(size + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    long = flat([generator.integers(0, size, 1 << 16).tolist()])
    short = flat(generator.permutation(size)[:8960].reshape(-1, LONGEST).tolist())
    count = len(short[1]) - 1
    out, order = np.empty((count, COLUMNS), np.float32), np.empty((count, 4), np.float32)
    zeros, every = np.zeros(count, np.int64), np.arange(count)
    compare(short, short, zeros, every, known, lexicon, out, order)
    alone, ordered = np.empty_like(out), np.empty_like(order)
    for row in range(count):
        span = slice(row, row + 1)
        compare(short, short, zeros[span], every[span], known, lexicon, alone[span], ordered[span])
    np.testing.assert_array_equal(out, alone)
    np.testing.assert_array_equal(order, ordered)
    compare(long, long, zeros[:1], zeros[:1], known, lexicon, out[:1], order[:1])
    np.testing.assert_allclose(out[0, [0, 1, 2, 3, 8]], [1, 1, 0, 0, 1], atol=1e-6)
    assert (order[0] > 0.95).all()  # a token occurs twice in some parts


@pytest.mark.parametrize("threads", [1, 3])
def test_a_pair_does_not_depend_on_batch_and_threads(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    generator = np.random.default_rng(3)
    long = generator.integers(0, 40, LONGEST + 1).tolist()
    sides = [[generator.integers(0, 40, 7).tolist() for _ in range(9)] + [long] for _ in range(2)]
    embedding = generator.normal(size=(40, 8)).astype(np.float32)
    lexicon = random_lexicon(generator, 40)
    known = *unit_codes(embedding), np.ones(40, dtype=np.float32), lexicon.frequency
    tables = known, (lexicon.offsets, lexicon.pieces, lexicon.probability)
    source, target = (grid.ravel() for grid in np.mgrid[:10, :10])
    whole, order = np.empty((100, COLUMNS), np.float32), np.empty((100, 4), np.float32)
    texts = flat(sides[0]), flat(sides[1])
    compare(*texts, source, target, *tables, whole, order)
    mixed = generator.permutation(100)
    out, other = np.empty_like(whole), np.empty_like(order)
    monkeypatch.setattr(tokens, "CHUNK", 7)
    monkeypatch.setattr(tokens, "LONG_CHUNK", 2)
    before = use_loop_threads(threads)
    compare(*texts, source[mixed], target[mixed], *tables, out, other)
    use_loop_threads(before)
    np.testing.assert_array_equal(out, whole[mixed])
    np.testing.assert_array_equal(other, order[mixed])
