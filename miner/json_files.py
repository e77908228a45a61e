"""JSON from files that others may have damaged."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

_SCAN = json.JSONDecoder().scan_once


def parsed(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError, also for lists in lists too deep for Python's parser."""
    try:
        if isinstance(text, str):
            # A third of the time of json.loads on a line without white space around it.
            with suppress(StopIteration):
                value, end = _SCAN(text, 0)
                if end == len(text):
                    return value
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_json(path: Path) -> Any:
    """Parse a JSON file. Raises OSError, and ValueError as :func:`parsed`."""
    return parsed(path.read_bytes())
