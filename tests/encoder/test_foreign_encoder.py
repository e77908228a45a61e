"""Encoders of other libraries: vectors, faults, fingerprints; objects with `encode`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.foreign import Plain, fake_directory, fake_library

from miner.encoder.encoder import Encoder
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.loading import Loading, split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.pretrained import directory_digest
from miner.errors import ArtifactError, DependencyError, MismatchError
from miner.index.index import Index
from miner.mining.keep import Keep
from miner.mining.mine import mine


class Faulty:
    """Encoder whose first call is right and whose later calls have a given fault."""

    def __init__(self, later: Any):
        self.later = later
        self.fingerprint = "faulty"

    def encode(self, sentences: list[str]) -> Any:
        if sentences == ["Good morning!"]:
            return np.ones((1, 4))
        return self.later(len(sentences))


@pytest.mark.parametrize(
    "later, said",
    [
        (lambda n: np.full((n, 4), np.nan), "NaN or infinity for 'zwei'"),
        (lambda n: np.ones((n, 5)), "5 dimensions, and 4 before"),
        (lambda n: np.ones((n - 1, 4)), r"shape \(1, 4\) for 2 sentences"),
        (lambda n: np.ones(n), r"shape \(2,\) for 2 sentences"),
        (lambda n: "vectors", "returned str, not rows of numbers"),
    ],
)
def test_faulty_vectors(later: Any, said: str) -> None:
    with pytest.raises(ArtifactError, match=said):
        as_encoder(Faulty(later)).encode(["zwei", "drei"])


@pytest.mark.parametrize(
    ("size", "dtype"), [(1e-60, np.float64), (1e300, np.float64), (1e30, np.float32)]
)
def test_vectors_of_extreme_length(size: float, dtype: Any) -> None:
    class Far:
        def encode(self, sentences: Any) -> np.ndarray:
            return np.array([[3, 4]] * len(sentences), dtype) * dtype(size)

    np.testing.assert_allclose(as_encoder(Far()).encode(["a"]), [[0.6, 0.8]], rtol=1e-6)


def test_what_does_not_encode() -> None:
    with pytest.raises(TypeError, match="no method encode"):
        as_encoder(3)


def test_objects_mine_and_add(tiny_model, other_model, german_file, english_file, tmp_path):
    encoder = Plain(tiny_model)
    mined = mine(
        german_file, english_file, encoder=encoder, keep=Keep(top_n=60), work=tmp_path / "w"
    )
    assert sum(mined.pairs.source_row == mined.pairs.target_row) > 50
    assert any("gives vectors and no token ids" in note for note in mined.notes)
    index = Index.open(tmp_path / "w" / "source")
    assert len(index.add(encoder, german_file)) == 120
    with pytest.raises(MismatchError, match="has changed since"):
        index.add(Plain(other_model), german_file)
    again = mine(*(Index.open(tmp_path / "w" / side) for side in ("source", "target")))
    assert len(again.all_pairs) == 60


def test_a_directory_of_sentence_transformers(tiny_model, german, tmp_path, monkeypatch):
    fake_library(monkeypatch)
    name = fake_directory(tmp_path / "st", tiny_model)
    encoder = open_encoder(name, side="source")
    np.testing.assert_allclose(
        encoder.encode(german[:5]), Encoder.load(tiny_model).encode(german[:5]), atol=1e-6
    )
    assert encoder.facts() == [f"{name}: licence apache-2.0"]
    assert encoder.name == name and encoder.warnings() == []
    encoder.encode(["wort " * 13, "wort " * 11])
    assert encoder.warnings() == [
        f"{name} reads 12 tokens: 1 longer sentences were cut, and their ends do not count"
    ]
    (tmp_path / "st" / "vocab.txt").write_text(f"{tiny_model}\nx", encoding="utf-8")
    assert open_encoder(name).fingerprint != encoder.fingerprint


def test_prompts(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_library(monkeypatch)
    name = fake_directory(tmp_path / "st", tiny_model, "query: ")
    encoder: Any = open_encoder(name)
    encoder.encode(["Guten Tag"])
    assert encoder.loaded.asked[-1] == ("query: ", "Guten Tag")
    assert encoder.facts() == [f"{name}: licence apache-2.0, prompt 'query: '"]
    assert encoder.fingerprint != open_encoder(name, loading=Loading("", "")).fingerprint
    both = Loading("query: ", "passage: ")
    with pytest.raises(ArtifactError, match="--side"):
        open_encoder(name, loading=both)
    source: Any = open_encoder(name, side="source", loading=both)
    target = source.on_side("target")
    assert (source.side, target.side) == ("source", "target")
    target.encode(["Good day"])
    assert target.loaded.asked[-1] == ("passage: ", "Good day")
    assert source.fingerprint == target.fingerprint and source.dimension == target.dimension


def test_digest_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "onnx").mkdir()
    for file in ("config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx"):
        (tmp_path / file).write_text(file, encoding="utf-8")
    first = directory_digest(tmp_path)
    for file in ("pytorch_model.bin", "onnx/model.onnx", "README.md"):
        (tmp_path / file).write_text("changed", encoding="utf-8")
    assert directory_digest(tmp_path) == first != directory_digest(tmp_path, "onnx")
    (tmp_path / "model.safetensors").write_text("changed", encoding="utf-8")
    assert directory_digest(tmp_path) != first


def test_names(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert split_name("hf:intfloat/e5") == ("hf", "intfloat/e5")
    assert split_name("models/x") is None and split_name("default") is None
    (tmp_path / "empty").mkdir()
    for place, said in (
        (f"hf:{tmp_path / 'gone'}", "no such directory"),
        (f"hf:{tmp_path / 'empty'}", "no encoder in this directory"),
        (f"hf:{tiny_model}", "leave out hf:"),
        ("model2vec:", "names no encoder"),
    ):
        with pytest.raises(ArtifactError, match=said):
            open_encoder(place)
    with pytest.raises(ArtifactError, match="of other libraries"):
        open_encoder(tiny_model, loading=Loading("query: "))
    name = fake_directory(tmp_path / "st", tiny_model)
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(DependencyError, match=r"bitext-miner\[hf\]"):
        open_encoder(name)


def test_a_transformer_counts_the_sentences_that_it_cuts(tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]), encoding="utf-8"
    )
    config = transformers.BertConfig(
        vocab_size=13, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=32,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.BertModel(config).save_pretrained(tmp_path / "bert")
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    library.SentenceTransformer(str(tmp_path / "bert"), device="cpu").save(str(tmp_path / "st"))
    encoder = open_encoder(f"hf:{tmp_path / 'st'}", threads=1)
    encoder.encode(["a b c d", "h g", "e " * 60])
    assert "1 longer sentences were cut" in encoder.warnings()[0]
