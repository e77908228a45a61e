"""Stand-in for FAISS with GPUs, computed on the CPU and configured by the environment.

``FAKE_GPUS`` is their number, ``FAKE_MEMORY`` the bytes of each [plenty]. ``FAKE_FAULT``: ``abort``
ends the process as a CUDA fault does, ``count`` when the GPUs are counted, ``raise`` raises at
every search, ``rows`` returns other rows, ``nan`` returns NaN.
"""

import importlib
import os
import sys
import weakref
from pathlib import Path

_kept, _here = sys.path[:], Path(__file__).parent
sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != _here.resolve()]
_own = sys.modules.pop("faiss")
_real = importlib.import_module("faiss")
sys.modules["faiss"], sys.path[:] = _own, _kept
globals().update({name: getattr(_real, name) for name in dir(_real) if not name.startswith("__")})

FAULT = os.environ.get("FAKE_FAULT", "")
MEMORY = int(os.environ.get("FAKE_MEMORY", 1 << 40))
# Bytes in use on each GPU, their maximum, and the copies made: (numbers of the GPUs, half, rows).
used: dict[int, int] = {}
most: dict[int, int] = {}
copies: list[tuple[list[int], bool, int]] = []


def _abort():
    sys.stderr.write(
        "terminate called after throwing an instance of 'faiss::FaissException'\n"
        "  what():  CUDA error 35 CUDA driver version is insufficient\n"
    )
    sys.stderr.flush()
    os.abort()


def get_num_gpus():
    if FAULT == "count":
        _abort()
    return int(os.environ.get("FAKE_GPUS", 1))


class StandardGpuResources:
    def __init__(self):
        if FAULT == "abort":
            _abort()
        self.temporary = None

    def setTempMemory(self, size):
        self.temporary = size


class GpuClonerOptions:
    useFloat16 = False


class GpuMultipleClonerOptions(GpuClonerOptions):
    shard = False


def _free(gpus, size):
    for gpu in gpus:
        used[gpu] -= size


class OnGpus:
    def __init__(self, index, gpus, half):
        if not isinstance(_real.downcast_index(index), (_real.IndexFlat, _real.IndexIVF)):
            raise RuntimeError("Error: 'false' failed: This index type is not implemented on GPU.")
        self.index, self.half, self.ntotal = index, half, index.ntotal
        size = index.ntotal * index.d * (2 if half else 4) // len(gpus)
        for gpu in gpus:
            if used.get(gpu, 0) + size > MEMORY:
                raise RuntimeError(
                    "Error in allocMemory: StandardGpuResources: alloc fail type FlatData dev "
                    f"{gpu} size {size} bytes (cudaMalloc error out of memory [2])"
                )
            used[gpu] = used.get(gpu, 0) + size
            most[gpu] = max(most.get(gpu, 0), used[gpu])
        weakref.finalize(self, _free, gpus, size)
        copies.append((list(gpus), half, index.ntotal))
        if half:
            vectors = index.reconstruct_n(0, index.ntotal).astype("float16").astype("float32")
            self.index = _real.IndexFlatIP(index.d)
            self.index.add(vectors)

    def search(self, queries, k):
        if FAULT == "raise":
            raise RuntimeError("CUDA error 209:\nno kernel image is available")
        if self.half:
            queries = queries.astype("float16").astype("float32")
        similarity, row = self.index.search(queries, k)
        if FAULT == "rows":
            row = (row + 1) % self.ntotal
        if FAULT == "nan":
            row, similarity = row * 0 - 1, similarity * float("nan")
        return similarity, row


def index_cpu_to_gpu(resources, gpu, index, options=None):
    assert resources.temporary
    if isinstance(index, _real.IndexFlat) and not index.ntotal:
        return index  # training uses FAISS's own classes
    return OnGpus(index, [gpu], bool(options and options.useFloat16))


def index_cpu_to_gpu_multiple_py(resources, index, co=None, gpus=None):
    assert len(resources) == len(gpus) and co.shard
    return OnGpus(index, gpus, co.useFloat16)
