"""Output directories: replaced as a whole, never over a user's own directory, with manifests."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError, writing
from miner.option_values import VERSION
from miner.text import durable
from miner.text.file_digests import file_sha256
from miner.text.output import StrPath, open_output

# Name of the file that describes a directory of rows.
MANIFEST = "manifest.json"


@contextmanager
def atomic_directory(path: StrPath, marker: str) -> Iterator[Path]:
    """Yield an empty temporary sibling of ``path`` that becomes ``path`` when the body succeeds.

    An existing directory is replaced only if it holds ``marker``, the file that marks every
    artifact of this kind. On any exception the temporary directory is removed and the older
    directory stays. Siblings that killed processes have left are removed. Raises ArtifactError and
    ResourceError.
    """
    target = replaceable(path, marker)
    temporary = durable.temporary_name(target)
    try:
        with writing(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            durable.remove_leftovers(target)
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            yield temporary
            durable.replace_directory(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replaceable(path: StrPath, marker: str) -> Path:
    """Return the directory that ``path`` is or links to, if an artifact may replace it.

    Raises ArtifactError for something without ``marker``, and for the working directory.
    """
    target = Path(path).resolve()
    if target.exists() and not (
        target.is_dir() and ((target / marker).exists() or not any(target.iterdir()))
    ):
        raise ArtifactError(
            f"{path}: exists and is not one of ours (no {marker} in it); choose another -o or "
            "remove it"
        )
    if Path.cwd().is_relative_to(target):
        raise ArtifactError(f"{path}: is the working directory; run this from outside of it")
    return target


def write_manifest(
    path: StrPath, files: Mapping[Path, Mapping[str, Any]], facts: Mapping[str, Any]
) -> None:
    """Write a manifest: general facts, and the size, SHA-256 and facts of each file.

    Raises ResourceError.
    """
    parts = [
        {
            "file": written.name,
            "bytes": written.stat().st_size,
            "sha256": file_sha256(written),
            **more,
        }
        for written, more in files.items()
    ]
    with open_output(path) as file:
        manifest = {"version": VERSION, **facts, "parts": parts}
        file.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
