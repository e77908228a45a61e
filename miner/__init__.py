"""Find and score translation pairs: train, encode, index, search, evaluate.

>>> from miner import Encoder, Index, search
>>> encoder = Encoder.load("default")
>>> de = Index.build(encoder, "news.de.zst", "work/de")
>>> en = Index.build(encoder, "news.en.zst", "work/en")
>>> search(de, en).at_least(0.1).write("mined.tsv.gz")

Names load when they are first used, so that ``import miner`` takes no time.
"""

import importlib
from typing import TYPE_CHECKING, Any

from miner.names import VERSION

if TYPE_CHECKING:
    from miner.alignment.align import align
    from miner.alignment.aligned import Aligned
    from miner.alignment.settings import BeadSettings
    from miner.cleaning.calls import filter, score
    from miner.documents.align_documents import AlignedDocuments, align_documents
    from miner.encoder.encoder import Encoder
    from miner.encoder.open_encoder import open_encoder
    from miner.errors import MinerError
    from miner.evaluation.metrics import Evaluation, best_threshold, evaluate
    from miner.index.index import Index
    from miner.knn.settings import SearchSettings
    from miner.mining.keep import Keep
    from miner.mining.mine import mine, search
    from miner.mining.mined import Mined
    from miner.scoring.pairs import Pairs
    from miner.scoring.without import Without
    from miner_train.calls import train

__version__ = VERSION
__all__ = [
    "Aligned",
    "AlignedDocuments",
    "BeadSettings",
    "Encoder",
    "Evaluation",
    "Index",
    "Keep",
    "Mined",
    "MinerError",
    "Pairs",
    "SearchSettings",
    "Without",
    "align",
    "align_documents",
    "best_threshold",
    "evaluate",
    "filter",
    "mine",
    "open_encoder",
    "score",
    "search",
    "train",
]
# The module of each public name.
_HOMES = {
    "Aligned": "miner.alignment.aligned",
    "AlignedDocuments": "miner.documents.align_documents",
    "BeadSettings": "miner.alignment.settings",
    "Encoder": "miner.encoder.encoder",
    "Evaluation": "miner.evaluation.metrics",
    "Index": "miner.index.index",
    "Keep": "miner.mining.keep",
    "Mined": "miner.mining.mined",
    "MinerError": "miner.errors",
    "Pairs": "miner.scoring.pairs",
    "SearchSettings": "miner.knn.settings",
    "Without": "miner.scoring.without",
    "align": "miner.alignment.align",
    "align_documents": "miner.documents.align_documents",
    "best_threshold": "miner.evaluation.metrics",
    "evaluate": "miner.evaluation.metrics",
    "filter": "miner.cleaning.calls",
    "mine": "miner.mining.mine",
    "open_encoder": "miner.encoder.open_encoder",
    "score": "miner.cleaning.calls",
    "search": "miner.mining.mine",
    "train": "miner_train.calls",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'miner' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
