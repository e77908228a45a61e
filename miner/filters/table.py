"""All filters, by name, in the order in which they run."""

from miner.filters import classifier, columns, crosslingual, duplicates, length, overlap, perplexity
from miner.filters.base import Filter

FILTERS: dict[str, Filter] = {
    entry.name: entry
    for family in (length, overlap, columns, perplexity, classifier, crosslingual, duplicates)
    for entry in family.FILTERS
}
