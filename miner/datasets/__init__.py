"""Public data sets for evaluation and training: their catalogue, download and conversion."""

from miner.datasets.catalog import CATALOG, Dataset, File
from miner.datasets.parts import Got, choose, find, get

__all__ = ["CATALOG", "Dataset", "File", "Got", "choose", "find", "get"]
