"""Benchmarks of mining and of models, on small sets, and the pages of their figures."""

import dataclasses
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.files import write
from support.near_copies import sentences, write_mining_set, write_sets

from benchmarks import pages, report
from benchmarks.mining import bucc_protocol
from benchmarks.models import (
    encoder_plan,
    encoder_tables,
    language_accuracy,
    language_tables,
    new_language,
    paper_figures,
    peers,
    seen,
)
from benchmarks.models import encoders as command
from miner import MinerError
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import load

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("MINER_DATA", ROOT.parent / "shared" / "data"))


def test_bucc_in_a_directory_without_test_gold_submits(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("miner.precision.decoys.DRAWS", 4)
    options = ["--data", str(tmp_path), "--submit", str(tmp_path / "mined.tsv")]
    monkeypatch.setattr(sys, "argv", ["bucc", "--pair", "de-en", "--model", "default", *options])
    with pytest.raises(SystemExit, match="1"):
        report.run(bucc_protocol.main)
    error = capsys.readouterr().err
    assert "no de-en.training.de" in error and len(error.splitlines()) == 1
    write_mining_set(tmp_path / "de-en", test_gold=False)
    bucc_protocol.main()
    assert "no test gold" in capsys.readouterr().out
    mined = (tmp_path / "mined.tsv").read_text().splitlines()
    assert len(mined) > 50 and all(line.startswith("de-") and "\ten-" in line for line in mined)


def test_encoders_are_compared_and_a_killed_run_goes_on(tmp_path, monkeypatch, capsys):
    write_sets(tmp_path)
    rows = {row.name: row for row in encoder_plan.GROUPS["bilingual"].rows}
    few = rows["sp"], rows["trigram"], rows["sp, 1 epoch"]
    monkeypatch.setitem(
        encoder_plan.GROUPS, "softmax", replace(encoder_plan.GROUPS["softmax"], rows=few)
    )
    result, models = tmp_path / "encoders.json", tmp_path / "models"
    options = ["--quick", "--only", "softmax", "--data", tmp_path, "--models", models]
    options += ["--json", result]
    monkeypatch.setattr(sys, "argv", ["encoders", *map(str, options)])

    command.main()
    first = capsys.readouterr().out
    assert first.count("epoch 1 of 1") == 2  # in a quick run both rows of pieces use the same model
    section = json.loads(result.read_text())["sections"]["softmax"]
    sp, trigram, again = section["results"]["rows"]
    assert (sp["name"], trigram["name"], again["figures"]) == ("sp", "trigram", sp["figures"])
    assert sp["figures"]["sts 12-16"] > 50 and sp["figures"]["bucc"]["test"]["gold"] > 50
    assert set(sp["figures"]["sts"]) == {"2012.MSRpar", "2016.headlines", "stsb.en.test"}
    assert sp["training seconds"] > 0
    lines = pages.sections(json.loads(result.read_text()), encoder_tables.SECTIONS)
    assert any(line.startswith("| trigram | 1 | 0.") for line in lines)

    # As after a kill before the last two rows: only their metrics are measured again.
    section["results"]["rows"] = [sp]
    result.write_text(json.dumps({"sections": {"softmax": section}}))
    command.main()
    assert "epoch 1 of 1" not in capsys.readouterr().out
    resumed = json.loads(result.read_text())["sections"]["softmax"]["results"]["rows"]
    assert [row["name"] for row in resumed] == ["sp", "trigram", "sp, 1 epoch"]
    assert resumed[0] == sp and resumed[1]["figures"]["sts"] == trigram["figures"]["sts"]


def test_the_shipped_model_has_text_with_a_free_licence() -> None:
    names = seen.SHIPPED.read_text().split()
    assert len(set(names)) == len(names) > 20
    # Sources whose licence is unknown or forbids redistribution.
    unfree = {"multi30k", "progit2", "git", "phpmyadmin", "wesnoth", "quran", "small-other"}
    assert not {name.split("/")[1] for name in names} & unfree
    assert "es-en/python" not in names


@pytest.mark.skipif(not (DATA / "README.md").is_file(), reason=f"no {DATA} (set MINER_DATA)")
def test_every_text_of_the_shipped_model_may_ship() -> None:
    """Every training text of the shipped model has a licence that allows it.

    Licences are in the tables of the data's page: source (languages), text, licence, ship. Texts
    that were removed since are named by the model card and cannot be checked.
    """
    card = (ROOT / "miner/models/default/README.md").read_text(encoding="utf-8")
    gone = card.partition("No longer in the training data: ")[2].partition(".")[0]
    left = re.findall(r"`([\w-]+)`", gone)
    page = (DATA / "README.md").read_text(encoding="utf-8")
    # Small sources are joined in one file that the tables do not list.
    allowed: dict[str, set[str]] = {"small": {"any"}} if "`small` (all ✓)" in page else {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) < 4 or not cells[3].startswith("✓"):
            continue
        for source, languages in re.findall(r"([\w-]+)(?: \(([^)]*)\))?", cells[0]):
            if source not in cells[3].split():  # "✓ but phpmyadmin"
                codes = re.fullmatch(r"[a-z]{2}(?:,? [a-z]{2})*", languages)
                found = re.findall("[a-z]{2}", languages) if codes else ["any"]
                allowed.setdefault(source, set()).update(found)
    for name in seen.SHIPPED.read_text().split():
        pair, source = name.split("/")
        if not (DATA / "train" / f"{name}.tsv.xz").is_file():
            assert source in left, f"{name}: neither in {DATA} nor named by the card"
            continue
        assert allowed.get(source, set()) & {pair.removesuffix("-en"), "any"}, name


def test_figures_of_another_model_are_not_called_the_shipped_ones() -> None:
    place = pages.ROOT / "miner" / "models" / "default" / "config.json"
    shipped = json.loads(place.read_text(encoding="utf-8"))["fingerprint"]
    assert pages.named({"name": "default", "fingerprint": shipped}).startswith("the model that")
    assert pages.named({"name": "default", "fingerprint": "0" * 16}).startswith("an earlier model")
    assert pages.named({"name": "former", "fingerprint": "0" * 16}) == pages.NAMES["former"]


@pytest.mark.parametrize("name", ["bucc", "evaluations"])
def test_rows_of_the_default_model_tell_its_fingerprint(name: str) -> None:
    rows = [row for row in report.read(f"{name}.json")["results"] if row["name"] == "default"]
    assert rows and len({row["fingerprint"] for row in rows}) == 1


def test_the_first_tables_name_the_measured_model() -> None:
    rows = [row for row in report.read("bucc.json")["results"] if row["name"] == "default"]
    (name,) = {pages.named(row) for row in rows}
    for page in ("README.md", "docs/results/mining.md"):
        assert f"| {name} |" in (pages.ROOT / page).read_text(encoding="utf-8")


def test_peers_encode_no_sentence_twice(tmp_path) -> None:
    read: list[str] = []

    def encode(texts: list[str]) -> np.ndarray:
        read.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    wanted = [[3, 1], [1, 1], [3, 1]]
    assert peers.Kept(encode, tmp_path).encode(["abc", "a", "abc"]).tolist() == wanted
    assert read == ["a", "abc"]
    assert peers.Kept(encode, tmp_path).encode(["abc", "a", "abc"]).tolist() == wanted
    assert read == ["a", "abc"]


def test_grades(tmp_path, monkeypatch, capsys):
    pairs = [f"1\tthe house {n}\tthe house {n}" for n in range(5)]
    pairs += [f"0\tthe house {n}\tgreen trees grow" for n in range(7)]
    for part in ("train", "test"):
        write(tmp_path / "paraphrase" / f"msrpc.{part}.tsv", pairs)
    result = tmp_path / "papers.json"
    options = ["--data", tmp_path, "--json", result, "--only", "grades"]
    monkeypatch.setattr(sys, "argv", ["papers", *map(str, options)])
    paper_figures.main()
    record = json.loads(result.read_text())
    lines = pages.sections(record, paper_figures.LINES)
    assert lines[2].startswith("| test set | grade |")
    assert lines[4].startswith("| msrpc | 0 | 7 | ") and lines[4].endswith("| – | – |")
    assert lines[5].startswith("| msrpc | 1 | 5 | 1.000 | 0.000 | ")
    assert lines[7].startswith("Measured: the model that ships (")
    assert lines[9].endswith(" CPU seconds") and lines[4] in capsys.readouterr().out


FACTS = {"de": KnownLanguage(1200, {"web": 700, "books": 500}), "en": KnownLanguage(1200)}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a Tatoeba set and news: the small text with numbers that make sentences distinct."""
    pairs = list(zip(sentences("de"), sentences("en"), strict=True))
    news = [(f"{i}: {german}", f"{i}: {english}") for i in range(5) for german, english in pairs]
    write(tmp_path / "data/tatoeba/de-en.tsv", pairs)
    write(tmp_path / "data/train/de-en/newstest.tsv", news)
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


def test_fewer_pairs_of_a_new_language_are_the_first_of_more(tmp_path):
    pairs = [(f"s{i}", f"t{i}") for i in range(50)]
    write(tmp_path / "train/ka-en/web.tsv.xz", [*pairs, ("", "empty"), pairs[0]])
    texts = []
    for count in (5, 20, 99):
        new_language.write_text(tmp_path, "ka", count, tmp_path / "ka-en.tsv")
        texts.append((tmp_path / "ka-en.tsv").read_text(encoding="utf-8").splitlines())
    assert texts[1][:5] == texts[0] and texts[2][:20] == texts[1]
    assert sorted(texts[2]) == sorted("\t".join(pair) for pair in pairs)
    with pytest.raises(MinerError, match="no training text"):
        new_language.write_text(tmp_path, "sw", 5, tmp_path / "sw-en.tsv")
