"""Find and score translation pairs: train, encode, index, search, evaluate.

>>> from miner import Encoder, Index, search
>>> encoder = Encoder.load("default")
>>> de = Index.build(encoder, "news.de.zst", "work/de")
>>> en = Index.build(encoder, "news.en.zst", "work/en")
>>> search(de, en).at_least(0.1).write("mined.tsv.gz")
"""

from miner.encoder.encoder import Encoder
from miner.errors import MinerError
from miner.evaluation.metrics import Evaluation, best_threshold, evaluate
from miner.index.index import Index
from miner.mining.pairs import Pairs
from miner.mining.search import search

__version__ = "0.1.0"
__all__ = [
    "Encoder",
    "Evaluation",
    "Index",
    "MinerError",
    "Pairs",
    "best_threshold",
    "evaluate",
    "search",
]
