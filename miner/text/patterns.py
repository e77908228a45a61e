"""Patterns of file names, such as `de/*.zst`: the files that they name, in a stable order."""

import glob
import os

from miner.errors import CorpusError
from miner.text.remote import is_remote, remote_matching


def matching(pattern: str) -> list[str]:
    """List the files of a pattern, sorted; the name of a file, or without ``*?[``, stays as it is.

    ``**`` stands for any folders. A pattern may be an address in an object store. Raises
    CorpusError for a pattern that no file has.
    """
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [pattern]
    if is_remote(pattern):
        found = remote_matching(pattern)
    else:
        found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not found:
        raise CorpusError(f"{pattern}: no file has such a name")
    return found
