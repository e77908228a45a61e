"""An extended index equals one built from all text; one process extends it at a time."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.files import entries
from support.indexes import everything, text

from miner.encoder.encoder import Encoder
from miner.errors import ResourceError
from miner.index.directory import FLAT
from miner.index.index import Index


@pytest.mark.parametrize("factory", [FLAT, "SQ8"])
def test_add_is_to_build_from_both(encoder, german_file, english_file, tmp_path, factory):
    more = text(tmp_path / "more", "Noch ein Satz.", "", "Der Hund bellt, wenn es donnert.")
    one = Index.build(encoder, german_file, tmp_path / "one", index=factory)
    before = everything(one)
    one = one.add(encoder, [english_file, more])
    both = Index.build(encoder, [german_file, english_file, more], tmp_path / "both", index=factory)
    assert everything(one) == everything(both) == everything(Index.open(tmp_path / "one"))
    # A search compares added text separately from older text.
    assert one.meta["grown"] == [60] and "grown" not in both.meta
    assert one.meta | {"digest": 0} == both.meta | {"digest": 0, "grown": [60]}
    assert one.sources == both.sources and len(one.sources) == 3
    after = everything(one)
    for name in ("sentences", "vectors", "line", "first"):
        assert after[name][:60] == before[name], "old rows keep their numbers"
    assert after["first"][-1] == 38
    if factory != FLAT:
        assert one.ann().ntotal == one.meta["distinct"] == 121
    assert entries(tmp_path) == ["both", "more", "one"]


def test_add_encodes_only_new_text(tiny_model, built, english_file, english):
    seen: list[str] = []

    class Watched(Encoder):
        def _encode(self, sentences: Sequence[str], out: np.ndarray) -> None:
            seen.extend(sentences)
            super()._encode(sentences, out)

    assert len(built.add(Watched.load(tiny_model), english_file)) == 120
    assert seen == english


def test_adds_exclude_each_other(encoder: Encoder, tmp_path: Path) -> None:
    """The second process is refused during the first, and can add its text afterwards."""
    a, b, c = (text(tmp_path / name, name) for name in ("eins", "zwei", "drei"))
    older = Index.build(encoder, a, tmp_path / "i")

    def meanwhile(stage: str, done: int, total: int | None) -> None:
        with pytest.raises(ResourceError, match=f"held by process {os.getpid()}"):
            older.add(encoder, c)

    Index.open(tmp_path / "i").add(encoder, b, report=meanwhile)
    both = older.add(encoder, c)
    assert both.sentences(np.arange(3)) == ["eins", "zwei", "drei"]
    assert entries(tmp_path) == ["drei", "eins", "i", "zwei"]


def test_add_to_an_empty_index(encoder: Encoder, german_file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    index = Index.build(encoder, tmp_path / "empty", tmp_path / "i").add(encoder, german_file)
    assert len(index) == 60 and index.ids(np.array([0])) == [f"{german_file}:1"]
