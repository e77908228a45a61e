"""Helpers for tests of filter runs: plans from tables, filters with scores given in columns."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from miner.cleaning import clean as cleaning
from miner.cleaning.decide import Cleaned
from miner.cleaning.plan import Plan, read_plan
from miner.cleaning.run_checkpoint import Checkpoint
from miner.cleaning.write import write
from miner.filters.filter_types import MODEL, Context
from miner.filters.registry import FILTERS
from miner.text.rows import Rows

Table = Mapping[str, Any]


def toml(tables: tuple[Table, ...], top: Table) -> str:
    """Format a configuration; JSON values are TOML values, too."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in top.items()]
    for table in tables:
        lines += ["[[filter]]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def plan_of(*tables: Table, context: Context | None = None, **top: Any) -> Plan:
    context = context or Context("de", "en")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "filters.toml"
        path.write_text(toml(tables, top), encoding="utf-8")
        return read_plan(path, context)


def cleaned(rows: Rows, plan: Plan, **named: Any) -> Cleaned:
    """Run the filters with a temporary checkpoint; return the result."""
    with tempfile.TemporaryDirectory() as place, Checkpoint(Path(place) / "checkpoint") as files:
        return cleaning.clean(rows, plan, files, **named)


def written(found: Cleaned, kept: int = 1) -> tuple[list[bytes], bytes]:
    """Write the outputs; return those of kept rows and the rejected rows."""
    with tempfile.TemporaryDirectory() as place:
        outputs = [Path(place) / f"kept{number}" for number in range(kept)]
        write(found, outputs, Path(place) / "rejected")
        return [path.read_bytes() for path in outputs], (Path(place) / "rejected").read_bytes()


def parts(found: Cleaned, kept: int = 1) -> tuple[list[list[bytes]], list[bytes]]:
    """Write the outputs; return the lines of kept rows, for each file, and the rejected lines."""
    outputs, rejected = written(found, kept)
    return [_split(output) for output in outputs], _split(rejected)


def _split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    assert lines.pop() == b""
    return lines


@contextmanager
def given_scores() -> Iterator[None]:
    """Add filters whose scores are in a column: 'expensive' and 'good', of the MODEL stage.

    Meanwhile nothing waits for the disk, which would take most of the time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        cost = FILTERS["cost"]
        expensive = dataclasses.replace(cost, name="expensive", stage=MODEL)
        patch.setitem(FILTERS, "expensive", expensive)
        patch.setitem(FILTERS, "good", dataclasses.replace(expensive, name="good", better="higher"))
        yield
