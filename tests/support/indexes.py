"""Rows of an index, its refusal, and indexes as older versions wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miner.errors import ArtifactError
from miner.index.index import Index


def without_checksums(path: Path, **changes: Any) -> Path:
    """Drop the checksums of an index, so that a test may change its files, and change its meta.

    A value of ``...`` removes a key.
    """
    meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    meta |= {"digest": ..., "files": ...} | changes
    kept = {key: value for key, value in meta.items() if value is not ...}
    (path / "meta.json").write_text(json.dumps(kept), encoding="utf-8")
    return path


def text(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def everything(index: Index) -> dict[str, list[Any]]:
    """Return all rows of an index."""
    rows = np.arange(len(index))
    return {
        "ids": index.ids(rows),
        "sentences": index.sentences(rows),
        "vectors": index.store.vectors.tolist(),
        "line": index.store.line.tolist(),
        "file": index.store.file.tolist(),
        "first": index.store.first.tolist(),
        "distinct": index.store.distinct().tolist(),
    }


def entries(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def refused(path: Path) -> str:
    with pytest.raises(ArtifactError) as caught:
        Index.open(path)
    text = str(caught.value)
    assert "\n" not in text and str(path) in text
    return text
