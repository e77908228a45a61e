"""miner.kernels.pool agrees with its reference for every type of table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.kernel_references import mean_pool_reference

from miner.encoder.part import EncoderPart
from miner.kernels.pool import mean_pool, mean_pool_half, mean_rows, packed, to_half, unpacked
from miner.ragged import offsets_of


def random_table(
    generator: np.random.Generator, size: int, d: int, dtype: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a table with some zero rows; return it with the scales of its rows, and its values."""
    table = generator.normal(size=(size, d)).astype(np.float32)
    table[generator.random(size) < 0.1] = 0
    part = EncoderPart.of(table, dtype)
    scales = np.ones(size, dtype=np.float32) if part.scales is None else part.scales
    return part.weights, scales, part.numbers()


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 20),
    st.lists(st.integers(0, 12), max_size=12),
    st.sampled_from(["int4", "int8", "float32"]),
)
def test_mean_pool_is_its_reference(seed, d, size, lengths, dtype):
    """Lengths of zero are empty sentences; ids of 20 pieces repeat often."""
    generator = np.random.default_rng(seed)
    d += d % 2 if dtype == "int4" else 0
    table, scales, numbers = random_table(generator, size, d, dtype)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    ids = generator.integers(size, size=offsets[-1]).astype(np.int32)
    out = np.full((len(lengths), d), np.nan, dtype=np.float32)
    mean_pool(table, scales, ids, offsets, out)
    expected = mean_pool_reference(numbers, scales, ids, offsets)
    # Float32 sums of up to 12 terms: at most 13 rounding errors, relative to the length of the sum.
    rows = numbers.astype(np.float64) * scales[:, None]
    total = np.array([np.linalg.norm(rows[ids[a:b]].sum(0)) for a, b in _spans(offsets)])
    size_of_terms = np.array([np.abs(rows[ids[a:b]]).sum() for a, b in _spans(offsets)])
    # If rows cancel except for rounding, any direction is right.
    allowed = 2.0**-22 * (1 + size_of_terms / np.maximum(total, 1e-30))
    assert (np.abs(out - expected) <= allowed[:, None]).all()
    empty = size_of_terms == 0
    assert not out[empty].any()

    halves = np.ones((len(lengths), d), dtype=np.float16)
    mean_pool_half(table, scales, ids, offsets, halves.view(np.uint16))
    np.testing.assert_array_equal(halves.view(np.uint16), out.astype(np.float16).view(np.uint16))


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 35),
    st.integers(0, 40),
    st.sampled_from(["int4", "int8"]),
)
def test_integers_give_the_bits_of_their_float32_table(seed, half, n, dtype):
    """Products are rounded to float32 before they are added: no fused multiply-add."""
    generator = np.random.default_rng(seed)
    table, scales, numbers = random_table(generator, 50, 2 * half, dtype)
    offsets = offsets_of(generator.integers(0, 30, n))
    ids = generator.integers(len(table), size=offsets[-1]).astype(np.int32)
    floats, ones = numbers.astype(np.float32) * scales[:, None], np.ones(len(table), np.float32)
    for pool in (mean_pool, mean_rows):
        out, expected = (np.full((n, 2 * half), np.nan, dtype=np.float32) for _ in range(2))
        pool(table, scales, ids, offsets, out)
        pool(floats, ones, ids, offsets, expected)
        np.testing.assert_array_equal(out.view(np.uint32), expected.view(np.uint32))


@settings(max_examples=50, deadline=None)
@given(
    arrays.arrays(
        np.int8,
        st.tuples(st.integers(0, 5), st.integers(0, 9).map(lambda half: 2 * half)),
        elements=st.integers(-8, 7),
    )
)
def test_packed_numbers_are_unpacked_to_themselves(numbers: np.ndarray) -> None:
    table = packed(numbers)
    assert table.dtype == np.uint8 and table.size * 2 == numbers.size
    np.testing.assert_array_equal(unpacked(table), numbers)


@pytest.mark.parametrize("dtype", ["int4", "int8"])
def test_vectors_of_another_length_than_rows_are_refused(dtype: str) -> None:
    table, scales, _ = random_table(np.random.default_rng(1), 3, 8, dtype)
    ids, offsets = np.zeros(2, np.int32), np.array([0, 2])
    for length in (4, 16):
        with pytest.raises(ValueError, match=f"8 dimensions for vectors of {length}"):
            mean_pool(table, scales, ids, offsets, np.empty((1, length), np.float32))


def test_rounding_to_float16_is_numpys() -> None:
    """For every float16, the adjacent float32 numbers, every tie, and random bits."""
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = np.sort(halves[np.isfinite(halves)])
    ties = (finite[1:] + finite[:-1]) / 2
    large = np.array([65519.99, 65520, -65520, 1e38], dtype=np.float32)
    exact = np.concatenate([halves[~np.isnan(halves)], ties, large])
    around = [np.nextafter(exact, np.float32(side)) for side in (-np.inf, np.inf)]
    bits = np.random.default_rng(3).integers(2**32, size=100_000, dtype=np.uint32)
    values = np.concatenate([exact, *around, bits.view(np.float32)])
    out = np.empty(len(values), dtype=np.uint16)
    to_half(values, out)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = values.astype(np.float16)
    nan = np.isnan(values)
    np.testing.assert_array_equal(out[~nan], expected.view(np.uint16)[~nan])
    assert np.isnan(out.view(np.float16)[nan]).all()


def _spans(offsets: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
