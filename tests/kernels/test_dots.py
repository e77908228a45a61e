"""Integer dot products against their plain reference, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from miner.encoder.part import quantise
from miner.kernels.dots import ROWS, STEP, cosines, dots, dots_reference
from miner.scoring.pair_features import unit_codes


@given(st.integers(0, 3 * ROWS), st.integers(0, 9), st.integers(1, 4), st.integers(0, 99))
def test_products(n: int, m: int, steps: int, seed: int) -> None:
    """With repeated rows, extreme values, zero rows, and row counts that do not fill a tile."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(-127, 128, (9, steps * STEP)).astype(np.int8)
    codes[0], codes[1], codes[2] = 127, -127, 0
    rows = np.zeros((3 * ROWS, steps * STEP), dtype=np.int16)
    rows[:n] = codes[generator.integers(0, 9, n)]
    wanted = generator.integers(0, 9, m).astype(np.int32)
    out = np.full((m + 1, len(rows)), np.nan, dtype=np.float32)
    dots(rows, n, codes, wanted, out[:m])
    assert (out[:m, :n] == dots_reference(rows[:n], codes, wanted)).all()
    assert np.isnan(out[m]).all(), "rows beyond m are not written"


@given(st.integers(0, 9), st.integers(1, 40), st.integers(0, 99))
def test_unit_codes(size: int, dimension: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(size, dimension)).astype(np.float32)
    table[size // 2 :: 3] = 0
    codes, scale = unit_codes(table)
    assert codes.dtype == np.int8 and codes.shape[1] % STEP == 0
    assert not codes[:, dimension:].any()
    length = np.linalg.norm(table, axis=1, keepdims=True)
    unit = np.divide(table, length, out=np.zeros_like(table), where=length > 0)
    every = np.arange(size)
    found = cosines(codes, scale, every, every)
    np.testing.assert_allclose(found, unit @ unit.T, atol=0.02)
    np.testing.assert_allclose(np.diag(found), (length[:, 0] > 0).astype(float), atol=1e-6)


def test_int8_tables_are_not_rounded_again() -> None:
    stored, scales = quantise(np.random.default_rng(1).normal(size=(50, 32)).astype(np.float32))
    codes, scale = unit_codes(stored * scales[:, None])
    assert (codes == stored).all()
    np.testing.assert_allclose(np.linalg.norm(codes * scale[:, None], axis=1), 1, rtol=1e-6)
