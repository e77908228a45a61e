"""Text files in object stores and at Hugging Face (`hf://`), by fsspec: names, local copies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from miner.errors import CorpusError, DependencyError, MinerError, reason
from miner.libraries import library
from miner.text.durable import scratch_directory


def is_remote(path: str | Path) -> bool:
    """Return True for an address in an object store, False for a path."""
    return "://" in str(path)


def remote_matching(pattern: str) -> list[str]:
    """List the addresses of a pattern, or of all files in a directory, sorted.

    Raises CorpusError and DependencyError.
    """
    with _asking(pattern):
        store, path = _opened(pattern)
        found = store.find(path) if store.isdir(path) else store.glob(path)
        return sorted(map(store.unstrip_protocol, found))


def remote_stamp(url: str) -> tuple[int, int]:
    """Return size and time of change, in ns, of a file; a store without times has time 0."""
    with _asking(url):
        store, path = _opened(url)
        store.invalidate_cache()
        size = int(store.info(path)["size"])
        try:
            changed = store.modified(path).timestamp()
        except NotImplementedError:
            changed = 0.0
    return size, int(changed * 1e9)


@contextmanager
def local_copy(url: str) -> Iterator[str]:
    """Copy a file to the directory of temporary files for the time of the block; yield its path."""
    with scratch_directory() as place:
        copy = str(place / os.path.basename(url))  # the suffix says how it is compressed
        with _asking(url):
            store, path = _opened(url)
            store.get_file(path, copy)
        try:
            yield copy
        except MinerError as error:  # the user knows the address
            error.args = tuple(str(part).replace(copy, url) for part in error.args)
            raise


def _opened(url: str) -> tuple[Any, str]:
    fsspec = library("fsspec", url, "datasets" if url.startswith("hf:") else "s3")
    if url.startswith("hf:"):
        library("huggingface_hub", url, "datasets")
    if url.startswith("s3:"):
        library("s3fs", url, "s3")
    store, path = fsspec.core.url_to_fs(url)
    return store, path


@contextmanager
def _asking(url: str) -> Iterator[None]:
    """Turn the errors of the store's library, of any type, into one line."""
    try:
        yield
    except (CorpusError, DependencyError):
        raise
    except ImportError as error:  # the library of another store
        raise DependencyError(f"{url}: {reason(error)}") from None
    except Exception as error:
        raise CorpusError(
            f"{url}: cannot be read ({reason(error)}); check its name and your credentials"
        ) from None
