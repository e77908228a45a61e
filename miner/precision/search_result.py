"""`SearchResult`: pairs of a search, and what the estimate of precision and reports need of it."""

from dataclasses import dataclass

from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.precision.decoys import DecoyPairs, Decoys
from miner.scoring.languages import Identified
from miner.scoring.pair_features import TokenizedText
from miner.scoring.pairs import Pairs
from miner.scoring.search_recall import Recall
from miner.scoring.second_reading import Asked
from miner.scoring.verifier import Verifier


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A search and its intermediate results, which the estimate of precision and reports use.

    ``pairs`` is the result. ``sides`` are the vectors that were searched, ``forward`` and
    ``backward`` the neighbour lists. ``verifier``, ``source_text`` and ``target_text`` are None
    where margins rank. ``competed``: the decoys that took part and their pairs, or the reason why
    there are none; None if none were requested. ``knocked``: pairs of likely sources when matched
    without their partner, in which ``decoy`` is a target. ``recall``: measured on a sample; None if
    all pairs were compared. ``languages``: of both sides, as passed to the verifier. ``copies``:
    targets that copy sources, with which they were not paired. ``second`` says what the second
    opinion read; None without one.
    """

    pairs: Pairs
    settings: SearchSettings
    sides: tuple[VectorSet, VectorSet]
    forward: Neighbors
    backward: Neighbors
    verifier: Verifier | None = None
    source_text: TokenizedText | None = None
    target_text: TokenizedText | None = None
    competed: tuple[Decoys, DecoyPairs] | str | None = None
    knocked: DecoyPairs | None = None
    recall: Recall | None = None
    languages: tuple[Identified, Identified] = (Identified(()), Identified(()))
    copies: int = 0
    second: Asked | None = None
