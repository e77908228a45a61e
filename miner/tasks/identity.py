"""Identity of a work directory, in its file `plan.json`: the inputs and settings of its run."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError, CorpusError, MismatchError, reason
from miner.json_files import read_json
from miner.option_values import VERSION
from miner.text.output import write_whole

# File with the identity of a work directory.
PLAN = "plan.json"
FORMAT = "bitext-miner work"


def check_own(place: Path) -> None:
    """Raise ArtifactError for a directory that is no work directory."""
    if place.exists() and not (place / PLAN).exists():
        others = [path.name for path in place.iterdir()] if place.is_dir() else [place.name]
        # A run may have been killed while it wrote the plan.
        if any(not name.startswith(f".{PLAN}.") for name in others):
            raise ArtifactError(
                f"{place}: exists and is no work directory (no {PLAN} in it); name another place, "
                "or remove it"
            )


def empty(place: Path) -> None:
    """Remove all results; the plan is removed last, so that a killed removal leaves a work
    directory.
    """
    for path in sorted(place.iterdir(), key=lambda path: path.name == PLAN):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def read_identity(work: Path) -> dict[str, Any]:
    """Read the identity of a work directory. Raises ArtifactError and MismatchError."""
    path = work / PLAN
    try:
        plan: dict[str, Any] = read_json(path)
        if plan["format"] != FORMAT or not isinstance(plan["identity"], dict):
            raise ValueError("another format")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactError(
            f"{path}: not the plan of a work directory ({reason(error)}); name another --work"
        ) from None
    if plan.get("version") != VERSION:
        raise MismatchError(
            f"{path}: made by bitext-miner {plan.get('version')}, this is {VERSION}; install one "
            "version everywhere, or name another --work"
        )
    return plan


def content_of(name: str, identity: Mapping[str, Any], stamps: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a work directory's file, as JSON reads it."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "identity": identity,
        "stamps": stamps,
    }
    parsed: dict[str, Any] = json.loads(json.dumps(content))
    return parsed


def claim(work: Path, content: dict[str, Any], address: str) -> None:
    """Write the identity of a work directory, or check that it has the same."""
    if (work / PLAN).exists():
        plan = read_identity(work)
        if plan["name"] != content["name"]:
            raise MismatchError(f"{address}: its plan is of {plan['name']}; name another --work")
        for what in content["identity"]:
            if plan["identity"].get(what) != content["identity"][what]:
                raise MismatchError(
                    f"{address}: its plan has other {what}; restore them, or name another --work"
                )
        for path, stamp in content["stamps"].items():
            if plan["stamps"].get(path) != stamp:
                raise CorpusError(
                    f"{path}: changed since the plan in {address} was made; restore it, or name "
                    "another --work"
                )
    write_whole(work / PLAN, json.dumps(content).encode())
