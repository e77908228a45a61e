"""float16 numbers in compiled loops. Numba has no float16 on processors.

Arrays are passed as uint16 (:func:`bits`); numbers are widened to float32 in registers, and
narrowed. Processors of x86 without F16C do that by integers.
"""

import platform
from typing import Any

import numpy as np
from llvmlite import ir

from miner.kernels.loops import Instructions, njit, target


def bits(vectors: np.ndarray) -> np.ndarray:
    """Return the array that compiled loops read: uint16 bits of float16, float32 otherwise."""
    if vectors.dtype == np.float16:
        return vectors.view(np.uint16)
    return vectors.astype(np.float32, copy=False)


def has_float16() -> bool:
    """Check that loops are compiled for a processor that converts float16 itself."""
    x86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686", "x86")
    return not x86 or "+f16c" in target()[1].split(",")


def _widen(typingctx: Any, value: Any) -> Any:
    """Convert one number of :func:`bits` to float32."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if value == types.float32:
            return values[0]
        if has_float16():
            return builder.fpext(builder.bitcast(values[0], ir.HalfType()), ir.FloatType())
        return context.compile_internal(
            builder, widen_reference.py_func, types.float32(types.uint16), values
        )

    if value not in (types.float32, types.uint16):
        return None
    return types.float32(value), codegen


def _narrow(typingctx: Any, value: Any) -> Any:
    """Round a float32 to float16, ties to even; return its bits."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if has_float16():
            return builder.bitcast(builder.fptrunc(values[0], ir.HalfType()), ir.IntType(16))
        return context.compile_internal(
            builder, narrow_reference.py_func, types.uint16(types.float32), values
        )

    return types.uint16(types.float32), codegen


@njit()
def widen_reference(value):
    """Compute :data:`widen` of the bits of a float16, by integers."""
    size = np.uint32((np.uint32(value) & 0x7FFF) << 13)
    if size >= 0x0F800000:  # infinity and NaN
        size = np.uint32(size | 0x7F800000)
    else:  # float32 counts exponents from 112 higher
        size = np.float32(size.view(np.float32) * np.float32(2.0**112)).view(np.uint32)
    return np.uint32(size | (np.uint32(value) & 0x8000) << 16).view(np.float32)


@njit()
def narrow_reference(value):
    """Compute :data:`narrow` by integers."""
    bits = np.float32(value).view(np.uint32)
    size = np.uint32(bits & 0x7FFFFFFF)
    if size > 0x7F800000:  # NaN
        half: Any = 0x7E00
    elif size >= 0x477FF000:  # rounds to 2^16 or more: infinity
        half = 0x7C00
    elif size < 0x38800000:  # below 2^-14: steps of 2^-24, as float32 has from 0.5
        half = np.float32(size.view(np.float32) + np.float32(0.5)).view(np.uint32) - 0x3F000000
    else:
        half = (size - (112 << 23) + 0xFFF + (size >> 13 & 1)) >> 13
    return np.uint16(bits >> 16 & 0x8000 | half)


widen: Any = Instructions(_widen)
narrow: Any = Instructions(_narrow, narrow_reference.py_func)
