"""Memory of a search with verification and estimate: bounded, or refused."""

import tracemalloc

import numpy as np
import pytest

from miner.encoder.encoder import Encoder
from miner.errors import ResourceError
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.mining.mine import mine

# Memory bound of the search in bytes, below the minimum of --memory, so that a small corpus exceeds
# it. Without a bound the search allocates 34 MiB.
MEMORY = 16 << 20


def mixed(sentences: list[str], number: int, seed: int) -> list[str]:
    """Return distinct sentences of words from other sentences."""
    words = np.array(" ".join(sentences).split())
    picked = np.random.default_rng(seed).choice(words, size=(number, 8))
    return list(map(" ".join, picked.tolist()))


def test_memory_is_bounded(knowing_model, german, english, tmp_path, monkeypatch):
    """A search of 22,000 sentences allocates at most 1.25 times its bound."""
    monkeypatch.setattr("miner.tasks.workers.memory_budget", lambda size=1 << 30: size)
    encoder, keep = Encoder.load(knowing_model, 2), Keep(decoys=mixed(english, 2000, 1))

    def sides(*sizes: int) -> list[Index]:
        made = []
        for text, number in zip((german, english), sizes, strict=True):
            file = tmp_path / str(number)
            file.write_text("\n".join(mixed(text, number, 2)), encoding="utf-8")
            made.append(Index.build(encoder, file, tmp_path / f"{number}.index"))
        return made

    def search(found: list[Index]) -> None:
        mined = mine(*found, keep=keep, settings=SearchSettings(memory=MEMORY, threads=2))
        assert mined.estimate is not None and len(mined.all_pairs)

    search(sides(900, 800))  # load the model and its kernels
    many = sides(20_000, 2000)
    tracemalloc.start()
    try:
        search(many)
        assert tracemalloc.get_traced_memory()[1] < 1.25 * MEMORY
    finally:
        tracemalloc.stop()


def test_too_little_memory_is_refused_at_once(verifying, monkeypatch):
    """If matching would not fit, the search is refused before any work, in one line."""
    monkeypatch.setattr("miner.mining.pipeline.MATCHED", 1 << 20)
    with pytest.raises(
        ResourceError, match=r"^--memory 64M is too little for 120 .*at least 121M, or"
    ):
        mine(*verifying, keep=Keep(), settings=SearchSettings(memory=64 << 20))
