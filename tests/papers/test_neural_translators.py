"""Neural translators: tiny models with random weights, made here, for each of the libraries."""

import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece
import torch
from support.tiny import sentences

from miner.errors import ArtifactError, CorpusError, DependencyError
from miner.papers import open_translator as names
from miner.papers.neural_translators import (
    CTranslate2Translator,
    TransformersTranslator,
    language_tokens,
    sentencepiece_files,
)

Run = Callable[..., tuple[int, str, str]]
LANGUAGES = ("deu_Latn", "eng_Latn")


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Marian model of one layer as OPUS-MT saves them, with tokens of two languages besides."""
    transformers = pytest.importorskip("transformers")
    place, proto = tmp_path_factory.mktemp("marian"), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences("de") + sentences("en")),
        model_writer=proto,
        vocab_size=300,
        hard_vocab_limit=False,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        num_threads=1,
        minloglevel=2,
    )
    for name in ("source.spm", "target.spm"):
        (place / name).write_bytes(proto.getvalue())
    pieces = sentencepiece.SentencePieceProcessor(model_proto=proto.getvalue())
    every = [pieces.id_to_piece(n) for n in range(pieces.get_piece_size())]
    vocabulary = {piece: n for n, piece in enumerate([*every, *LANGUAGES, "<pad>"])}
    (place / "vocab.json").write_text(json.dumps(vocabulary))
    (place / "tokenizer_config.json").write_text('{"tokenizer_class": "MarianTokenizer"}')
    size, pad = len(vocabulary), vocabulary["<pad>"]
    config = transformers.MarianConfig(
        vocab_size=size,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=512,
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
    )
    torch.manual_seed(0)
    transformers.MarianMTModel(config).save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def converted(marian: Path) -> Path:
    converters = pytest.importorskip("ctranslate2.converters")
    place = marian / "converted"
    own = converters.TransformersConverter(str(marian), copy_files=["source.spm", "target.spm"])
    own.convert(str(place))
    return place


@pytest.fixture(params=["hf", "ctranslate2"])
def place(request: pytest.FixtureRequest) -> str:
    """Name of a translator of each kind."""
    fixture = "marian" if request.param == "hf" else "converted"
    return f"{request.param}:{request.getfixturevalue(fixture)}"


def test_translations_do_not_depend_on_the_batch(place: str) -> None:
    text = [*sentences("de")[:18], "Ja."]
    translator = names.open_translator(place, device="cpu", threads=1)
    found = translator.translate(text, 2)
    assert len(found) == len(text) and all(1 <= len(own) <= 2 for own in found)
    for own in found:
        assert all(one.text and 0 < one.cost < 50 for one in own)
        assert [one.cost for one in own] == sorted(one.cost for one in own)
    for row in (3, 18):
        alone = translator.translate([text[row]], 2)[0]
        assert alone[0].cost == pytest.approx(found[row][0].cost, abs=0.2)
    assert translator.translate([], 1) == []


def test_both_libraries_translate_alike(marian: Path, converted: Path) -> None:
    """The same weights give translations of the same likelihood."""
    text = sentences("de")[:4]
    for languages in ((None, None), LANGUAGES):
        costs = [
            [own[0].cost for own in kind(str(place), languages, threads=1).translate(text, 1)]
            for kind, place in (
                (TransformersTranslator, marian),
                (CTranslate2Translator, converted),
            )
        ]
        assert costs[0] == pytest.approx(costs[1], abs=0.3), languages


def test_build_by_a_neural_system(place: str, tmp_path: Path, miner: Run) -> None:
    rows = zip(sentences("de")[:5], sentences("en")[:5], strict=True)
    bitext, out = tmp_path / "a.tsv", tmp_path / "out.tsv"
    bitext.write_text("".join(f"{de}\t{en}\n" for de, en in rows), encoding="utf-8")
    config = tmp_path / "f.toml"
    config.write_text('[[filter]]\nname = "identical"\n')
    run = ["paraphrase", "build", bitext, "--translator", place, "--threads", 1, "-o", out]
    code, _, err = miner(*run, "--best", 2, "--config", config)
    assert code == 0, err
    found = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    assert {reference for reference, _, _ in found} == set(sentences("en")[:5])
    assert all(math.isfinite(float(cost)) for _, _, cost in found)
    code, _, err = miner(*run, "--source-lang", "de", "--target-lang", "en")
    assert code == 1 and "no token for the language en" in err


@pytest.mark.parametrize(
    ("tokens", "languages", "expected"),
    [
        ("de en", (None, None), (None, None)),
        ("deu_Latn eng_Latn", ("deu_Latn", "eng_Latn"), ("deu_Latn", "eng_Latn")),
        ("__de__ __en__ de en", ("de", "en"), ("__de__", "__en__")),
        (">>eng<< >>deu<<", (None, "eng"), (">>eng<<", None)),
        ("<2en>", ("de", "en"), ("<2en>", None)),
        ("de en", ("de", "en"), "no token for the language en"),
        ("deu_Latn eng_Latn", (None, "eng_Latn"), "needs --source-lang, too"),
        ("deu_Latn", ("deu_Latn", None), "--source-lang needs --target-lang"),
    ],
)
def test_language_tokens(tokens, languages, expected):
    known = set(tokens.split()).__contains__
    if isinstance(expected, str):
        with pytest.raises(ArtifactError, match=expected):
            language_tokens("m", languages, known)
    else:
        assert language_tokens("m", languages, known) == expected


def test_files_of_sentencepiece(tmp_path: Path) -> None:
    place = tmp_path / "outer" / "model"
    place.mkdir(parents=True)
    with pytest.raises(ArtifactError, match="no SentencePiece model; copy source.spm"):
        sentencepiece_files(place)
    above = place.parent / "sentencepiece.model"
    above.write_bytes(b"")
    assert sentencepiece_files(place) == (above, above)
    (place / "a.model").write_bytes(b"")
    assert sentencepiece_files(place) == (place / "a.model", place / "a.model")
    (place / "source.spm").write_bytes(b"")
    with pytest.raises(ArtifactError, match="several SentencePiece models .a.model, source.spm"):
        sentencepiece_files(place)
    (place / "target.spm").write_bytes(b"")
    assert sentencepiece_files(place) == (place / "source.spm", place / "target.spm")


def test_names_that_open_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("hf:", "marian:x", "x"):
        with pytest.raises(CorpusError, match="write ctranslate2:DIR"):
            names.open_translator(name)
    with pytest.raises(CorpusError, match="needs --source-lang and --target-lang"):
        names.open_translator("http://localhost")
    with pytest.raises(ArtifactError, match="no model.bin"):
        names.open_translator(f"ctranslate2:{tmp_path}")
    with pytest.raises(ArtifactError, match="no such directory"):
        names.open_translator(f"hf:{tmp_path}/none")
    (tmp_path / "model.bin").write_bytes(b"")
    for library, name in (("transformers", "hf"), ("ctranslate2", "ctranslate2")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(DependencyError, match=rf"pip install \"bitext-miner\[{name}\]\""):
            names.open_translator(f"{name}:{tmp_path}")


def test_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"a")
    before = names.fingerprint(f"hf:{tmp_path}")
    assert before and before == names.fingerprint(f"ctranslate2:{tmp_path}")
    (tmp_path / "model.bin").write_bytes(b"b")
    assert names.fingerprint(f"hf:{tmp_path}") != before
    assert names.fingerprint("http://host") == names.fingerprint("hf:name/of-hub") == ""
