"""float16 numbers in compiled loops, which numba itself does not know on processors.

They travel as uint16, their bits (:func:`bits`), and one instruction widens eight of them.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def bits(vectors: np.ndarray) -> np.ndarray:
    """float16 as the uint16 that compiled loops take, float32 as it is; anything else as float32.

    A view where possible.
    """
    plain = np.asarray(vectors)  # also of a memory map, which numba would take for another type
    if plain.dtype == np.float16:
        return plain.view(np.uint16)
    return plain.astype(np.float32, copy=False)


def _widen(typingctx: Any, value: Any) -> Any:
    """A number of :func:`bits` as float32."""

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if value == types.float32:
            return values[0]
        return builder.fpext(builder.bitcast(values[0], ir.HalfType()), ir.FloatType())

    if value not in (types.float32, types.uint16):
        return None
    return types.float32(value), codegen


widen: Any = intrinsic(_widen)
