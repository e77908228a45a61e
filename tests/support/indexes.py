"""Helpers for indexes: all rows, refused directories, recomputed checksums."""

import hashlib
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from miner.index.directory import DIGEST, FILES, META, digest, write_meta
from miner.index.index import Index


def with_checksums(path: Path, **changes: Any) -> Path:
    """Change the meta of an index, and recompute the checksums of all files."""
    meta = json.loads((path / META).read_text(encoding="utf-8")) | changes
    for name in meta[FILES]:
        data = (path / name).read_bytes()
        meta[FILES][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    write_meta(path, {**meta, DIGEST: digest(meta)})
    return path


def text(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def saved(path: Path, array: np.ndarray) -> Path:
    """Write vectors in the format of the suffix."""
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["v"] = array
    else:
        array.astype("<f2" if path.suffix == ".f16" else "<f4").tofile(path)
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
