"""JSON from files that others may have damaged."""

import json
from pathlib import Path
from typing import Any


def parsed(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError, also for lists in lists too deep for Python's parser."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_json(path: Path) -> Any:
    """Parse a JSON file. Raises OSError, and ValueError as :func:`parsed`."""
    return parsed(path.read_bytes())
