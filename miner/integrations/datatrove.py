"""Steps of datatrove over documents that are pairs: a filter and a scorer.

A document's text is the source, and its metadata has the target: ``JsonlReader(text_key="source")``
reads rows with ``source`` and ``target`` in this way.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from datatrove.data import Document, DocumentsPipeline
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.utils.batching import batched

from miner.errors import CorpusError
from miner.integrations.batches import BATCH, USUAL, BatchFilters, Filters


class PairFilter(BaseFilter):
    """Filter that keeps pairs within all bounds; others are dropped with the name of the filter.

    ``languages`` are the codes of both sides, ``filters`` names, or tables as in TOML.
    """

    name = "🌐 bitext-miner filter"

    def __init__(
        self,
        languages: Sequence[str],
        filters: Filters = USUAL,
        model: str = "default",
        target_key: str = "target",
        exclusion_writer: Any = None,
    ) -> None:
        super().__init__(exclusion_writer, BATCH)
        self.filters, self.target_key = BatchFilters(languages, filters, model), target_key

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        reasons = self.filters.reasons(_pairs(batch, self.target_key))
        # Datatrove counts documents by reason, so the reason leaves out the faulty word.
        return [reason is None or (False, reason.partition(":")[0]) for reason in reasons]


class PairScorer(PipelineStep):
    """Scorer that adds the quality of each pair to the metadata of its document, as ``quality``."""

    name, type = "🌐 bitext-miner quality", "🏷 - SCORER"

    def __init__(
        self, languages: Sequence[str], model: str = "default", target_key: str = "target"
    ) -> None:
        super().__init__()
        self.filters, self.target_key = BatchFilters(languages, ["quality"], model), target_key

    def run(
        self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1
    ) -> Iterator[Document]:
        for batch in batched(data, BATCH):
            with self.track_time("batch"):
                qualities = self.filters.qualities(_pairs(batch, self.target_key))
            for document, quality in zip(batch, qualities, strict=True):
                document.metadata["quality"] = quality
                self.update_doc_stats(document)
                yield document


def _pairs(documents: Sequence[Document], key: str) -> list[tuple[str, str]]:
    for document in documents:
        if not isinstance(document.metadata.get(key), str):
            raise CorpusError(
                f"document {document.id}: its metadata has no text {key!r}, the target"
            )
    return [(document.text, document.metadata[key]) for document in documents]
