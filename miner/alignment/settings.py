"""`BeadSettings`: settings of the alignment, and choice of rows."""

from dataclasses import dataclass

from miner.config_fields import option
from miner.libraries import require


@dataclass(frozen=True)
class BeadSettings:
    """Settings of the alignment, and choice of rows.

    ``coarse`` skips the second stage. ``split`` splits lines of documents that do not have a
    sentence a line. ``unaligned`` adds rows of sentences without a counterpart, and of the
    sentences of beads that are not kept; these have a score of 0. Raises DependencyError if the
    library that splits lines is missing.
    """

    coarse: bool = option(
        False,
        "Skip the second stage and compare by vectors and lengths: a twentieth of the time, "
        "less exact.",
    )
    split: bool = option(
        False,
        "Split lines into sentences first (extra: split). Documents with about a sentence a "
        "line are not split.",
    )
    unaligned: bool = option(False, "Also write sentences without a counterpart.")

    def __post_init__(self) -> None:
        if self.split:
            require(["sentencex"], "splitting sentences", "split")
