"""The default model on real text, where it lies; skipped, with the reason, where it does not."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest

from miner import Encoder

DATA = Path(os.environ.get("MINER_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
TATOEBA = DATA / "tatoeba"


@pytest.mark.skipif(not TATOEBA.is_dir(), reason=f"no Tatoeba sets in {TATOEBA} (set MINER_DATA)")
@pytest.mark.parametrize("language", ["de", "fr", "es"])
def test_translations_are_nearest(language: str) -> None:
    with lzma.open(TATOEBA / f"{language}-en.tsv.xz", "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    encoder = Encoder.load("default")
    source, target = (encoder.encode([row[side] for row in rows]) for side in (0, 1))
    nearest = (source @ target.T).argmax(axis=1)
    assert np.mean(nearest == np.arange(len(rows))) > 0.8
