"""float16 numbers in compiled loops. Numba has no float16 on processors.

Arrays are passed as uint16 (:func:`bits`); numbers are widened to float32 in registers, and
narrowed.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from miner.kernels.loops import Instructions


def bits(vectors: np.ndarray) -> np.ndarray:
    """Return the array that compiled loops read: uint16 bits of float16, float32 otherwise."""
    if vectors.dtype == np.float16:
        return vectors.view(np.uint16)
    return vectors.astype(np.float32, copy=False)


def _widen(typingctx: Any, value: Any) -> Any:
    """Convert one number of :func:`bits` to float32."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if value == types.float32:
            return values[0]
        return builder.fpext(builder.bitcast(values[0], ir.HalfType()), ir.FloatType())

    if value not in (types.float32, types.uint16):
        return None
    return types.float32(value), codegen


widen: Any = Instructions(_widen)


def _narrow(typingctx: Any, value: Any) -> Any:
    """Round a float32 to float16, ties to even; return its bits."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(builder.fptrunc(values[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(types.float32), codegen


narrow: Any = Instructions(_narrow, lambda value: np.float16(value).view(np.uint16))
