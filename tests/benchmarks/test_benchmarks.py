"""Benchmarks of mining and of models, on small sets, and the pages of their figures."""

import dataclasses
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from support.evaluated_models import write
from support.near_copies import near_lines, sentences, write_mining_set, write_sets

from benchmarks import pages, report
from benchmarks.mining import between_languages, bucc_protocol, document_sets
from benchmarks.mining.review_labels import RUNS, Scored, compared, summary, tables
from benchmarks.models import (
    encoder_plan,
    encoder_tables,
    foreign,
    language_accuracy,
    language_tables,
    paper_figures,
    seen,
    unseen,
)
from benchmarks.models import encoders as command
from benchmarks.models.trained_models import Clock, Spent, noted
from miner import MinerError
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import load
from miner.evaluation.mining_sets import MiningSet
from miner.text.corpus import read

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


def test_pairs_between_languages_share_an_english_sentence() -> None:
    czech = {f"sentence {n}": f"věta {n}" for n in range(300)}
    spanish = {f"sentence {n}": f"frase {n}" for n in range(100, 500)}
    sides, gold = between_languages.corpus(czech, spanish)
    assert len(gold) == 200 // 3
    for source, target in gold:
        assert sides[0][source].split()[1] == sides[1][target].split()[1]
    numbers = [{text.split()[1] for text in side.values()} for side in sides]
    assert len(numbers[0] & numbers[1]) == len(gold)
    assert between_languages.corpus(czech, spanish) == (sides, gold)


def test_collections_of_documents_have_known_pairs() -> None:
    """Pages of a template differ in one number; pieces of laws have as many lines as before."""
    pieces = [
        [(f"la loi {n}, article {line}", f"law {n}, section {line}") for line in range(12)]
        for n in range(100)
    ]
    noisy = document_sets.noisy_laws(pieces, 0.5, seed=3)
    assert (len(noisy.source), len(noisy.target), noisy.shared) == (80, 80, 60)
    assert {len(lines) for lines in noisy.source.values()} == {12}
    assert document_sets.noisy_laws(pieces, 0.5, seed=3) == noisy
    with_numbers = [[("Article 5 abrogé", "Section 5 repealed"), *piece[:11]] for piece in pieces]
    pages = document_sets.numbered_pages(with_numbers, seed=3)
    assert pages.shared == 360
    for name in pages.source.keys() & pages.target.keys():
        numbers = (
            {line.split()[1] for line in side[name] if line.startswith(("Article", "Section"))}
            for side in pages
        )
        assert len(set.union(*numbers)) == 1


def test_the_time_of_a_killed_training_counts(tmp_path: Path) -> None:
    note = tmp_path / "seconds"
    assert noted(note) == (0.0, 0.0)
    for before in (Spent(12.0, 0.0), Spent(12.0, 7.0)):
        note.write_text(" ".join(map(str, before[: 1 + bool(before.cpu)])))
        clock = Clock(note)
        clock.tick("training", 1, 2)
        clock.save()
        for found, least in zip(noted(note), before, strict=True):
            assert least <= found < least + 1


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
    assert first.count("epoch 1 of 1") == 2  # both rows of pieces are the same model in a quick run
    section = json.loads(result.read_text())["sections"]["softmax"]
    sp, trigram, again = section["results"]["rows"]
    assert (sp["name"], trigram["name"], again["figures"]) == ("sp", "trigram", sp["figures"])
    assert sp["figures"]["sts 12-16"] > 50 and sp["figures"]["bucc"]["test"]["gold"] > 50
    assert set(sp["figures"]["sts"]) == {"2012.MSRpar", "2016.headlines", "stsb.en.test"}
    assert sp["training seconds"] > 0
    lines = pages.sections(json.loads(result.read_text()), encoder_tables.SECTIONS)
    assert any(line.startswith("| trigram | 1 | 0.") for line in lines)

    # As if killed before the last two rows were written: only their metrics are measured again.
    section["results"]["rows"] = [sp]
    result.write_text(json.dumps({"sections": {"softmax": section}}))
    command.main()
    assert "epoch 1 of 1" not in capsys.readouterr().out
    resumed = json.loads(result.read_text())["sections"]["softmax"]["results"]["rows"]
    assert [row["name"] for row in resumed] == ["sp", "trigram", "sp, 1 epoch"]
    assert resumed[0] == sp and resumed[1]["figures"]["sts"] == trigram["figures"]["sts"]


def test_the_recipes_are_kept_from_the_sentences_of_all_test_sets(tmp_path: Path) -> None:
    write_mining_set(tmp_path / "bucc-style" / "de-en", suffix=".xz")
    write(tmp_path / "sts" / "stsb.en.test.tsv", [(5, "ONE pair.", "One pair!"), (0, "x", "y")])
    path = unseen.written(tmp_path, tmp_path / "tests")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert {"ONE pair.", "One pair!", "x", "y", *near_lines("de"), *near_lines("en")} == {*lines}
    assert len(set(lines)) == len(lines)


def test_test_sentences_in_training_text_are_counted(tmp_path, monkeypatch):
    for pair, rows in (
        ("de-en", [("Das ist der erste Satz.", "This, here, is the first!"), ("ja", "Yes.")]),
        ("fr-en", [("Une autre phrase ici.", "This here is the FIRST")]),
    ):
        write(tmp_path / "train" / pair / "text.tsv.xz", rows)
    tests = {"sts a": ["This here is the first.", "Yes."], "sts b": ["Das ist der erste Satz"]}
    monkeypatch.setattr(seen, "test_sentences", lambda data: tests)
    shipped = tmp_path / "shipped.txt"
    shipped.write_text("fr-en/text\n")
    monkeypatch.setattr(seen, "SHIPPED", shipped)
    one = {"sentences": 1, "seen": 1}  # "Yes." is too short to count
    assert seen.count(tmp_path, ["de-en"]) == {
        "de-en": {"sts a": one, "sts b": one},
        "shipped": {"sts a": one},
    }


def test_the_shipped_model_has_text_with_a_free_licence() -> None:
    names = seen.SHIPPED.read_text().split()
    assert len(set(names)) == len(names) > 20
    # Sources whose licence does not allow it, or is unknown.
    unfree = {"multi30k", "progit2", "git", "phpmyadmin", "wesnoth", "quran", "small-other"}
    assert not {name.split("/")[1] for name in names} & unfree
    assert "es-en/python" not in names


@pytest.mark.skipif(not (DATA / "README.md").is_file(), reason=f"no {DATA} (set MINER_DATA)")
def test_every_text_of_the_shipped_model_may_ship() -> None:
    """The tables of the data's page tell it: source (languages), text, licence, ship."""
    page = (DATA / "README.md").read_text(encoding="utf-8")
    # Small sources are joined in one file, outside the tables.
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
        assert allowed.get(source, set()) & {pair.removesuffix("-en"), "any"}, name
        assert (DATA / "train" / f"{name}.tsv.xz").is_file(), name


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
    for page in ("README.md", "docs/results.md"):
        assert f"| {name} |" in (pages.ROOT / page).read_text(encoding="utf-8")


def test_a_cut_keeps_pairs_and_no_half_of_one(tmp_path: Path) -> None:
    place = tmp_path / "de-en"
    place.mkdir()
    for split in foreign.SPLITS:
        for language in ("de", "en"):
            lines = "".join(f"{language}-{row}\tsentence {row}\n" for row in range(300))
            (place / f"de-en.{split}.{language}").write_text(lines, encoding="utf-8")
        gold = "".join(f"de-{row}\ten-{row}\n" for row in range(40))
        (place / f"de-en.{split}.gold").write_text(gold, encoding="utf-8")
    foreign.cut(tmp_path, "de-en", 0.25, tmp_path / "cut")
    found = MiningSet("cut", tmp_path / "cut", "de-en")
    gold = found.gold("test")
    ids = [set(read(found.need(f"test.{one}"), format="bucc").ids) for one in ("de", "en")]
    assert len(gold) == 10 and all(40 < len(side) < 120 for side in ids)
    for side, own in enumerate(ids):
        of_gold = {one for one in own if int(one.split("-")[1]) < 40}
        assert of_gold == {pair[side] for pair in gold}


def test_runs_are_compared_and_averaged() -> None:
    generator = np.random.default_rng(1)
    score = generator.beta(0.4, 0.4, 300)
    right = generator.random(300) < score
    start = Scored(score, right, int(right.sum()) + 5)

    def again(rows: np.ndarray, answers: np.ndarray) -> Scored:
        changed = score.copy()
        changed[rows] = answers
        return Scored(changed, right, start.gold)

    rows = [*compared(start, again, (0.9,))]
    assert rows[0]["answers"] == 0 and rows[0]["F1"] == start.f1()
    found = summary(rows)
    by_run = {(row["answers"], row.get("drawn"), row.get("errors")): row for row in found}
    assert len(found) == len(RUNS)  # 400 answers are more than there are pairs
    true, false = by_run[100, "stratified", 0.0], by_run[100, "stratified", 0.15]
    assert true["gain"] > 0.02 and true["gain"] > false["gain"]
    assert true["review held"] > 0.8 and abs(true["review gap"]) < 0.03
    record = {"sections": {"de-en": {"results": found}}}
    lines = tables(record, lambda section: "conditions")
    assert lines[2].startswith("| de-en | none |") and lines[-1] == "conditions"
    assert any("100, at random" in line for line in lines)


def test_grades(tmp_path, monkeypatch, capsys):
    (tmp_path / "paraphrase").mkdir()
    pairs = [f"1\tthe house {n}\tthe house {n}" for n in range(5)]
    pairs += [f"0\tthe house {n}\tgreen trees grow" for n in range(7)]
    for part in ("train", "test"):
        (tmp_path / "paraphrase" / f"msrpc.{part}.tsv").write_text("\n".join(pairs) + "\n")
    result = tmp_path / "papers.json"
    options = ["--data", tmp_path, "--json", result, "--only", "grades"]
    monkeypatch.setattr(sys, "argv", ["papers", *map(str, options)])
    paper_figures.main()
    record = json.loads(result.read_text())
    lines = pages.sections(record, paper_figures.LINES)
    assert lines[2].startswith("| test set | grade |")
    assert lines[4].startswith("| msrpc | 0 | 7 | ") and lines[4].endswith("| – | – |")
    assert lines[5].startswith("| msrpc | 1 | 5 | 1.000 | 0.000 | ")
    assert lines[7].endswith(" CPU seconds") and lines[4] in capsys.readouterr().out


def test_models_of_the_recipe_are_found(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MinerError, match="no model"):
        paper_figures.measure_p19("default", tmp_path)
    for seed in (2, 1):
        (tmp_path / "models" / f"p19-{seed}").mkdir(parents=True)

    class Made:
        training: ClassVar = {"config": {"seed": 7}, "pairs": 1000}

    part = {"precision": 0.5, "recall": 0.25, "f1": 0.333}
    monkeypatch.setattr(paper_figures, "load", lambda path: Made)
    monkeypatch.setattr(
        paper_figures.bucc_protocol,
        "measure",
        lambda model, *_: {"model": model, "training": part, "test": part},
    )
    results = paper_figures.measure_p19("default", tmp_path)
    assert [row["model"] for row in results["rows"]] == ["models/p19-1", "models/p19-2"]
    lines = paper_figures.p19_lines(results)
    assert lines[-1] == "| 7 | 1,000 | 0.333 | 0.500 | 0.250 | 0.333 |"


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
