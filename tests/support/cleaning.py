"""Helpers for tests of filter runs: TOML configurations, and filters by columns of scores."""

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from miner.cleaning.config import FilterConfig
from miner.cleaning.config_file import read_config
from miner.cleaning.decide import Cleaned
from miner.cleaning.pipeline import filter_text, text_run
from miner.filters.filter_types import MODEL, Context
from miner.filters.registry import FILTERS
from miner.progress import Reporter, silent
from miner.tasks.run import RunOptions
from miner.tasks.workers import Workers
from miner.text.formats import USUAL_FORMAT, BitextFormat

Table = Mapping[str, Any]


def toml(tables: tuple[Table, ...], top: Table) -> str:
    """Format a configuration as TOML; JSON values are valid TOML values."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in top.items()]
    for table in tables:
        lines += ["[[filter]]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def config_of(*tables: Table, context: Context | None = None, **top: Any) -> FilterConfig:
    context = context or Context("de", "en")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "filters.toml"
        path.write_text(toml(tables, top), encoding="utf-8")
        return read_config(path, context)


def cleaned(
    texts: Path | tuple[Path, Path],
    config: FilterConfig,
    reading: BitextFormat = USUAL_FORMAT,
    *,
    kept: int = 1,
    lines: int = 5,
    threads: int = 1,
    report: Reporter = silent,
    **named: Any,
) -> Cleaned:
    """Filter a text in small pieces; return the result with the bytes of its outputs.

    ``kept`` is the number of files for kept rows. Outputs are these files, the rejected rows, and
    all scores.
    """
    sides = [str(path) for path in (texts if isinstance(texts, tuple) else (texts,))]
    options = RunOptions(workers=Workers(threads=threads, shard_lines=lines), report=report)
    with (
        tempfile.TemporaryDirectory() as place,
        text_run("filtering", [sides], reading, options) as (run, bitexts),
    ):
        roles = ["kept", "kept-1"][:kept] + ["rejected", "scores"]
        outputs = {role: f"{place}/{role}" for role in roles}
        filtered = filter_text(run, bitexts, config, outputs=[outputs], **named)
        found = filtered.whole()
        written = [Path(path).read_bytes() for path in outputs.values()]
        vars(found).update(written=written, summary=filtered.summary)
        return found


def written(found: Cleaned) -> tuple[list[bytes], bytes]:
    """Return the bytes of kept rows, and of rejected rows."""
    *kept, rejected, _ = vars(found)["written"]
    return kept, rejected


def parts(found: Cleaned) -> tuple[list[list[bytes]], list[bytes]]:
    """Return the lines of kept rows per file, and the rejected lines."""
    outputs, rejected = written(found)
    return [_split(output) for output in outputs], _split(rejected)


def _split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    assert lines.pop() == b""
    return lines


@contextmanager
def given_scores() -> Iterator[None]:
    """Register MODEL filters whose scores are columns: 'expensive' and 'good'."""
    with pytest.MonkeyPatch.context() as patch:
        cost = FILTERS["cost"]
        expensive = dataclasses.replace(cost, name="expensive", stage=MODEL)
        patch.setitem(FILTERS, "expensive", expensive)
        patch.setitem(FILTERS, "good", dataclasses.replace(expensive, name="good", better="higher"))
        yield


@pytest.fixture(scope="module", autouse=True)
def filters() -> Iterator[None]:
    with given_scores():
        yield
