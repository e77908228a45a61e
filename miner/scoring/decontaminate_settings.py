"""`Without`: files of text to exclude, such as test sets, and the limits of similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miner.config_fields import SettingsError, check, option

if TYPE_CHECKING:
    from miner.encoder.sentence_encoder import SentenceEncoder
    from miner.scoring.decontaminate import Unwanted


@dataclass(frozen=True)
class Without:
    """Files whose sentences must not occur on either side of a pair.

    files: text or bitext of any format; its sentences are compared without case and punctuation.
    near: leave out near-copies, too: texts that share this part of their runs of five characters.
    near_vectors: leave out sentences whose vectors have this cosine, too, in any language.

    Raises SettingsError for a limit without files.
    """

    files: Sequence[str] = option(
        (),
        "Leave out pairs with a sentence of FILE, such as a test set, on either side, whatever its "
        "case and punctuation: text, TSV (all columns), JSONL, Parquet or TMX; repeatable.",
        option="--without",
        multiple=True,
        kind="text",
        metavar="FILE",
    )
    near: float | None = option(
        None,
        "Leave out near-copies of --without, too: S of their runs of five characters are shared "
        "(0.6 to 0.8 is usual).",
        within="[0.5, 1]",
        metavar="S",
    )
    near_vectors: float | None = option(
        None,
        "Leave out translations and paraphrases of --without, too: their vectors have a cosine "
        "of C (with the default model, 0.6 is usual).",
        within="(0, 1]",
        metavar="C",
    )

    def __post_init__(self) -> None:
        check(self)
        if not self.files and (self.near, self.near_vectors) != (None, None):
            raise SettingsError("--near and --near-vectors compare with --without FILE; give it")

    def opened(self, encoder: SentenceEncoder | None = None) -> list[Unwanted]:
        """Read all files; the ``encoder`` [the default model] is for ``near_vectors``.

        Raises CorpusError.
        """
        from miner.encoder.open_encoder import open_encoder
        from miner.scoring.decontaminate import Unwanted

        if self.near_vectors is None:
            return [Unwanted(path, self.near) for path in self.files]
        encoder = encoder or open_encoder()
        return [Unwanted(path, self.near, self.near_vectors, encoder) for path in self.files]


NOTHING = Without()
