"""Public data sets for evaluation and training: what is known of them, and how to get them."""

from miner.datasets.catalog import CATALOG, Dataset, File
from miner.datasets.opusparcus import Annotated, Ranked, read_annotated, read_ranked
from miner.datasets.parts import Got, choose, find, get

__all__ = [
    "CATALOG",
    "Annotated",
    "Dataset",
    "File",
    "Got",
    "Ranked",
    "choose",
    "find",
    "get",
    "read_annotated",
    "read_ranked",
]
