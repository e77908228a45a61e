"""`BeadSettings`: how sentences are aligned, and which rows are asked for."""

from dataclasses import dataclass

from miner.config_fields import option


@dataclass(frozen=True)
class BeadSettings:
    """How sentences are aligned, and which rows are asked for.

    ``unaligned`` adds rows of sentences without a counterpart, and of the sentences of beads that
    are not kept; these have a score of 0. ``coarse`` leaves out the second stage.
    """

    unaligned: bool = option(False, "Write sentences without a counterpart, too.")
    coarse: bool = option(
        False, "Compare by vectors and lengths alone: a tenth of the time, and less exact."
    )
