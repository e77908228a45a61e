"""float16 numbers in the compiled library: arrays of their bits, as uint16."""

import numpy as np


def bits(vectors: np.ndarray) -> np.ndarray:
    """Return the array that the library reads: uint16 bits of float16, float32 otherwise."""
    if vectors.dtype == np.float16:
        return vectors.view(np.uint16)
    return vectors.astype(np.float32, copy=False)
