"""Filters of OpusFilter: quality, and rules; each is a scorer, too.

In its configuration, as a custom filter::

    - MinerQuality: {languages: [de, en]}
      module: miner.integrations.opusfilter
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from opusfilter import CLEAN_HIGH, CLEAN_TRUE, FilterABC
from opusfilter.util import grouper

from miner.filters.registry import RULES
from miner.integrations.batches import BATCH, BatchFilters, Filters, quality_bound

Pair = Sequence[str]


class _InBatches(FilterABC):
    """Filter that scores pairs in batches, even if OpusFilter passes them one by one."""

    score_batch: Callable[[Sequence[Pair]], list[Any]]

    def score(self, pairs: Iterable[Pair]) -> Iterator[Any]:
        for batch in grouper(pairs, BATCH):
            yield from self.score_batch(batch)

    def filter(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        return self._those(pairs, True)

    def filterfalse(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        return self._those(pairs, False)

    def _those(self, pairs: Iterable[Pair], kept: bool) -> Iterator[Pair]:
        for batch in grouper(pairs, BATCH):
            for pair, score in zip(batch, self.score_batch(batch), strict=True):
                if self.accept(score) == kept:
                    yield pair


class MinerQuality(_InBatches):
    """Filter that keeps pairs of this quality, by default the model's bound for the languages.

    Scores are probabilities that both sides mean the same.
    """

    score_direction = CLEAN_HIGH
    accept_threshold = 0
    reject_threshold = 1 + 10**-6

    def __init__(
        self,
        languages: Sequence[str],
        threshold: float | None = None,
        model: str = "default",
        **kwargs: Any,
    ) -> None:
        filters = BatchFilters(languages, ["quality"], model)
        self.score_batch = filters.qualities
        self.threshold = quality_bound(filters.config) if threshold is None else threshold
        super().__init__(**kwargs)

    def accept(self, score: float) -> bool:
        return score >= self.threshold


class MinerRules(_InBatches):
    """Filter that keeps pairs within the bounds of ``filters``, by default rules without a model.

    Scores are True for kept pairs. ``filters`` are names, or tables as in TOML.
    """

    score_direction = CLEAN_TRUE

    def __init__(
        self,
        languages: Sequence[str],
        filters: Filters = RULES,
        model: str = "default",
        **kwargs: Any,
    ) -> None:
        self._filters = BatchFilters(languages, filters, model)
        super().__init__(**kwargs)

    def score_batch(self, batch: Sequence[Pair]) -> list[bool]:
        return [reason is None for reason in self._filters.reasons(batch)]

    def accept(self, score: bool) -> bool:
        return score
