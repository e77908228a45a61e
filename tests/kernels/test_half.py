"""float16 in compiled loops: every number as numpy has it, also without the instructions for it."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

from miner.kernels.exact import rescore
from miner.kernels.half import narrow_reference, widen_reference
from miner.kernels.pool import _to_half

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def rounded() -> np.ndarray:
    """Return all float16 numbers, what lies between two of them, and what is too large or small."""
    with np.errstate(all="ignore"):
        wide = EVERY.astype(np.float32)
        between = (wide[1:] + wide[:-1]) / 2
        beside = [np.nextafter(between, np.float32(to)) for to in (-np.inf, np.inf)]
    extremes = np.array([65519.99, 65520, 1e30, -1e30, 1e-8, -1e-8, 2**-25, 1e-40], np.float32)
    return np.concatenate([wide, between, *beside, extremes])


def check() -> None:
    """Widen and narrow in loops."""
    found = np.empty((1, len(EVERY)), dtype=np.float32)
    rows = np.arange(len(EVERY), dtype=np.int64)[None]
    rescore(np.ones((1, 1), dtype=np.float16), EVERY[:, None], rows, found)
    np.testing.assert_array_equal(found[0], EVERY.astype(np.float32))
    numbers = rounded()
    half = np.empty(len(numbers), dtype=np.uint16)
    _to_half(numbers, half)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(half.view(np.float16), numbers.astype(np.float16))


def test_all_numbers() -> None:
    check()


def test_references() -> None:
    for number, wide in zip(EVERY.view(np.uint16), EVERY.astype(np.float32), strict=True):
        found = widen_reference.py_func(number)
        assert found == wide or (np.isnan(found) and np.isnan(wide))
        assert np.isnan(wide) or narrow_reference.py_func(wide) == number


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a processor of x86")
def test_a_processor_without_float16() -> None:
    """LLVM would call functions that are nowhere, and end the process."""
    asked = {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse4.2"}
    done = subprocess.run(
        [sys.executable, __file__], env=os.environ | asked, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    from miner.kernels.half import has_float16

    assert not has_float16()
    check()
