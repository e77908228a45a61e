"""Removal of mined pairs with excluded sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.encoder.loading import split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError
from miner.index.index import Index
from miner.scoring.decontaminate import Unwanted
from miner.scoring.decontaminate_settings import Without
from miner.scoring.pairs import Pairs


@dataclass(frozen=True, eq=False)
class RemovedPairs:
    """Removed pairs: ``file (m,)``, index in ``files``, and line of the match."""

    pairs: Pairs
    files: Sequence[str]
    file: np.ndarray
    line: np.ndarray

    def note(self) -> str:
        """Summarise how many pairs have a sentence of each file."""
        counts = np.bincount(self.file, minlength=len(self.files)).tolist()
        names = (f"{name} ({count:,})" for name, count in zip(self.files, counts, strict=True))
        return f"pairs left out, with a sentence of: {', '.join(names)}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield score and texts of each pair, with file and line of the match."""
        for pair, file, line in zip(self.pairs, self.file, self.line.tolist(), strict=True):
            texts = {name: pair[name] for name in ("score", "source", "target")}
            yield {**texts, "filter": f"without {self.files[file]}", "value": line}


def opened(
    without: Without, encoder: SentenceEncoder | None, index: Index | None = None
) -> list[Unwanted]:
    """Read the files; vectors are by ``encoder``, by default the encoder of the ``index``.

    Raises CorpusError, and ArtifactError if that encoder is not available.
    """
    if without.near_vectors is not None and encoder is None:
        assert index is not None
        if index.external or split_name(index.model_name) is not None:
            raise ArtifactError(
                f"{index.path} has vectors of {index.model_name}; name their encoder to compare "
                "other sentences with them (--model), or leave out --near-vectors"
            )
        encoder = open_encoder(index.model_name, side=index.side or "source")
        index.check_model(encoder, ", or leave out --near-vectors")
    return without.opened(encoder)


def decontaminate(pairs: Pairs, unwanted: Sequence[Unwanted]) -> tuple[Pairs, RemovedPairs]:
    """Split pairs into pairs without and pairs with excluded sentences."""
    file, line = np.full(len(pairs), -1), np.zeros(len(pairs), np.int64)
    sides = (pairs.source, pairs.source_row), (pairs.target, pairs.target_row)
    for number, exclusion in enumerate(unwanted):
        for side, (index, rows) in enumerate(sides):
            rest = np.flatnonzero(file < 0)
            hits = exclusion.hits(index.sentences(rows[rest]), side)
            file[rest[hits > 0]], line[rest[hits > 0]] = number, hits[hits > 0]
    gone = np.flatnonzero(file >= 0)
    files = [exclusion.path for exclusion in unwanted]
    return pairs.take(file < 0), RemovedPairs(pairs.take(gone), files, file[gone], line[gone])
