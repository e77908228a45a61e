"""Patterns of file names (`de/*.zst`), expanded to files in a stable order."""

import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path

from miner.errors import CorpusError
from miner.text.remote import is_remote, remote_matching

# Suffixes of data files in directories of Hugging Face.
_DATA = (".parquet", ".arrow", ".jsonl")


def matching(pattern: str) -> list[str]:
    """Expand a pattern to sorted files; an existing file, or a name without ``*?[``, is kept.

    ``**`` stands for any folders. A pattern may be an address in an object store. A directory of
    Hugging Face stands for the files of its one split. Raises CorpusError for a pattern that
    matches no file.
    """
    if os.path.isdir(pattern):
        return _data_files(pattern, map(str, files_below(pattern)))
    magic = glob.has_magic(pattern)
    if is_remote(pattern) and not magic and not Path(pattern).suffix:  # apparently a directory
        return _data_files(pattern, remote_matching(pattern))
    if not magic or os.path.lexists(pattern):
        return [pattern]
    if is_remote(pattern):
        paths = remote_matching(pattern)
    else:
        paths = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not paths:
        raise CorpusError(f"{pattern}: no file has such a name")
    return paths


def files_below(directory: str | Path) -> list[Path]:
    """List the files of a directory and of all folders below, links to folders too, sorted.

    A folder that several links lead to, or a link to a folder that it is in, is listed once.
    """
    paths: list[Path] = []
    seen = {os.path.realpath(directory)}
    for parent, folders, files in os.walk(directory, followlinks=True):
        folders[:] = sorted(
            folder for folder in folders if _is_new(os.path.join(parent, folder), seen)
        )
        paths += [path for name in files if (path := Path(parent, name)).is_file()]
    return sorted(paths, key=str)


def _is_new(folder: str, seen: set[str]) -> bool:
    """Return True for a folder not seen before, under any of its names."""
    before = len(seen)
    seen.add(os.path.realpath(folder))
    return len(seen) > before


def _data_files(directory: str, files: Iterable[str]) -> list[str]:
    """Return the files of a data set with one split; another directory is kept as it is."""
    paths = sorted(path for path in files if path.endswith(_DATA))
    # data/train-00000-of-00002.parquet, train/data-00000-of-00001.arrow
    splits = {re.sub(r"-\d+-of-\d+(?=\.)", "", path) for path in paths}
    if len(splits) > 1:
        raise CorpusError(
            f"{directory}: has several splits, such as {sorted(splits)[0]}; give one of them, as a "
            "directory or a pattern"
        )
    return paths or [directory]
