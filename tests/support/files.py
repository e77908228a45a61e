"""Files of lines or of rows, and the content of a directory."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from miner.errors import ArtifactError
from miner.text.output import open_output


def write(path: Path, rows: Iterable[str | Sequence[object]]) -> Path:
    """Write lines, or rows of tab-separated columns, compressed by the suffix; make directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as file:
        for row in rows:
            line = row if isinstance(row, str) else "\t".join(map(str, row))
            file.write(f"{line}\n")
    return path


def whole(directory: Path) -> dict[str, bytes]:
    """Return the bytes of every file at or below a directory, by name."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def entries(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def refused(opened: Callable[..., object], path: Path, *more: object) -> str:
    """Return the ArtifactError of opening a file or directory, which names it."""
    with pytest.raises(ArtifactError) as caught:
        opened(path, *more)
    text = str(caught.value)
    assert str(path) in text
    return text
