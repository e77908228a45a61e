"""Encoders of other libraries on the command line."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.foreign import fake_directory, fake_library
from support.near_copies import NEAR

from miner.cleaning.scorers import content
from miner.encoder.model import load

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def name(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    fake_library(monkeypatch)
    return fake_directory(tmp_path / "st", tiny_model)


def test_mined_searched_encoded(miner, name, german_file, english_file, tmp_path, monkeypatch):
    mining = ["mine", german_file, english_file, "--model", name, "--work", tmp_path / "work"]
    code, out, err = miner(*mining, "--ids", "--no-estimate")
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and sum(row[1] == row[2] for row in rows) > 50
    assert f"{name}: licence apache-2.0" in err
    assert "ranked by margin" in err and "gives vectors and no token ids" in err
    sides = tmp_path / "work" / "source", tmp_path / "work" / "target"
    code, again, _ = miner("search", *sides, "--ids", "--no-estimate")
    assert (code, again) == (0, out)
    with monkeypatch.context() as patch:  # indexes may come from elsewhere
        patch.setattr("miner.encoder.open_encoder.open_pretrained", None)
        code, again, err = miner("search", *sides, "--ids")
    assert (code, again) == (0, out)
    assert f"precision is not estimated: {sides[1]} was built by {name}; name it to enc" in err
    place = tmp_path / "work" / "source"
    assert miner("index", english_file, "--model", name, "--add", "-o", place)[0] == 0
    query = english_file.read_text().splitlines()[3]
    code, out, _ = miner("neighbors", sides[1], query, "--model", name)
    assert code == 0 and out.splitlines()[1].startswith("1.0")
    code, _, err = miner("encode", german_file, "--model", name, "-o", tmp_path / "v.npy")
    assert code == 0 and np.load(tmp_path / "v.npy").shape == (60, 32)
    code, _, err = miner("search", *sides, "--rank", "probability")
    assert code == 1 and "cannot be verified" in err


def test_prompts_want_a_side(miner: Run, name: str, german_file: Path, tmp_path: Path) -> None:
    prompts = ["--source-prompt", "query: ", "--target-prompt", "passage: "]
    indexing = ["index", german_file, "--model", name, *prompts, "-o", tmp_path / "de"]
    code, _, err = miner(*indexing)
    assert code == 1 and "--side" in err
    code, _, err = miner(*indexing, "--side", "source")
    assert code == 0 and "prompts 'query: ' for the source, 'passage: ' for the target" in err
    assert '"source_prompt": "query: "' in (tmp_path / "de" / "meta.json").read_text()


def test_precision_of_vectors_without_a_model(miner: Run, tmp_path: Path) -> None:
    """Decoys come with vectors of the same encoder, and the report shows the estimate."""
    decoys = load("default").read_decoys("en")[::28]  # they are sorted
    (tmp_path / "decoys.en").write_text("\n\n".join(decoys) + "\n", encoding="utf-8")
    for text in (NEAR / "near.de", NEAR / "near.en", tmp_path / "decoys.en"):
        assert miner("encode", text, "-o", tmp_path / f"{text.suffix}{len(text.stem)}.npy")[0] == 0
    for side, file in (("de", ".de4.npy"), ("en", ".en4.npy")):
        text, place = NEAR / f"near.{side}", tmp_path / side
        assert miner("index", text, "--embeddings", tmp_path / file, "-o", place)[0] == 0
    search = ["search", tmp_path / "de", tmp_path / "en", "--target-precision", "0.9"]
    code, _, err = miner(*search)
    assert code == 2 and "--decoy-embeddings FILE" in " ".join(err.split())
    search += ["--decoys", tmp_path / "decoys.en", "--decoy-embeddings", tmp_path / ".en6.npy"]
    more = ["--report", tmp_path / "r.html"] if find_spec("bokeh") else []
    code, out, err = miner(*search, *more)
    assert code == 0 and "estimated precision 0.9" in err and len(out.splitlines()) > 100
    if more:
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert "Just above the threshold" in page and "Numbers disagree" not in page
    search[-1] = tmp_path / ".de4.npy"
    code, _, err = miner(*search)
    assert code == 1 and "400 vectors" in err and f"{2 * len(decoys) - 1} lines" in err


def test_scores_follow_the_encoder(miner, name, german, english, other_model, tmp_path):
    """The cosine filter accepts any encoder; a changed encoder invalidates its scores."""
    text = "".join(f"{one}\t{other}\n" for one, other in zip(german, english, strict=True))
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    scoring = ["score", tmp_path / "pairs.tsv", "--score", "cosine", "--score-only"]
    code, out, err = miner(*scoring, "--model", name, "--threads", 1)
    assert code == 0, err
    assert len(out.splitlines()) == 60
    before = content(name)
    assert before == content(name)
    (tmp_path / "st" / "vocab.txt").write_text(f"{other_model}\n", encoding="utf-8")
    assert content(name) != before
