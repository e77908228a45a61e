"""Benchmarks of mining and of models, on small sets made of the near-copies."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.near_copies import NEAR

from benchmarks import pages
from benchmarks.mining import between_languages, bucc_protocol, document_sets, mining_quality
from benchmarks.models import encoder_plan, encoder_tables, seen, training_text, unseen
from miner.encoder.model import Model, Part
from miner.text.output import open_output

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("MINER_DATA", ROOT.parent / "shared" / "data"))


def lay_out(directory: Path, suffix: str, test_gold: bool = True, foreign: str = "de") -> None:
    """Write ``de-en.{training,test}.{de,en,gold}``; gold has odd and even German line numbers."""
    pair = f"{foreign}-en"
    gold = [line.split("\t") for line in (NEAR / "near.gold").read_text().splitlines()]
    directory.mkdir(parents=True, exist_ok=True)
    for split, remainder in (("training", 1), ("test", 0)):
        for side in ("de", "en"):
            lines = (NEAR / f"near.{side}").read_text(encoding="utf-8").splitlines()
            with open_output(
                directory / f"{pair}.{split}.{foreign if side == 'de' else side}{suffix}"
            ) as file:
                for number, line in enumerate(lines, 1):
                    file.write(f"{side}-{number:09}\t{line}\n")
        if split == "training" or test_gold:
            with open_output(directory / f"{pair}.{split}.gold{suffix}") as file:
                for source, target in gold:
                    if int(source) % 2 == remainder:
                        file.write(f"de-{int(source):09}\ten-{int(target):09}\n")


BUCC = ["bucc", "--pair", "de-en", "--model", "default"]


def bucc(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *BUCC, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def bucc_here(
    patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> str:
    """Run the benchmark in this process, with few decoys; returns what it prints."""
    patch.setattr("miner.precision.decoys.DRAWS", 4)
    patch.setattr(sys, "argv", [*BUCC, *map(str, arguments)])
    bucc_protocol.main()
    return capsys.readouterr().out


def test_bucc_in_a_directory_without_test_gold_submits(tmp_path, monkeypatch, capsys):
    lay_out(tmp_path / "de-en", "", test_gold=False)
    out = bucc_here(monkeypatch, capsys, "--data", tmp_path, "--submit", tmp_path / "mined.tsv")
    assert "no test gold" in out
    mined = (tmp_path / "mined.tsv").read_text().splitlines()
    assert len(mined) > 50 and all(line.startswith("de-") and "\ten-" in line for line in mined)


def test_bucc_reports_missing_files(tmp_path: Path) -> None:
    done = bucc("--data", tmp_path)
    assert done.returncode == 1
    assert "no de-en.training.de" in done.stderr and "Traceback" not in done.stderr


def test_pivoting_pairs_translations_of_one_sentence() -> None:
    pairs = [
        ("Ja.", "Yes."),
        ("Hallo!", "Hi there!"),
        ("Ja.", "yes!"),  # the same but for case and punctuation
        ("Ja.", "Right."),
        ("ja.", "Indeed."),  # another foreign sentence
        ("Ja.", "Of course."),
    ]
    assert list(training_text.pivot(pairs)) == [
        ("Of course.", "Right."),
        ("Of course.", "Yes."),
        ("Right.", "Yes."),
    ]


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


def test_parameters() -> None:
    part = Part(np.ones((7, 5), np.float16), None, {"a": np.zeros((10, 12), np.float32)})
    plain = Part(np.ones((7, 5), np.float16))
    assert Model.of_pieces(b"", plain.weights).parameters == 35
    assert Model((plain, part), {}, 5).parameters == 2 * 35 + 120
    plain.weights[2:4] = 0  # rows that a column of a separate vocabulary lacks
    assert Model.of_pieces(b"", plain.weights).parameters == 25


def test_seconds_of_a_killed_training_count(tmp_path: Path) -> None:
    from benchmarks.models.trained_models import Clock, noted

    note = tmp_path / "seconds"
    note.write_text("12.0\n")
    clock = Clock(note)
    clock.tick("training", 1, 2)
    clock.say("learning to verify candidates")
    clock.save()
    assert 12.0 <= noted(note).clock < 13.0 and 0.0 <= noted(note).cpu < 1.0
    note.write_text("12.0 7.0\n")
    clock = Clock(note)
    clock.tick("training", 2, 2)
    clock.save()
    assert noted(note).clock >= 12.0 and 7.0 <= noted(note).cpu < 8.0
    assert noted(tmp_path / "none") == (0.0, 0.0)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a small version of every set that encoders are measured on."""
    german, english = (
        (NEAR / f"near.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")
    )
    gold = [line.split("\t") for line in (NEAR / "near.gold").read_text().splitlines()]
    pairs = [(german[int(one) - 1], english[int(other) - 1]) for one, other in gold]
    lay_out(tmp_path / "bucc-style" / "fr-en", "", foreign="fr")
    for place in ("train/fr-en", "tatoeba", "sts"):
        (tmp_path / place).mkdir(parents=True)
    lines = "".join(f"{one}\t{other}\n" for one, other in pairs)
    (tmp_path / "train" / "fr-en" / "near.tsv").write_text(lines, encoding="utf-8")
    (tmp_path / "tatoeba" / "fr-en.tsv").write_text(lines, encoding="utf-8")
    same = [f"5\t{one}\t{one}\n" for one in english[:20]]
    other = [f"1\t{one}\t{two}\n" for one, two in zip(english[:20], english[20:40], strict=True)]
    for name in ("2012.MSRpar", "2016.headlines", "stsb.en.test"):
        (tmp_path / "sts" / f"{name}.tsv").write_text("".join(same + other), encoding="utf-8")
    return tmp_path


def test_encoders_are_compared_and_a_killed_run_goes_on(data, monkeypatch, capsys):
    from benchmarks.models import encoders as command

    rows = {row.name: row for row in encoder_plan.GROUPS["bilingual"].rows}
    few = rows["sp"], rows["trigram"], rows["sp, 1 epoch"]
    monkeypatch.setitem(
        encoder_plan.GROUPS, "softmax", replace(encoder_plan.GROUPS["softmax"], rows=few)
    )
    result, models = data / "encoders.json", data / "models"
    options = ["--quick", "--only", "softmax", "--data", data, "--models", models, "--json", result]
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
    lay_out(tmp_path / "bucc-style" / "de-en", ".xz")
    (tmp_path / "sts").mkdir()
    (tmp_path / "sts" / "stsb.en.test.tsv").write_text("5\tONE pair.\tOne pair!\n0\tx\ty\n")
    path = unseen.written(tmp_path, tmp_path / "tests")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert {"ONE pair.", "One pair!", "x", "y"} < set(lines)
    every = [
        (NEAR / f"near.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")
    ]
    assert set(lines) > {*every[0], *every[1]} and len(set(lines)) == len(lines)


def test_recipes_are_trained_without_test_sentences(tmp_path, monkeypatch):
    lay_out(tmp_path / "bucc-style" / "de-en", "")
    with_pairs = tmp_path / "train" / "de-en" / "text.tsv.xz"
    with_pairs.parent.mkdir(parents=True)
    with open_output(with_pairs) as file:
        file.write("ein Haus\ta house\n")
    from benchmarks.models import trained_models

    given: dict[str, Any] = {}
    monkeypatch.setattr(
        trained_models, "train_model", lambda texts, config, output, **more: given.update(more)
    )
    mining_quality.trained_on(
        "de-en", mining_quality.RECIPES["p19-tuned"], tmp_path, tmp_path / "models" / "p19-tuned"
    )
    (path,) = given["without"].files
    first = (NEAR / "near.de").read_text(encoding="utf-8").splitlines()[0]
    assert first in Path(path).read_text(encoding="utf-8").splitlines()


def test_test_sentences_in_training_text_are_counted(tmp_path, monkeypatch):
    for pair, rows in (
        ("de-en", "Das ist der erste Satz.\tThis, here, is the first!\nja\tYes.\n"),
        ("fr-en", "Une autre phrase ici.\tThis here is the FIRST\n"),
    ):
        path = tmp_path / "train" / pair / "text.tsv.xz"
        path.parent.mkdir(parents=True)
        with open_output(path) as file:
            file.write(rows)
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
