"""Texts to indexes: the model that encodes both sides, and the indexes that it makes."""

import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from miner.encoder.loading import USUAL, Loading
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.names import SIDES
from miner.progress import Reporter, silent
from miner.text.durable import scratch_directory

Text = str | Path | Sequence[str | Path]


def load_encoder(
    model: str | Path, settings: SearchSettings, loading: Loading = USUAL
) -> SentenceEncoder:
    """Open a model to encode both sides with, by the threads and the device of a search."""
    return open_encoder(model, settings.threads, encoding_device(settings), "source", loading)


def encoding_device(settings: SearchSettings) -> str:
    """Return the device to encode on. One asked for is to search on; torch may not be there."""
    return "cpu" if settings.device == "cpu" else "auto"


def index_texts(
    texts: tuple[Text, Text],
    encoder: SentenceEncoder,
    settings: SearchSettings,
    *,
    work: str | Path | None = None,
    factory: str = "flat",
    report: Reporter = silent,
    done: Callable[[Index], None] = lambda index: None,
    **reading: Any,
) -> tuple[Index, Index]:
    """Index two texts with one model, which may have a vocabulary for each side.

    The indexes are ``work/source`` and ``work/target``; without ``work`` they are temporary and go
    with the returned objects. ``factory`` is ``flat`` or a FAISS factory string; ``reading`` goes
    to :class:`miner.text.corpus.Reader`. ``done`` is called with each index once it is there.
    """
    encoders = encoder, encoder.on_side("target")
    indexes = []
    for side, text, one in zip(SIDES, texts, encoders, strict=True):
        if work is not None:
            place = Path(work) / side
        else:
            scratch = ExitStack()
            place = scratch.enter_context(scratch_directory()) / side
        index = Index.build(one, text, place, index=factory, report=report, **reading)
        if work is None:
            weakref.finalize(index, scratch.close)
        done(index)
        indexes.append(index)
    return indexes[0], indexes[1]
