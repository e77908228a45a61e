"""`SearchSettings`: settings of a search from the command line to the engines."""

from dataclasses import dataclass

from miner.config_fields import SettingsError, check, no_option, option
from miner.option_values import (
    ALIASES,
    COPIES,
    DUPLICATES,
    ENGINES,
    MARGINS,
    RANKS,
    RETRIEVALS,
    device_name,
)

# Neighbours in each direction, by how pairs are ranked.
NEIGHBORS = {"probability": 8, "margin": 4}


@dataclass(frozen=True)
class SearchSettings:
    """How pairs are searched, ranked and chosen.

    - ``k``: neighbours in each direction, at least 1. None: 8 to rank by probability, else 4.
    - ``rank``: ``probability`` of being a translation, by the model's verifier
      (:mod:`miner.scoring.verifier`), or ``margin``. None: probability where there is a verifier.
    - ``margin``: ``absolute``, ``distance`` or ``ratio`` (Artetxe & Schwenk 2019, section 3); it
      implies the rank. None: ratio.
    - ``retrieval``: ``forward``, ``backward``, ``intersection`` or ``max`` (one-to-one).
    - ``duplicates``: ``first`` reports a sentence that occurs several times under its first row;
      ``each`` pairs the i-th occurrence of the source with the i-th of the target, as a gold
      standard that matches by id expects.
    - ``copies``: ``drop`` pairs no sentence with its copy on the other side, equal in all but case,
      punctuation and digits, where the languages differ; ``keep`` pairs them as any others.
    - ``engine``: ``fused`` finds both directions in one pass, ``faiss`` searches twice. ``hybrid``
      compares few pairs of large corpora, by clusters and by tokens
      (:mod:`miner.mining.hybrid_stages`).
      ``auto`` is ``hybrid`` for very large corpora that are verified on a processor, else
      ``fused`` (:func:`miner.mining.search_stages.probe`). On a GPU ``fused`` is the faster there
      of torch, with one product for both directions, and FAISS (:mod:`miner.knn.gpu_check`).
    - ``exact``: the fused engine multiplies in float32, and searches again what rounding may have
      changed. Flat indexes only.
    - ``memory``: bytes that the search may allocate. None: half of what is free.
    - ``device``: ``cpu``; ``cuda``, all GPUs, by shards; ``cuda:1``, one of them; ``auto``: a GPU
      where there is one and the search is large enough to repay its check.
    - ``threads``: None: all cores. Never changes the result.
    - ``languages``: BCP-47 codes of source and target, for verification and the estimate of
      precision. None: the language of most of a sample.

    Raises ValueError that begins with the name of the field, for a value that it does not allow,
    and SettingsError for a margin with the rank probability.
    """

    k: int | None = option(
        None,
        "Nearest neighbours in each direction [8 to rank by probability, 4 by margin].",
        option="-k --neighbors",
        within="[1, 32767]",
    )
    rank: str | None = option(
        None,
        "Score that ranks the pairs: the probability of being translations, or the margin "
        "[probability if the model has a verifier].",
        choices=RANKS,
    )
    margin: str | None = option(
        None,
        "Margin function that scores a pair against both neighbourhoods; implies --rank margin "
        "[ratio].",
        quiet=True,
        choices=MARGINS,
        kind="name",
        metavar="|".join(MARGINS),
    )
    retrieval: str = option(
        "max",
        "Candidates that become pairs; max is one-to-one.",
        choices=RETRIEVALS,
        kind="name",
        metavar="|".join(RETRIEVALS),
    )
    duplicates: str = option(
        "first",
        "Repeated sentences: report the first occurrence, or pair occurrences in order (for a "
        "gold standard that counts each).",
        choices=DUPLICATES,
    )
    copies: str = option(
        "drop",
        "Sentences that also occur on the other side, ignoring case, punctuation and digits: "
        "not paired with their copies if the languages differ (drop), or paired (keep).",
        choices=COPIES,
    )
    engine: str = option(
        "auto",
        "fused compares all pairs, hybrid a few per cent of them; auto is hybrid for very large "
        "corpora, else fused. faiss is for compressed indexes.",
        choices=ENGINES,
    )
    exact: bool = option(
        False,
        "Multiply in float32, and search again if rounding may have changed a list: the "
        "neighbours are exact. Flat indexes only.",
    )
    memory: int | None = option(
        None,
        "Memory that the search may allocate: 512M, 8G [half of the free memory].",
        kind="size",
    )
    device: str = option(
        "auto",
        "Device of the search: cuda is all GPUs, cuda:1 only the second; a missing GPU is an "
        "error.",
        kind="device",
        metavar="auto|cpu|cuda|cuda:N",
    )
    threads: int | None = option(
        None,
        "Threads, at most four per core [all cores]. Never changes the result.",
        within="[1, inf)",
    )
    languages: tuple[str | None, str | None] = no_option(
        (None, None), "commands without a search have --source-lang and --target-lang, too"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "retrieval", ALIASES.get(self.retrieval, self.retrieval))
        check(self)
        try:
            device_name(self.device)
        except ValueError as error:
            raise ValueError(f"device = {error}") from None
        if self.languages != (None, None):
            # a table that help texts do not need
            from miner.text.language_codes import language_pair

            object.__setattr__(self, "languages", language_pair(self.languages))
        if self.margin is not None:
            if self.rank == "probability":
                raise SettingsError("--margin ranks by margin; leave it out, or --rank")
            object.__setattr__(self, "rank", "margin")

    @property
    def margin_function(self) -> str:
        """``margin``, or the default."""
        return self.margin or "ratio"

    @property
    def fits_models(self) -> bool:
        """True if scores are margins of the kind that the thresholds of models refer to."""
        return (self.margin_function, self.retrieval, self.neighbors) == ("ratio", "max", 4)

    @property
    def neighbors(self) -> int:
        """``k``, or the default of the rank (without a rank, of margins)."""
        return self.k or NEIGHBORS[self.rank or "margin"]

    def searching(self, k: int) -> "SearchSettings":
        """Return the settings that decide the ``k`` neighbours in a search of all pairs; others
        default.
        """
        engine = "fused" if self.engine in ("auto", "hybrid") else self.engine
        return SearchSettings(k, engine=engine, exact=self.exact, device=self.device)

    @property
    def searched(self) -> int:
        """Number of neighbours to search: enough for each rank, so that a repeated search with
        another rank reuses the lists.
        """
        return max(self.neighbors, *NEIGHBORS.values())
