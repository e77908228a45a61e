"""What tests of cleanings share: plans from tables, filters with scores given in columns."""

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
from miner.cleaning.write import write
from miner.filters.filter_types import MODEL, Context
from miner.filters.registry import FILTERS
from miner.text.rows import Rows

Table = Mapping[str, Any]


def toml(tables: tuple[Table, ...], top: Table) -> str:
    """A configuration; JSON's values are TOML's, too."""
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
    """The result, with a state that does not last."""
    with tempfile.TemporaryDirectory() as place:
        return cleaning.clean(rows, plan, Path(place) / "state", **named)


def written(found: Cleaned, kept: int = 1) -> tuple[list[bytes], bytes]:
    """The outputs: those for kept rows, and the rejected ones."""
    with tempfile.TemporaryDirectory() as place:
        outputs = [Path(place) / f"kept{number}" for number in range(kept)]
        write(found, outputs, Path(place) / "rejected")
        return [path.read_bytes() for path in outputs], (Path(place) / "rejected").read_bytes()


@contextmanager
def given_scores() -> Iterator[None]:
    """Filters whose scores stand in a column: those of 'dear' and 'good' are dear to compute.

    Nothing waits for the disk meanwhile, which would take most of the time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        cost = FILTERS["cost"]
        dear = dataclasses.replace(cost, name="dear", stage=MODEL)
        patch.setitem(FILTERS, "dear", dear)
        patch.setitem(FILTERS, "good", dataclasses.replace(dear, name="good", better="higher"))
        yield
