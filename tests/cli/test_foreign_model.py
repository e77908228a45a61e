"""Encoders of other libraries on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.foreign import fake_directory, fake_library

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def name(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    fake_library(monkeypatch)
    return fake_directory(tmp_path / "st", tiny_model)


def test_mined_searched_encoded(
    miner: Run, name: str, german_file: Path, english_file: Path, tmp_path: Path
) -> None:
    mining = ["mine", german_file, english_file, "--model", name, "--work", tmp_path / "work"]
    code, out, err = miner(*mining, "--ids", "--no-estimate")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and sum(row[1] == row[2] for row in rows) > 50
    assert f"{name}: licence apache-2.0" in err
    assert "ranked by margin" in err and "gives vectors and no token ids" in err
    sides = tmp_path / "work" / "source", tmp_path / "work" / "target"
    code, again, _ = miner("search", *sides, "--ids", "--no-estimate")
    assert (code, again) == (0, out)
    place = tmp_path / "work" / "source"
    assert miner("index", english_file, "--model", name, "--add", "-o", place)[0] == 0
    code, out, _ = miner("neighbors", name, sides[1], english_file.read_text().splitlines()[3])
    assert code == 0 and out.splitlines()[1].startswith("1.0")
    code, _, err = miner("encode", german_file, "--model", name, "-o", tmp_path / "v.npy")
    assert code == 0 and np.load(tmp_path / "v.npy").shape == (60, 32)
    code, _, err = miner("search", *sides, "--rank", "probability")
    assert code == 1 and "cannot be verified" in err


def test_a_changed_encoder(
    miner: Run, name: str, german_file: Path, other_model: Path, tmp_path: Path
) -> None:
    assert miner("index", german_file, "--model", name, "-o", tmp_path / "de")[0] == 0
    (tmp_path / "st" / "vocab.txt").write_text(f"{other_model}\n", encoding="utf-8")
    code, _, err = miner("index", german_file, "--model", name, "--add", "-o", tmp_path / "de")
    assert code == 1 and "has changed since" in err and "build the index again" in err


def test_prompts_want_a_side(miner: Run, name: str, german_file: Path, tmp_path: Path) -> None:
    prompts = ["--source-prompt", "query: ", "--target-prompt", "passage: "]
    indexing = ["index", german_file, "--model", name, *prompts, "-o", tmp_path / "de"]
    code, _, err = miner(*indexing)
    assert code == 1 and "--side" in err
    code, _, err = miner(*indexing, "--side", "source")
    assert code == 0 and "prompts 'query: ' for the source, 'passage: ' for the target" in err
    assert '"source_prompt": "query: "' in (tmp_path / "de" / "meta.json").read_text()
