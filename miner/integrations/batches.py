"""Quality and filters of pairs, batch by batch, for pipelines that hold the pairs themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from miner.cleaning.api import filter, score
from miner.cleaning.config import FilterConfig, with_quality_bounds
from miner.cleaning.config_file import config_of
from miner.errors import ArtifactError
from miner.filters.filter_types import GLOBAL, Context
from miner.filters.registry import RULES
from miner.tasks.workers import Workers
from miner.text.language_codes import language_pair

# Names of filters, or tables as in a TOML file.
Filters = Sequence[str | Mapping[str, Any]]
Pairs = Sequence[Sequence[str]]
# Pairs of a batch; a call costs a tenth of a second in addition to its pairs.
BATCH = 10_000
# Default filters that judge each pair separately.
USUAL = (*RULES, "quality")


class BatchFilters:
    """Filters that judge each pair separately, so that results do not depend on the batch.

    ``languages`` are the BCP-47 codes of both sides. The pipeline starts the processes; each scores
    with one thread. Raises ArtifactError for filters that do not exist, lack a setting, or compare
    pairs with each other.
    """

    def __init__(
        self, languages: Sequence[str], filters: Filters = USUAL, model: str = "default"
    ) -> None:
        if isinstance(languages, str) or len(languages) != 2:
            raise ArtifactError(f"languages must be two codes, such as de and en: {languages!r}")
        source, target = language_pair((languages[0], languages[1]))
        self.filters = [{"name": item} if isinstance(item, str) else dict(item) for item in filters]
        context = Context(source, target, model=model)
        self.config = with_quality_bounds(
            config_of({"filter": self.filters}, context, "filters"), context.languages
        )
        for step in self.config.stage(GLOBAL):
            raise ArtifactError(
                f"{step.label} compares pairs with each other, and sees only a batch of them here; "
                "leave it out, and run 'miner filter' on the whole text for it"
            )
        self._means: dict[str, Any] = {
            "languages": (source, target),
            "model": model,
            "workers": Workers(threads=1),
        }

    def qualities(self, pairs: Pairs) -> list[float]:
        """Return the quality of each pair, in [0, 1]."""
        return [row["quality"] for row in score(_rows(pairs), **self._means)]

    def reasons(self, pairs: Pairs) -> list[str | None]:
        """Return the filter that rejects each pair, and the fault if known; None if it is kept."""
        reasons: list[str | None] = [None] * len(pairs)
        for row in filter(_rows(pairs), filters=self.filters, **self._means).rejected:
            reasons[row["row"]] = row["filter"]
        return reasons


def quality_bound(config: FilterConfig) -> float:
    """Return the least quality that a configuration keeps."""
    assert config.ranking is not None and config.ranking.minimum is not None
    return config.ranking.minimum


def _rows(pairs: Pairs) -> list[dict[str, Any]]:
    return [
        {"source": source, "target": target, "row": row}
        for row, (source, target) in enumerate(pairs)
    ]
