"""Conversion of downloaded sets into the layout that is evaluated: one record a line, in TSV.

There is one module of converters for each family of sets. Nothing is quoted in these sources,
whatever their suffix. Rows that a set's own protocol leaves out, for example pairs without a gold
score, are left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from miner.datasets import (
    convert_bitext,
    convert_mining,
    convert_paraphrases,
    convert_senteval,
    convert_similarity,
)
from miner.datasets.converted_files import Convert, Converted, PartWriter
from miner.progress import Reporter, silent
from miner.text.output import all_or_none

CONVERTERS: Mapping[str, Convert] = {
    **convert_mining.CONVERTERS,
    **convert_similarity.CONVERTERS,
    **convert_paraphrases.CONVERTERS,
    **convert_senteval.CONVERTERS,
    **convert_bitext.CONVERTERS,
}


def convert(
    name: str, part: str, files: Sequence[Path], into: Path, report: Reporter = silent
) -> Converted:
    """Convert ``files``, the downloads of a part of the set ``name``, to files below ``into``.

    The files of a part appear together or not at all. Raises CorpusError (a damaged archive, a
    layout that is not the official one, sides that do not match) and ResourceError.
    """
    with all_or_none() as waiting:
        writer = PartWriter(into, waiting, report)
        CONVERTERS[name](writer, part, files)
    return writer.done
