"""Indexes as older versions wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def without_checksums(path: Path, **changes: Any) -> Path:
    """Drop the checksums of an index, so that a test may change its files, and change its meta.

    A value of ``...`` removes a key.
    """
    meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    meta |= {"digest": ..., "files": ...} | changes
    kept = {key: value for key, value in meta.items() if value is not ...}
    (path / "meta.json").write_text(json.dumps(kept), encoding="utf-8")
    return path
