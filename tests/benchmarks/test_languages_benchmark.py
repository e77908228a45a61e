"""The benchmark of a model's languages: accuracies, the model's configuration, its card."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from support.tiny import sentences

from benchmarks.models import language_accuracy, language_tables
from miner import MinerError
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import load

FACTS = {"de": KnownLanguage(1200, {"web": 700, "books": 500}), "en": KnownLanguage(1200)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Tatoeba's set, and news: the small text with numbers, so that sentences are distinct."""
    pairs = list(zip(sentences("de"), sentences("en"), strict=True))
    lines = [f"{german}\t{english}\n" for german, english in pairs]
    news = [f"{i}: {german}\t{i}: {english}\n" for i in range(5) for german, english in pairs]
    for name, text in (("tatoeba/de-en.tsv", lines), ("train/de-en/newstest.tsv", news)):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        path.write_text("".join(text), encoding="utf-8")
    return tmp_path / "data"


def measure(monkeypatch: pytest.MonkeyPatch, model: Path, *options: object) -> None:
    arguments = ["languages", "--model", model, *options]
    monkeypatch.setattr(sys, "argv", list(map(str, arguments)))
    language_accuracy.main()


def test_accuracies_are_recorded(data, tiny_model, tmp_path, monkeypatch):
    place = tmp_path / "model"
    dataclasses.replace(load(tiny_model), languages=FACTS).save(place)
    (place / "README.md").write_text("# A\n<!-- languages -->\n<!-- /languages -->\n")
    measure(monkeypatch, place, "--data", data, "--json", tmp_path / "l.json", "--record")
    known = load(place).languages
    assert set(known["de"].accuracy) == {"Tatoeba", "news"}
    assert known["de"].accuracy["Tatoeba"] > 0.9 and known["de"].pairs == 1200
    assert known["en"].accuracy == known["de"].accuracy
    card = (place / "README.md").read_text(encoding="utf-8")
    assert "| German (de) | 1,200 | other 100% | " in card and card.startswith("# A\n")
    results = json.loads((tmp_path / "l.json").read_text(encoding="utf-8"))["results"]
    assert "\n".join(language_tables.rows(results)) in card


def test_a_model_without_a_record(data: Path, tiny_model: Path, monkeypatch) -> None:
    with pytest.raises(MinerError, match="records no languages; train it again"):
        measure(monkeypatch, tiny_model, "--data", data)


def test_unseen_text_is_distinct_and_spread(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = language_accuracy.unseen(data, "de-en", ("newstest", "missing"))
    assert len(source) == len(set(source)) == len(set(target)) > 200
    monkeypatch.setattr(language_accuracy, "MOST", 7)
    few = language_accuracy.unseen(data, "de-en", ("newstest",))
    assert len(few[0]) == 7 and few[0][0] == source[0] and few[0][-1] == source[-1]
    assert language_accuracy.unseen(data, "xx-en", ("newstest",)) == ([], [])
