"""All filters, by name, in the order in which they run: `filters.toml` and their functions."""

from pathlib import Path
from typing import Any

from miner.config_fields import read_toml
from miner.filters import (
    agreement,
    crosslingual,
    decontaminate,
    duplicates,
    encoding,
    external_scores,
    language,
    length,
    ngram_overlap,
    rules,
    scripts,
    selection,
)
from miner.filters.filter_types import GLOBAL, LOCAL, MODEL, Filter, FilterSetting

FAMILIES = (
    decontaminate,
    rules,
    length,
    scripts,
    encoding,
    agreement,
    language,
    ngram_overlap,
    external_scores,
    crosslingual,
    duplicates,
    selection,
)
_STAGES = {"local": LOCAL, "model": MODEL, "global": GLOBAL}


def _filter(name: str, table: dict[str, Any], functions: dict[str, Any]) -> Filter:
    """Return a filter from its table and its functions."""
    settings = {
        key: FilterSetting(**{"default": None, **_fields(setting)})
        for key, setting in table.pop("settings", {}).items()
    }
    stage = _STAGES[table.pop("stage", "local")]
    return Filter(name=name, settings=settings, stage=stage, **_fields(table), **functions)


def _fields(table: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a filter from its table; lists become tuples, so that it is hashable."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


_FUNCTIONS = {name: own for family in FAMILIES for name, own in family.FILTERS.items()}
FILTERS = {
    name: _filter(name, table, _FUNCTIONS[name])
    for name, table in read_toml(Path(__file__).with_name("filters.toml")).items()
}
# Filters for text in one language.
MONO = tuple(name for name, one in FILTERS.items() if one.mono)
# Default filters without a model, each of single pairs.
RULES = tuple(name for name, one in FILTERS.items() if one.default and one.stage == LOCAL)
