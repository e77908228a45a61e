"""All filters, by name, in the order in which they run."""

from miner.filters import (
    agreement,
    classifier,
    columns,
    crosslingual,
    duplicates,
    encoding,
    language,
    length,
    overlap,
    perplexity,
    rules,
    scripts,
)
from miner.filters.base import Filter

FAMILIES = (
    rules,
    length,
    scripts,
    encoding,
    agreement,
    language,
    overlap,
    columns,
    perplexity,
    classifier,
    crosslingual,
    duplicates,
)
FILTERS: dict[str, Filter] = {entry.name: entry for family in FAMILIES for entry in family.FILTERS}
