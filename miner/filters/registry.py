"""All filters, by name, in the order in which they run."""

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
from miner.filters.filter_types import LOCAL, Filter

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
FILTERS: dict[str, Filter] = {entry.name: entry for family in FAMILIES for entry in family.FILTERS}
# Filters for text in one language: those of single texts, and those that compare rows.
MONO = (
    *("without", "without_vectors", "empty", "letters", "repeated", "markup", "length"),
    *("longest_word", "script", "encoding", "language", "lid", "cost", "perplexity"),
    *("classifier", "duplicates", "near_duplicates"),
)
# Default filters without a model, each of single pairs.
RULES = tuple(name for name, one in FILTERS.items() if one.default and one.stage == LOCAL)
