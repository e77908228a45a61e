"""`Keep`: how many of the mined pairs to keep."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miner.config_fields import SettingsError, no_option, option

if TYPE_CHECKING:
    import numpy as np

# Default precision of the kept pairs.
PRECISION = 0.95


class KeepError(SettingsError):
    """Choice of pairs that is contradictory, or that the scores of a search cannot serve."""


@dataclass(frozen=True)
class Keep:
    """Choice of how many of the mined pairs to keep.

    - ``threshold``: pairs with this score or more.
    - ``target_precision``: as many pairs as have this estimated precision, in (0, 1).
    - ``top_n``: the best n pairs, on top of either.
    - ``default_precision``: applies where none of the three is given. It is aimed at if it can be
      estimated; otherwise pairs with a probability of one half or more are kept, or, ranked by
      margin, pairs above the model's own threshold. None keeps all pairs.
    - ``estimate``: whether to estimate precision. Scores are then probabilities of being right on
      this corpus, else the model's scores. Where a model with a verifier is told to rank by margin,
      there is an estimate only if a precision, decoys or a report are asked for.
    - ``refit``: whether the estimate first fits the verifier's function again to the corpus.
    - ``decoys``: sentences to estimate precision with, in the language and domain of the target,
      none a translation of a source. None: the model's own, else the shipped model's.
    - ``decoy_vectors``: their vectors ``(n, d)``, for indexes of vectors from elsewhere.
    - ``labels``: how right some pairs are, in [0, 1], by their texts; they join the refit.
    - ``report``: a report will show the estimate.

    Raises KeepError for a negative number of pairs, for a threshold that is not finite or comes
    with a target precision, and for a target precision, decoys or a report without the estimate,
    for vectors without decoys, and for labels without the refit.
    """

    threshold: float | None = option(None, "Keep pairs with this score or more.", kind="number")
    target_precision: float | None = option(
        None,
        "Keep pairs down to this estimated precision; needs no gold standard.",
        kind="share",
        metavar="P",
    )
    top_n: int | None = option(None, "Keep the N best pairs.", within="[0, inf)", metavar="N")
    default_precision: float | None = no_option(PRECISION, "--target-precision asks for another")
    estimate: bool = option(
        True,
        "Estimate precision, which searches up to 20,000 more targets and turns scores into "
        "probabilities on this corpus. With --rank margin only if an option requires precision.",
        off="--no-estimate",
    )
    refit: bool = option(
        True,
        "Refit the verifier's function to this corpus, without gold, before the estimate.",
        off="--no-refit",
    )
    decoys: Sequence[str] | None = option(
        None,
        "Sentences to estimate precision with, in the target's language and domain, none of "
        "them a translation of a source [the model's decoys, else the shipped model's].",
        kind="text",
        metavar="FILE",
    )
    decoy_vectors: "np.ndarray | None" = option(
        None,
        "Vectors of --decoys, one per line, for indexes of 'miner index --embeddings'.",
        option="--decoy-embeddings",
        kind="text",
        metavar="FILE",
        compare=False,
    )
    labels: "Mapping[tuple[str, str], float] | None" = option(
        None,
        "Answers of 'miner review', or a sheet of them, that improve refit, ranking and estimate.",
        kind="text",
        metavar="FILE",
        compare=False,
    )
    report: bool = no_option(False, "--report names the page")

    def __post_init__(self) -> None:
        if self.top_n is not None and self.top_n < 0:
            raise KeepError(f"the number of best pairs must be 0 or more, not {self.top_n}")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise KeepError(f"a threshold must be a finite number, not {self.threshold}")
        if self.threshold is not None and self.target_precision is not None:
            raise KeepError("a target precision chooses the threshold; give one of the two")
        for precision in (self.target_precision, self.default_precision):
            if precision is not None and not 0 < precision < 1:
                raise KeepError(f"a target precision must be between 0 and 1, not {precision}")
        for name, value in (("a target precision", self.target_precision), ("decoys", self.decoys)):
            if value is not None and not self.estimate:
                raise KeepError(f"{name} needs the estimate of precision (drop --no-estimate)")
        if self.decoy_vectors is not None and self.decoys is None:
            raise KeepError("vectors of decoys come with the decoys; give both")
        if self.labels is not None and not (self.estimate and self.refit):
            raise KeepError("labels join the refit (drop --no-refit and --no-estimate)")

    @property
    def asks(self) -> bool:
        """True if the user requests a result that needs an estimate."""
        return self.target_precision is not None or self.decoys is not None or self.report

    @property
    def chosen(self) -> bool:
        """True if the user set how many pairs to keep."""
        return (self.threshold, self.target_precision, self.top_n) != (None, None, None)

    def estimates_margins(self, foreign: bool, external: bool) -> bool:
        """Return True if the precision of pairs ranked by margin is estimated.

        ``foreign`` is True for an encoder with margins only, ``external`` for vectors without an
        encoder. Raises KeepError for decoys without needed vectors, or with useless ones.
        """
        if external and self.estimate and self.asks and self.decoy_vectors is None:
            raise KeepError(
                "these vectors come from elsewhere, so an estimate of precision needs decoys with "
                "vectors of the same encoder (--decoys FILE --decoy-embeddings FILE)"
            )
        if not external and self.decoy_vectors is not None:
            raise KeepError(
                "the encoder of these indexes encodes decoys itself; leave out --decoy-embeddings"
            )
        return self.estimate and (self.asks or (foreign and not external))

    def check(self, probable: bool) -> None:
        """Raise KeepError, before any work, for a choice that the search's scores cannot serve.

        ``probable`` is True if they will be probabilities.
        """
        if probable and self.threshold is not None and self.threshold > 1:
            raise KeepError(
                f"a threshold of {self.threshold:g} would keep nothing: scores are probabilities "
                "here; give one between 0 and 1"
            )
        if self.report and not probable:
            raise KeepError(
                "a report of margins needs the estimate of precision (drop --no-estimate)"
            )
