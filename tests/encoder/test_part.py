"""miner.encoder.part: embeddings as 8 and 4 bits."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from miner.encoder.part import EncoderPart, quantise, quantise_to_4_bits

TABLES = arrays.arrays(
    np.float32,
    st.tuples(st.integers(0, 5), st.integers(1, 6)),
    elements=st.floats(-1e3, 1e3, width=32).map(lambda x: 0.0 if abs(x) < 1e-3 else x),
)


@settings(max_examples=50, deadline=None)
@given(TABLES)
def test_quantisation_is_off_by_half_a_step_at_most(table: np.ndarray) -> None:
    small, scales = quantise(table)
    assert small.dtype == np.int8 and scales.dtype == np.float32
    assert np.abs(small.astype(int)).max(initial=0) <= 127
    restored = small.astype(np.float64) * scales[:, None]
    assert (np.abs(restored - table) <= scales[:, None] * 0.501).all()
    np.testing.assert_array_equal(scales == 0, ~table.any(axis=1))
    np.testing.assert_array_equal(np.abs(small).max(axis=1, initial=0)[scales > 0], 127)


@settings(max_examples=50, deadline=None)
@given(TABLES)
def test_four_bits_lose_no_more_than_rounding_to_the_largest(table: np.ndarray) -> None:
    numbers, scales = quantise_to_4_bits(table)
    assert numbers.dtype == np.int8 and scales.dtype == np.float32
    assert np.abs(numbers.astype(int)).max(initial=0) <= 7
    largest = np.abs(table).max(axis=1, initial=0)[:, None].astype(np.float64)
    step = np.where(largest > 0, largest, 1) / 7
    plain = np.square(np.rint(table / step) * step - table).sum(axis=1)
    error = np.square(numbers.astype(np.float64) * scales[:, None] - table).sum(axis=1)
    assert (error <= plain * 1.001 + np.square(largest[:, 0]) * 1e-6).all()
    np.testing.assert_array_equal(scales == 0, ~table.any(axis=1))


def test_a_large_number_does_not_drown_the_others() -> None:
    """An outlier of 6 among 384 normal numbers is clipped; the others keep their precision."""
    row = np.random.default_rng(1).normal(size=(1, 384)).astype(np.float32)
    row[0, 0] = 6
    numbers, scales = quantise_to_4_bits(row)
    assert numbers[0, 0] == 7 and scales[0] * 7 < 5
    # Rows are quantised independently of each other.
    both = quantise_to_4_bits(np.repeat(row, 1500, axis=0))
    np.testing.assert_array_equal(both[0], np.repeat(numbers, 1500, axis=0))


def test_types_have_their_sizes() -> None:
    table = np.random.default_rng(1).normal(size=(9, 8)).astype(np.float32)
    for dtype, size in (("float16", 2), ("int8", 1), ("int4", 0.5)):
        part = EncoderPart.of(table, dtype)
        assert (part.dtype, part.dimension, part.weights.nbytes) == (dtype, 8, 72 * size)
        assert part.numbers().shape == part.table().shape == (9, 8)
        np.testing.assert_allclose(part.table(), table, atol=0.5)
