"""The file that says what a work directory is for."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError, MismatchError
from miner.names import VERSION
from miner.text.output import atomic_file, one_line

PLAN = "plan.json"


def format_of(work: Path) -> str | None:
    """Return the format of the plan in a work directory; None where there is none."""
    try:
        found = json.loads((work / PLAN).read_text(encoding="utf-8"))
        return str(found["format"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_plan_file(work: Path, format: str, what: str) -> dict[str, Any]:
    """Read the plan of a work directory, which is that of ``what``.

    Raises ArtifactError, and MismatchError for the plan of another version.
    """
    path = work / PLAN
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found.pop("format", None) != format:
            raise ValueError("another format")
    except (OSError, ValueError, AttributeError) as error:
        raise ArtifactError(
            f"{path}: not the plan of {what} ({one_line(str(error))}); name another --work"
        ) from None
    if found.get("version") != VERSION:
        raise MismatchError(
            f"{path}: made by bitext-miner {found.get('version')}, this worker has "
            f"{VERSION}; install one version everywhere, or name another --work"
        )
    return found


def not_whole(work: Path, error: Exception) -> ArtifactError:
    """Return the error for a plan that lacks something."""
    return ArtifactError(
        f"{work / PLAN}: not a whole plan ({one_line(str(error))}); name another --work"
    )


def write_plan_file(work: Path, format: str, plan: Any) -> None:
    """Write a plan, a dataclass. Raises ResourceError."""
    with atomic_file(work / PLAN) as temporary:
        temporary.write_text(json.dumps({"format": format, **asdict(plan)}), encoding="utf-8")
