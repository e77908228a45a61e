"""FAISS: the only module that imports it.

Its similarities select candidates and never appear in a result: callers compute them again by
:mod:`miner.kernels.exact`.
"""

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from miner.child import ChildError, call
from miner.device import gpu_errors, gpu_ids, warn_no_gpu
from miner.errors import ArtifactError, DependencyError, ResourceError
from miner.libraries import has_driver, install_line, pip

# Rows per conversion to float32.
BLOCK = 16_384
# Vectors that a compressed index is trained on.
TRAINING_SAMPLE = 200_000
# Lists visited by a query of an IVF index: one in PROBED_SHARE, but at least LEAST_PROBES. FAISS's
# default of one list misses most neighbours.
LEAST_PROBES = 16
PROBED_SHARE = 16

# Neighbours, and lists, that FAISS's kernels for GPUs can select for a query.
MOST_ON_GPU = 2048
_NOT_ON_GPU = re.compile("not implemented on GPU|not supported|implemented only for")

# Bytes of device memory that FAISS may use for the lists of a search, on each GPU.
SCRATCH = 512 << 20
# Seconds in which a child process must count the GPUs, and train an index on them.
COUNTING, TRAINING = 60.0, 3600.0


@cache
def faiss_distributions() -> list[str]:
    """List the installed distributions that provide the module ``faiss``.

    Not by ``packages_distributions()``, which reads the files of all packages, for seconds.
    """
    from importlib.metadata import Distribution  # takes longer to import than this module

    names = set()
    for directory in dict.fromkeys(sys.path):
        for path in Path(directory or ".").glob("*faiss*.dist-info"):
            distribution = Distribution.at(path)
            if any(file.parts[0] == "faiss" for file in distribution.files or ()):
                names.add(str(distribution.metadata["Name"]))
    return sorted(names)


def faiss() -> Any:
    """Import FAISS. Raises :class:`~miner.errors.DependencyError` if it is missing or doubled."""
    installed = faiss_distributions()
    if len(installed) > 1:
        raise DependencyError(
            f"{' and '.join(installed)} are both installed and overwrite each other; run: "
            f"{pip()} uninstall -y {' '.join(installed)} && {install_line(installed[-1])}"
        )
    try:
        return importlib.import_module("faiss")
    except ImportError as error:
        raise DependencyError(
            f"FAISS is not usable ({error}); run: {install_line(extra='cpu')}, or "
            '"bitext-miner[gpu]" on a machine with an NVIDIA GPU'
        ) from None


def gpu_count() -> int:
    """Count the GPUs that the installed FAISS can use.

    FAISS aborts the process if the driver does not fit, so a child process counts, once.
    """
    if not hasattr(faiss(), "StandardGpuResources") or not has_driver():
        return 0
    try:
        return _counted()
    except ChildError:
        return 0


@cache
def _counted() -> int:
    return int(call("miner.index.faiss:count_in_child", COUNTING))


def count_in_child() -> int:
    """Return the number of GPUs that FAISS sees, for :func:`gpu_count`."""
    return int(faiss().get_num_gpus())


def use_threads(threads: int) -> None:
    """Set the number of FAISS's threads."""
    faiss().omp_set_num_threads(threads)


def flat_search(queries: np.ndarray, base: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Search by brute force: ``(n, k)`` float32 inner products and int64 rows, best first.

    ``queries (n, d)`` and ``base (m, d)`` are float32, and k ≤ m. FAISS decides rounding and the
    order of ties.
    """
    library = faiss()
    return library.knn(queries, base, k, metric=library.METRIC_INNER_PRODUCT)


def flat_on_gpus(vectors: np.ndarray, gpus: list[int]) -> Any:
    """Return an exhaustive index of ``vectors (n, d) float32`` on GPUs, as float16.

    Its search takes float32 and returns the same as :func:`flat_search`. Raises the errors of
    :func:`to_gpus`.
    """
    index = faiss().IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return to_gpus(index, gpus, half=True)


def to_gpus(index: Any, gpus: list[int], *, half: bool = False) -> Any:
    """Copy an index to GPUs, by shards if there are several; ``half``: vectors as float16.

    Raises NotImplementedError for a kind of index that FAISS lacks on GPUs, MemoryError,
    ResourceError.
    """
    library = faiss()
    try:
        with gpu_errors():
            resources = [_resources(gpu) for gpu in gpus]
            if len(gpus) == 1:
                options = library.GpuClonerOptions()
                options.useFloat16 = half
                return library.index_cpu_to_gpu(resources[0], gpus[0], index, options)
            options = library.GpuMultipleClonerOptions()
            options.useFloat16, options.shard = half, True
            return library.index_cpu_to_gpu_multiple_py(resources, index, options, gpus)
    except ResourceError as error:
        if _NOT_ON_GPU.search(str(error.__cause__)):
            raise NotImplementedError(str(error.__cause__)) from None
        raise


@cache
def _resources(gpu: int) -> Any:
    """Return FAISS's resources of a GPU, one object per process, because it reserves device
    memory.
    """
    resources = faiss().StandardGpuResources()
    resources.setTempMemory(SCRATCH)
    return resources


def build(
    path: Path, vectors: np.ndarray, rows: np.ndarray, factory: str, device: str = "cpu"
) -> None:
    """Train and write a FAISS index of the ``rows`` of ``vectors (n, d)``, by inner product.

    On a GPU ``device``, lists are clustered there, in a child process; if that fails, the processor
    does it, and a warning says why. Raises ArtifactError for a malformed factory string,
    ResourceError if there are too few training rows, OSError if the file cannot be written.
    """
    library = faiss()
    try:
        index = library.index_factory(vectors.shape[1], factory, library.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise ArtifactError(f"--index {factory}: no FAISS factory string ({_why(error)})") from None
    # Training sample, spread evenly over the corpus.
    sample = rows[:: max(1, len(rows) // TRAINING_SAMPLE)]
    floats = vectors[sample].astype(np.float32)
    try:
        index = _trained_on_gpus(path, index, floats, device) or index
        if not index.is_trained:
            index.train(floats)
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


def _trained_on_gpus(path: Path, index: Any, sample: np.ndarray, device: str) -> Any:
    """Return ``index`` trained in a child process; None if no GPU can train it."""
    library = faiss()
    gpus = gpu_ids(device, gpu_count()) if device != "cpu" else []
    if not gpus or library.try_extract_index_ivf(index) is None:
        return None
    with TemporaryDirectory(dir=path.parent) as directory:
        names = {"untrained": f"{directory}/untrained", "sample": f"{directory}/sample.npy"}
        library.write_index(index, names["untrained"])
        np.save(names["sample"], sample)
        try:
            call("miner.index.faiss:train_in_child", TRAINING, gpus=gpus, **names)
            return library.read_index(names["untrained"])
        except ChildError as error:
            warn_no_gpu("training the index", str(error))
            return None


def train_in_child(untrained: str, sample: str, gpus: list[int]) -> None:
    """Train the index in a file with the vectors in another, clustering on GPUs, and replace it."""
    library = faiss()
    index = library.read_index(untrained)
    inverted = library.extract_index_ivf(index)
    clustering = to_gpus(library.IndexFlatIP(inverted.d), gpus)
    inverted.clustering_index = clustering
    index.train(np.load(sample))
    library.write_index(index, untrained)


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
        inverted.nprobe = min(inverted.nlist, probes, MOST_ON_GPU)
    return index


def _why(error: RuntimeError) -> str:
    """Return the reason in a FAISS message, without source positions."""
    text = str(error).strip().split("\n")[0]
    return text.rsplit("Error: ", 1)[-1].rsplit("failed: ", 1)[-1]
