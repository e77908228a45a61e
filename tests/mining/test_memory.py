"""Memory of a search with verification and the estimate: bounded, or refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from miner.encoder.encoder import Encoder
from miner.errors import ResourceError
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.mining.mine import mine

# Bytes that the larger search may take.
MEMORY = 64 << 20
CODE = """
import resource, sys, warnings
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.mining.mine import mine
source, target, memory = Index.open(sys.argv[1]), Index.open(sys.argv[2]), int(sys.argv[3])
decoys = open(sys.argv[4], encoding="utf-8").read().splitlines()
mined = mine(source, target, keep=Keep(target_precision=0.5, decoys=decoys),
             settings=SearchSettings(memory=memory, threads=2))
assert mined.estimate is not None and len(mined.all_pairs)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def mixed(sentences: list[str], number: int, seed: int) -> list[str]:
    """Return different sentences of the words of others."""
    words = np.array(" ".join(sentences).split())
    picked = np.random.default_rng(seed).choice(words, size=(number, 8))
    return list(map(" ".join, picked.tolist()))


def test_memory_is_bounded(
    verifying_model: Path, german: list[str], english: list[str], tmp_path: Path
) -> None:
    """A search of 110,000 sentences takes at most 1.25 times its bound more than one of 8,000."""
    (tmp_path / "decoys").write_text("\n".join(mixed(english, 2000, 1)), encoding="utf-8")
    encoder = Encoder.load(verifying_model, 2)

    def peak(sources: int, targets: int) -> int:
        for name, text, number in (("de", german, sources), ("en", english, targets)):
            (tmp_path / name).write_text("\n".join(mixed(text, number, 2)), encoding="utf-8")
            Index.build(encoder, tmp_path / name, tmp_path / f"{name}.index")
        arguments = tmp_path / "de.index", tmp_path / "en.index", MEMORY, tmp_path / "decoys"
        done = subprocess.run(
            [sys.executable, "-c", CODE, *map(str, arguments)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout) << 10

    small = min(peak(4000, 4000) for _ in range(2))  # the first may compile kernels
    assert peak(100_000, 10_000) - small < 1.25 * MEMORY


def test_too_little_memory_is_refused_at_once(
    verifying: tuple[Index, Index], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too little memory for the estimate is refused before the search, in one line."""
    monkeypatch.setattr("miner.mining.verification.WORK_BYTES", 1 << 20)
    with pytest.raises(
        ResourceError, match=r"^--memory 64M is too little for 120 .*M, or"
    ) as error:
        mine(*verifying, keep=Keep(), settings=SearchSettings(memory=64 << 20))
    assert "\n" not in str(error.value)
