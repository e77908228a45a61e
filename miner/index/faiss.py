"""FAISS: the only module that imports it.

Its similarities select candidates and never appear in a result: callers compute them again by
:mod:`miner.kernels.exact`.
"""

import importlib
import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError, DependencyError, ResourceError
from miner.libraries import install_line, pip

# Rows of one conversion to float32.
BLOCK = 16_384
# Vectors that a compressed index is trained on.
TRAINING_SAMPLE = 200_000
# A query of an IVF index visits one list in PROBED_SHARE, and at least LEAST_PROBES. FAISS's own
# default, one list, misses most neighbours.
LEAST_PROBES = 16
PROBED_SHARE = 16

# Neighbours that FAISS's kernels for GPUs can select.
MOST_ON_GPU = 2048

DISTRIBUTIONS = ("faiss-cpu", "faiss-gpu", "faiss-gpu-cuvs")


def faiss_distributions() -> list[str]:
    """List the installed distributions that provide the module ``faiss``."""
    found = []
    for name in DISTRIBUTIONS:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found.append(name)
    return found


def faiss() -> Any:
    """Import FAISS. Raises :class:`~miner.errors.DependencyError` if it is missing or doubled."""
    found = faiss_distributions()
    if len(found) > 1:
        raise DependencyError(
            f"{' and '.join(found)} are both installed and overwrite each other; run: "
            f"{pip()} uninstall -y {' '.join(found)} && {install_line(found[-1])}"
        )
    try:
        return importlib.import_module("faiss")
    except ImportError as error:
        raise DependencyError(
            f"FAISS is not usable ({error}); run: {install_line(extra='cpu')}, or "
            '"bitext-miner[gpu]" on a machine with an NVIDIA GPU'
        ) from None


def gpu_count() -> int:
    """Count the GPUs that the installed FAISS can use."""
    library = faiss()
    return library.get_num_gpus() if hasattr(library, "StandardGpuResources") else 0


def use_threads(threads: int) -> None:
    """Set the number of FAISS's threads."""
    faiss().omp_set_num_threads(threads)


def flat_search(
    queries: np.ndarray, base: np.ndarray, k: int, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Search by brute force: ``(n, k)`` float32 inner products and int64 rows, best first.

    ``queries (n, d)`` and ``base (m, d)`` are float32, and k ≤ m. Rounding and the order of ties
    are FAISS's own. A GPU serves k up to `MOST_ON_GPU`. Raises MemoryError if its memory runs out.
    """
    library = faiss()
    metric = library.METRIC_INNER_PRODUCT
    if device != "cuda" or k > MOST_ON_GPU:
        return library.knn(queries, base, k, metric=metric)
    try:
        return library.knn_gpu(_gpu_resources(), queries, base, k, metric=metric)
    except RuntimeError as error:
        if "memory" in str(error):
            raise MemoryError(_why(error)) from error
        raise


def to_gpu(index: Any) -> Any:
    """Copy an index to the first GPU. None if FAISS has no such index there, or no room for it."""
    try:
        return faiss().index_cpu_to_gpu(_gpu_resources(), 0, index)
    except RuntimeError:
        return None


_resources: Any = None


def _gpu_resources() -> Any:
    global _resources  # one per process: FAISS reserves device memory for each
    if _resources is None:
        _resources = faiss().StandardGpuResources()
    return _resources


def build(path: Path, vectors: np.ndarray, rows: np.ndarray, factory: str) -> None:
    """Train and write a FAISS index of the ``rows`` of ``vectors (n, d)``, by inner product.

    Raises ArtifactError for a malformed factory string, ResourceError if there are too few rows to
    train on, OSError if the file cannot be written.
    """
    library = faiss()
    try:
        index = library.index_factory(vectors.shape[1], factory, library.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise ArtifactError(f"--index {factory}: no FAISS factory string ({_why(error)})") from None
    # A training sample spread evenly over the corpus.
    sample = rows[:: max(1, len(rows) // TRAINING_SAMPLE)]
    try:
        index.train(vectors[sample].astype(np.float32))
    except RuntimeError as error:
        raise ResourceError(
            f"--index {factory}: cannot be trained on {len(sample)} sentences ({_why(error)}); "
            "use --index flat or a smaller one"
        ) from None
    for start in range(0, len(rows), BLOCK):
        index.add(vectors[rows[start : start + BLOCK]].astype(np.float32))
    try:
        library.write_index(index, str(path))
    except RuntimeError as error:
        raise OSError(_why(error)) from None


def read(path: Path) -> Any:
    """Read a FAISS index that :func:`build` wrote. Raises ArtifactError."""
    library = faiss()
    try:
        index = library.read_index(str(path))
    except RuntimeError as error:
        raise ArtifactError(f"{path}: cannot be read ({_why(error)}); build it again") from None
    inverted = library.try_extract_index_ivf(index)
    if inverted is not None:
        probes = max(LEAST_PROBES, inverted.nlist // PROBED_SHARE)
        inverted.nprobe = min(inverted.nlist, probes)
    return index


def _why(error: RuntimeError) -> str:
    """Return the reason in a FAISS message, without source positions."""
    text = str(error).strip().split("\n")[0]
    return text.rsplit("Error: ", 1)[-1].rsplit("failed: ", 1)[-1]
