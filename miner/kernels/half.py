"""float16 numbers in compiled loops. Numba has no float16 on processors.

Arrays are passed as uint16 (:func:`bits`) and widened to float32 in registers.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def bits(vectors: np.ndarray) -> np.ndarray:
    """Return the array that compiled loops read: uint16 bits of float16, float32 otherwise."""
    if vectors.dtype == np.float16:
        return read_only(vectors.view(np.uint16))
    return read_only(vectors.astype(np.float32, copy=False))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written, as an opened memory map cannot.

    A loop that got both kinds of arrays would be compiled for each.
    """
    view = np.asarray(array).view()  # numba takes a memory map for another type
    view.flags.writeable = False
    return view


def _widen(typingctx: Any, value: Any) -> Any:
    """Convert one number of :func:`bits` to float32."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if value == types.float32:
            return values[0]
        return builder.fpext(builder.bitcast(values[0], ir.HalfType()), ir.FloatType())

    if value not in (types.float32, types.uint16):
        return None
    return types.float32(value), codegen


widen: Any = intrinsic(_widen)
