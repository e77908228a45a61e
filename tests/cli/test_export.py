"""``miner export``: exported files, read by hand and by their libraries if installed."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from miner.encoder.encoder import Encoder
from miner.encoder.export import card, normalizer_spec
from miner.encoder.model import load

Run = Callable[..., tuple[int, str, str]]
ODD = ["", "  zwei   Worte ", "ﬁne ½", "Ünïcödé", "図書館  に", "tab\there", "a\u00a0b 😀"]


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    return {
        name: np.frombuffer(
            data[8 + size :][slice(*one["data_offsets"])],
            {"F32": "<f4", "F16": "<f2"}[one["dtype"]],
        ).reshape(one["shape"])
        for name, one in header.items()
    }


def test_table_and_tokenizer(miner: Run, tiny_model: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    code, _, err = miner("export", tiny_model, "--licence", "cc0-1.0", "-o", place)
    assert code == 0 and "for sentence-transformers and model2vec" in err
    own = Encoder.load(tiny_model)
    (table,) = read_safetensors(place / "model.safetensors").values()
    assert table.dtype == np.float32 and not table[~own.tokenizer.meaningful].any()
    known = own.tokenizer.meaningful
    np.testing.assert_array_equal(table[known], own.model.parts[0].table()[known])
    tokenizer = json.loads((place / "tokenizer.json").read_text(encoding="utf-8"))
    assert len(tokenizer["model"]["vocab"]) == len(table)
    card = (place / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\n") and "license: cc0-1.0" in card and own.fingerprint in card
    code, _, err = miner("export", tiny_model, "-o", place)
    assert code == 1 and "--overwrite" in err
    more = ["--dtype", "float16", "--overwrite"]
    assert miner("export", tiny_model, *more, "-o", place)[0] == 0
    (table,) = read_safetensors(place / "model.safetensors").values()
    assert table.dtype == np.float16


def test_ids_of_the_library_tokenizers(miner, german, tiny_model, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    assert miner("export", tiny_model, "-o", tmp_path / "out")[0] == 0
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    ours = Encoder.load(tiny_model).tokenizer
    for text in [*german, *ODD]:
        ids = np.array(theirs.encode(text, add_special_tokens=False).ids, dtype=np.int32)
        np.testing.assert_array_equal(ids[ours.meaningful[ids]], ours([text])[0])


def test_back_through_the_libraries(miner, german, tiny_model, tmp_path):
    model2vec = pytest.importorskip("model2vec")
    pytest.importorskip("sentence_transformers")
    from miner.encoder.open_encoder import open_encoder

    vectors = Encoder.load(tiny_model).encode(german)
    place = tmp_path / "out"
    assert miner("export", tiny_model, "-o", place)[0] == 0
    static = model2vec.StaticModel.from_pretrained(str(place))
    for encoder in (static, open_encoder(f"hf:{place}"), open_encoder(f"model2vec:{place}")):
        np.testing.assert_allclose(encoder.encode(german), vectors, atol=1e-6)


def test_what_cannot_be_exported(miner: Run, separate_model: Path, tmp_path: Path) -> None:
    code, _, err = miner("export", separate_model, "-o", tmp_path / "x")
    assert code == 1 and "only means of piece embeddings" in err


def test_the_normalisation_is_read(tiny_model: Path) -> None:
    spec = normalizer_spec(load(tiny_model).vocabularies["sp.model"])
    assert len(spec.charsmap) > 1000 and spec.add_dummy_prefix and spec.remove_extra_whitespaces


def test_a_repository_of_a_hub_has_a_card_and_the_model(
    miner: Run, tiny_model: Path, tmp_path: Path
) -> None:
    place = tmp_path / "repository"
    assert miner("export", tiny_model, "--hub", "-o", place)[0] == 0
    assert load(place / "bitext-miner").fingerprint == load(tiny_model).fingerprint
    text = (place / "README.md").read_text(encoding="utf-8")
    head = text.split("---\n")[1]
    assert "license: other\n" in head and "DIR" not in text
    assert "miner model get hf:USER/NAME" in text and "## Limits" in text
    assert miner("export", tiny_model, "--hub", "--overwrite", "-o", place)[0] == 0


def test_the_card_of_the_model_that_ships(miner: Run, tmp_path: Path) -> None:
    """It has languages, licences and limits; huggingface_hub can parse its metadata."""
    model = load("default")
    text = card(model, hub=True)
    for title in ("## Languages", "## Limits", "## Text"):
        assert f"#{title}" in text, title
    assert "| German (de) |" in text and "CC BY" in text
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra datasets")
    found = hub.ModelCard(text)
    assert found.data.license == "other" and found.data.library_name == "model2vec"
    assert sorted(found.data.language) == sorted(model.languages)
