"""Data experiments on generated text, most of them without training."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.files import write
from support.near_copies import write_sets

from benchmarks import pages
from benchmarks.models import (
    back_translation_experiments,
    bench,
    experiment_metrics,
    experiment_tables,
    generation_experiments,
    language_experiments,
    text_experiments,
    translation_experiments,
)
from benchmarks.models import experiments as command
from benchmarks.models.training_text import Pair

WORDS = ["a", "house", "the", "tree", "green", "runs", "home", "late", "every", "day", "nobody"]


def made(number: int, start: str = "") -> list[Pair]:
    """Return ``number`` different pairs."""
    return [
        (f"{start}maison {n} {WORDS[n % 7]}", f"house {n} {WORDS[n % 5]}") for n in range(number)
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write training text: two large sources and a small one, laws, paraphrases."""
    place = tmp_path / "data"
    write(place / "train/fr-en/large.tsv.xz", made(60))
    write(place / "train/fr-en/other.tsv", made(50, "autre "))
    write(place / "train/fr-en/small.tsv", made(7, "petite "))
    write(place / "noisy/fr-en.laws-positional.tsv", made(90, "loi "))
    for pair in ("de-en", "fr-en", "es-en"):
        twice = [(f"{pair} {n}", f"{WORDS[n % 9]} {n} {end}") for n in range(40) for end in "xy"]
        write(place / f"train/{pair}/tatoeba.tsv", twice)
    return place


class Dry:
    """Bench that trains nothing; its metrics are computed from the text."""

    default = "0"

    def __init__(self, data: Path, pairs: int):
        self.data, self.pairs = data, pairs
        self.given: dict[tuple[str, str], list[Pair]] = {}
        self.embeddings: Path | None = None
        self.work = data / "work"

    def row(self, group: str, name: str, pairs: list[Pair], *_: Any, **more: Any) -> dict[str, Any]:
        assert "seed" in more or (group, name) not in self.given and pairs
        self.given[group, name] = pairs
        more.pop("mine", None)
        more.pop("measure", None)
        value = len(pairs) / 1000
        figure = {"value": value, "interval": [value - 0.01, value + 0.01]}
        names = ("bucc", "tatoeba", "sts 12-16", "sts-b")
        return {
            "group": group,
            "name": name,
            "pairs": len(pairs),
            "fingerprint": f"{group} {name}",
            "figures": dict.fromkeys(names, figure),
            "training CPU seconds": 2.0,
            **more,
        }

    def text(self, *_: Any) -> None:
        pass

    def model(self, *_: Any) -> tuple[Path, float]:
        return Path(pages.__file__).parents[1] / "miner" / "models" / "default", 0.0


@pytest.mark.parametrize(
    ("section", "pairs", "rows"),
    [
        ("deciles", 20, 40),
        ("scale", 20, 6),
        ("crossed-recipes", 20, 18),
        ("embedding-starts", 20, 2),
        ("paper-recipes", 20, 13),
        ("generated-paraphrases", 40, 9),
        ("shuffled-pairs", 20, 24),
        ("megabatches", 20, 12),
        ("blstm-parts", 20, 4),
        pytest.param("filters", 20, 31, marks=pytest.mark.slow),
        pytest.param("back-translation", 15, 30, marks=pytest.mark.slow),
        pytest.param("translations", 40, 30, marks=pytest.mark.slow),
    ],
)
def test_every_section_has_its_rows(data, monkeypatch, section, pairs, rows):
    """Each row has a distinct training text, and rows become a table."""
    monkeypatch.setattr(text_experiments, "SIZES", (10, 100, 1000))
    monkeypatch.setattr(back_translation_experiments, "TAUGHT", 40)
    monkeypatch.setattr(translation_experiments, "ENCODERS", ("average",))
    means = dict.fromkeys(("1-gram overlap", "2-gram overlap", "3-gram overlap", "BLEU"), 0.5)
    means |= {"cosine": 0.75, "pairs": 39.0}
    monkeypatch.setattr(
        generation_experiments,
        "rewritten",
        lambda bench, pairs, sentences: (
            [(one, f"{one}!") for one in sentences[1:]],
            {"means": means, "generator CPU seconds": 90.0},
        ),
    )
    dry: Any = Dry(data, pairs)
    *_, results = command.SECTIONS[section](dry)
    assert len(results["rows"]) == rows
    assert len(experiment_tables.section(section, results)) > 4


def test_languages_have_the_same_english(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(data / "train/cs-en/a.tsv", [("jeden", "one"), ("dva", "two"), ("tři", "three")])
    write(data / "train/ru-en/a.tsv", [("два", "two"), ("один", "one"), ("раз", "one")])
    write(data / "train/ru-en/b.tsv", [("три", "three")])
    monkeypatch.setattr(language_experiments, "GROUPS", {"few": (("a",), ("cs", "ru"))})
    dry = Dry(data, 20)
    found = language_experiments.aligned(dry)["few"]  # type: ignore[arg-type]
    assert sorted(found["cs"]) == [("dva", "two"), ("jeden", "one")]
    assert sorted(found["ru"]) == [("два", "two"), ("один", "one")], "the first translation"
    assert [pair[1] for pair in found["cs"]] == [pair[1] for pair in found["ru"]]

    *_, results = language_experiments.measure(dry)
    groups = [f"{group}, {kind} vocabularies" for kind in language_experiments.VOCABULARIES
              for group in ("few", language_experiments.SYNTHETIC)]  # fmt: skip
    assert list(dict.fromkeys(row["group"] for row in results["rows"])) == groups
    lines = experiment_tables.section("languages", results)
    assert any(line.startswith("Spearman with STS 12–16: overlap undefined (5") for line in lines)


def test_every_language_has_three_vocabularies(tmp_path: Path) -> None:
    """Languages need distances, and enough pairs of Tatoeba, counted over its files."""
    for language, count in {"cs": 4, "ru": 4, "sv": 4, "uk": 2, "nn": 4}.items():
        for part, name in enumerate(("tatoeba", "tatoeba-test", "news")):
            pairs = [(f"{language} {i}", str(i)) for i in range(part * count, (part + 1) * count)]
            write(tmp_path / f"train/{language}-en/{name}.tsv", pairs)
    dry: Any = Dry(tmp_path, 6)
    *_, results = language_experiments.measure_every(dry)
    groups = [f"every language, {kind} vocabularies" for kind in ("shared", "alike", "separate")]
    rows = [(row["name"], row["group"]) for row in results["rows"]]
    assert rows == [(one, group) for one in ("cs", "ru", "sv") for group in groups]
    assert list(results["spearman"]) == groups
    assert list(results["spearman"][groups[0]]) == ["all", ", less overlap", ", more overlap"]
    assert len(experiment_tables.section("every-language", results)) > 12


def test_a_killed_run_goes_on(tmp_path, monkeypatch, capsys):
    write_sets(tmp_path)
    config = replace(experiment_metrics.P19, epochs=1, pieces=300, dimension=16)
    monkeypatch.setattr(bench, "quickly", lambda _: config)
    result, models = tmp_path / "found.json", tmp_path / "models"
    options = ["--data", tmp_path, "--models", models, "--json", result, "--only", "sources"]
    arguments = ["experiments", "--quick", "--pairs", "100", *map(str, options)]
    monkeypatch.setattr(sys, "argv", arguments)

    command.main()
    assert capsys.readouterr().out.count("epoch 1 of 1") == 1
    section = json.loads(result.read_text())["sections"]["sources"]
    (row,) = section["results"]["rows"]
    assert (row["group"], row["name"], row["pairs"]) == ("100 pairs", "near", 100)
    assert row["figures"]["bucc"]["metric"] == "f1 by margin"
    assert row["figures"]["sts 12-16"]["value"] > 0.5
    assert all(len(figure["interval"]) == 2 for figure in row["figures"].values())

    command.main()  # neither trained nor measured again
    assert "epoch 1 of 1" not in capsys.readouterr().out
    assert json.loads(result.read_text())["sections"]["sources"] == section
    lines = pages.sections(json.loads(result.read_text()), experiment_tables.SECTIONS)
    assert any(line.startswith("| near | 100 | ") for line in lines)
