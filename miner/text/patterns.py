"""Patterns of file names, such as `de/*.zst`: the files that they name, in a stable order."""

from __future__ import annotations

import glob
import os

from miner.errors import CorpusError


def matching(pattern: str) -> list[str]:
    """List the files of a pattern, sorted; the name of a file, or without ``*?[``, stays as it is.

    ``**`` stands for any folders. Raises CorpusError for a pattern that no file has.
    """
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not found:
        raise CorpusError(f"{pattern}: no file has such a name")
    return found
