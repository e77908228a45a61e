"""Benchmarks of mining and of models, on small sets made of the near-copies."""

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.evaluated_models import write
from support.near_copies import near_lines, write_mining_set, write_sets

from benchmarks import pages, report
from benchmarks.mining import between_languages, bucc_protocol, document_sets
from benchmarks.models import encoder_plan, encoder_tables, seen, unseen
from benchmarks.models import encoders as command
from benchmarks.models.trained_models import Clock, Spent, noted

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
