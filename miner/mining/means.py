"""Encoder, device and workers that the settings of a search imply."""

from dataclasses import replace
from pathlib import Path

from miner.device import resolve_device
from miner.encoder.loading import USUAL, Loading
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import DependencyError, ResourceError
from miner.knn.engines import search_device
from miner.knn.settings import SearchSettings
from miner.tasks.workers import Workers


def load_encoder(
    model: str | Path, settings: SearchSettings, loading: Loading = USUAL
) -> SentenceEncoder:
    """Open a model to encode both sides, with the threads and the device of a search."""
    return open_encoder(model, settings.threads, encoding_device(settings), "source", loading)


def encoding_device(settings: SearchSettings) -> str:
    """Return the device to encode on: that of the search, or "cpu" where torch cannot use it."""
    if ":" not in settings.device:
        return "cpu" if settings.device == "cpu" else "auto"
    try:
        return resolve_device(settings.device)
    except (DependencyError, ResourceError):
        return "cpu"


def search_workers(workers: Workers, settings: SearchSettings) -> Workers:
    """Return workers with the memory and threads of a search, unless they have their own.

    Workers on other machines request a GPU if the search does. Raises ResourceError for a missing
    GPU of this machine.
    """
    gpu = settings.device.startswith("cuda")
    if gpu and workers.here:
        search_device(settings.device, settings.engine, settings.exact)
    return replace(
        workers,
        gpu=gpu,
        memory=workers.memory or settings.memory,
        threads=workers.threads or settings.threads,
    )
