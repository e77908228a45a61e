"""The one opener of encoders: a model of this program, or one of another library, by its name."""

from pathlib import Path

from miner.encoder.encoder import Encoder
from miner.encoder.foreign_encoder import ForeignEncoder
from miner.encoder.loading import USUAL, Loading, split_name
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError


def open_encoder(
    name: str | Path = "default",
    threads: int | None = None,
    device: str = "cpu",
    side: str | None = None,
    loading: Loading = USUAL,
) -> SentenceEncoder:
    """Open a model directory, ``default``, ``hf:PLACE`` or ``model2vec:PLACE``.

    ``loading`` are settings of encoders of other libraries. Raises ArtifactError, DependencyError
    and ResourceError.
    """
    if split_name(name) is not None:
        from miner.encoder.pretrained import open_pretrained

        return ForeignEncoder(open_pretrained(str(name), loading, threads, device), side)
    if loading != USUAL:
        raise ArtifactError(
            f"{name}: prompts and --backend are for encoders of other libraries (hf:NAME)"
        )
    return Encoder.load(name, threads, device, side)
