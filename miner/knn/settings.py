"""Settings of a search: one dataclass from the command line to the engines."""

from dataclasses import dataclass

from miner.names import DEVICES, DUPLICATES, ENGINES, MARGINS, RANKS, RETRIEVALS, canonical

# Neighbours in each direction, by how pairs are ranked.
NEIGHBORS = {"probability": 8, "margin": 4}


@dataclass(frozen=True)
class SearchSettings:
    """How pairs are searched, ranked and chosen.

    - ``k``: neighbours in each direction, at least 1. None: 8 to rank by probability, else 4.
    - ``rank``: ``probability`` of being a translation, by the model's verifier
      (:mod:`miner.scoring.verifier`), or ``margin``. None: probability where there is a verifier.
    - ``margin``: ``absolute``, ``distance`` or ``ratio`` (Artetxe & Schwenk 2019, section 3).
    - ``retrieval``: ``forward``, ``backward``, ``intersection`` or ``max`` (one-to-one).
    - ``duplicates``: ``first`` reports a sentence that occurs several times under its first row;
      ``each`` pairs the i-th occurrence of the source with the i-th of the target, as a gold
      standard that matches by id expects.
    - ``memory``: bytes that the search may allocate. None: half of what is free.
    - ``engine``: ``fused`` finds both directions in one pass, ``faiss`` searches twice. ``hybrid``
      compares few pairs of large corpora, by clusters and by tokens (:mod:`miner.knn.hybrid`).
      ``auto`` is ``hybrid`` for very large corpora that are verified on a processor, else
      ``fused`` (:func:`miner.mining.search.chosen_engine`). On a GPU ``fused`` and ``faiss`` are
      FAISS's search.
    - ``exact``: the fused engine multiplies in float32, and searches again what rounding may have
      changed. Flat indexes only.
    - ``device``: ``auto``, ``cpu`` or ``cuda``.
    - ``threads``: None: all cores. Never changes the result.
    - ``languages``: BCP-47 codes of source and target, for verification and the estimate of
      precision. None: the language of most of a sample.

    Raises ValueError for an unknown name and for k < 1.
    """

    k: int | None = None
    rank: str | None = None
    margin: str = "ratio"
    retrieval: str = "max"
    duplicates: str = "first"
    memory: int | None = None
    engine: str = "auto"
    exact: bool = False
    device: str = "auto"
    threads: int | None = None
    languages: tuple[str | None, str | None] = (None, None)

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            raise ValueError(f"k is {self.k}; it must be at least 1")
        for name, choices in (
            ("rank", RANKS),
            ("margin", MARGINS),
            ("retrieval", RETRIEVALS),
            ("duplicates", DUPLICATES),
            ("engine", ENGINES),
            ("device", DEVICES),
        ):
            value = getattr(self, name)
            if value is not None or name != "rank":
                object.__setattr__(self, name, canonical(value, choices))

    @property
    def neighbors(self) -> int:
        """``k``, or the default of the rank; without a rank, that of margins."""
        return self.k or NEIGHBORS[self.rank or "margin"]
