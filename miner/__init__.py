"""Find and score translation pairs: train, encode, index, search, evaluate.

>>> from miner import Encoder, Index, search
>>> encoder = Encoder.load("default")
>>> de = Index.build(encoder, "news.de.zst", "work/de")
>>> en = Index.build(encoder, "news.en.zst", "work/en")
>>> search(de, en).at_least(0.1).write("mined.tsv.gz")

Names load on first use, so that ``import miner`` takes no time.
"""

import importlib
from typing import TYPE_CHECKING, Any

from miner.option_values import VERSION

if TYPE_CHECKING:
    from miner.alignment.align import align as align
    from miner.alignment.aligned import Aligned as Aligned
    from miner.alignment.settings import BeadSettings as BeadSettings
    from miner.cleaning.api import filter as filter
    from miner.cleaning.api import score as score
    from miner.cleaning.settings import Selection as Selection
    from miner.cleaning.settings import Split as Split
    from miner.cleaning.split import split as split
    from miner.documents.align_documents import AlignedDocuments as AlignedDocuments
    from miner.documents.align_documents import align_documents as align_documents
    from miner.encoder.encoder import Encoder as Encoder
    from miner.encoder.open_encoder import open_encoder as open_encoder
    from miner.errors import MinerError as MinerError
    from miner.evaluation.metrics import Evaluation as Evaluation
    from miner.evaluation.metrics import best_threshold as best_threshold
    from miner.evaluation.metrics import evaluate as evaluate
    from miner.index.index import Index as Index
    from miner.knn.settings import SearchSettings as SearchSettings
    from miner.mining.keep import Keep as Keep
    from miner.mining.mine import mine as mine
    from miner.mining.mine import search as search
    from miner.mining.result import Mined as Mined
    from miner.scoring.decontaminate_settings import Without as Without
    from miner.scoring.pairs import Pairs as Pairs
    from miner_train.api import train as train

__version__ = VERSION
# Public names by module.
_NAMES = {
    "miner.alignment.align": "align",
    "miner.alignment.aligned": "Aligned",
    "miner.alignment.settings": "BeadSettings",
    "miner.cleaning.api": "filter score",
    "miner.cleaning.settings": "Selection Split",
    "miner.cleaning.split": "split",
    "miner.documents.align_documents": "AlignedDocuments align_documents",
    "miner.encoder.encoder": "Encoder",
    "miner.encoder.open_encoder": "open_encoder",
    "miner.errors": "MinerError",
    "miner.evaluation.metrics": "Evaluation best_threshold evaluate",
    "miner.index.index": "Index",
    "miner.knn.settings": "SearchSettings",
    "miner.mining.keep": "Keep",
    "miner.mining.mine": "mine search",
    "miner.mining.result": "Mined",
    "miner.scoring.pairs": "Pairs",
    "miner.scoring.decontaminate_settings": "Without",
    "miner_train.api": "train",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'miner' has no attribute {name!r}")
    from miner.machine import keep_libraries_to_quota

    keep_libraries_to_quota()  # before numpy loads
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
