"""Text files in object stores and at Hugging Face (`hf://`), by fsspec."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
    with _reading(pattern):
        store, path = file_system(pattern, pattern)
        paths = store.find(path) if store.isdir(path) else store.glob(path)
        return sorted(map(store.unstrip_protocol, paths))


def remote_stamp(url: str) -> tuple[int, int]:
    """Return size and time of change, in ns, of a file; a store without times has time 0."""
    with _reading(url):
        store, path = file_system(url, url)
        store.invalidate_cache()
        size = int(store.info(path)["size"])
        try:
            changed = store.modified(path).timestamp()
        except NotImplementedError:
            changed = 0.0
    return size, int(changed * 1e9)


@contextmanager
def local_copy(origin: str) -> Iterator[str]:
    """Yield the local path of a file; a file in an object store is copied for the block."""
    if not is_remote(origin):
        yield origin
        return
    with scratch_directory() as directory:
        # keeps the suffix, which names the compression
        copy = str(directory / os.path.basename(origin))
        with _reading(origin):
            store, path = file_system(origin, origin)
            store.get_file(path, copy)
        with named(origin, copy):
            yield copy


def file_system(url: str, user: str, **options: Any) -> tuple[Any, str]:
    """Return fsspec's file system of an address, and the path there.

    Raises DependencyError, for the ``user``.
    """
    extra = "datasets" if url.startswith("hf:") else "s3"
    fsspec = library("fsspec", user, extra)
    for scheme, name in (("hf:", "huggingface_hub"), ("s3:", "s3fs")):
        if url.startswith(scheme):
            library(name, user, extra)
    try:
        located: tuple[Any, str] = fsspec.core.url_to_fs(url, **options)
        return located
    except ImportError as error:  # the library of this kind of store is missing
        raise DependencyError(f"{user}: {reason(error)}") from None


@contextmanager
def named(url: str, copy: str) -> Iterator[None]:
    """Replace the name of the ``copy`` by the address in errors."""
    try:
        yield
    except MinerError as error:
        error.args = tuple(
            part.replace(copy, url) if isinstance(part, str) else part for part in error.args
        )
        raise


@contextmanager
def asking(failed: Callable[[str], MinerError], *, missing: bool = False) -> Iterator[None]:
    """Convert errors of a store's library, of any type, to ``failed(reason)``.

    With ``missing``, FileNotFoundError is not converted, for objects that may be missing.
    """
    try:
        yield
    except MinerError:
        raise
    except Exception as error:
        if missing and isinstance(error, FileNotFoundError):
            raise
        raise failed(reason(error)) from None


def _reading(url: str) -> AbstractContextManager[None]:
    said = "check its name and your credentials"
    return asking(lambda why: CorpusError(f"{url}: cannot be read ({why}); {said}"))
