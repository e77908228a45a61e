"""Benchmark of filters: noise, metrics and systems."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.evaluated_models import write_hidden
from support.files import write

from benchmarks import pages
from benchmarks.filtering import altered_numbers, filter_tables, noisy_text, rules
from benchmarks.filtering.noise import Pair
from benchmarks.filtering.systems import Missing, System
from miner import MinerError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a small version of every set that the benchmark reads."""

    def sentences(count: int, name: str) -> list[Pair]:
        texts = (f"Das ist {name} {{}} aus Berlin", f"This is {name} {{}} from Berlin")
        return [(texts[0].format(n), texts[1].format(n)) for n in range(count)]

    for one in noisy_text.SETS:
        rows = [(*pair, n % 2) for n, pair in enumerate(sentences(20, one.name))]
        write(tmp_path / "noisy" / f"{one.file}.xz", rows)
    for name in noisy_text.CAPTIONS.values():
        write(tmp_path / f"heldout/de-en.{name}.tsv.xz", sentences(60, name))
    laws = [(*pair, f"L-{n // 10}") for n, pair in enumerate(sentences(80, "Gesetz"))]
    write(tmp_path / "heldout/fr-en.laws.tsv.xz", laws)
    for pair in ("de-en", "fr-en"):
        sides = [*zip(*sentences(40, f"Nachricht {pair}"), strict=True)]
        gold = [(n, n) for n in range(40)]
        write_hidden(tmp_path / "bucc-style" / pair, pair, "training", sides, gold, ".xz")
    return tmp_path


def test_development_and_test_text_are_apart(data: Path) -> None:
    for languages in noisy_text.LANGUAGES:
        dev, test = (noisy_text.mixture(data, languages, split) for split in noisy_text.SPLITS)
        assert len(dev.pairs) == len(test.pairs) == (80 if languages == "de-en" else 60)
        sources = [{pair[0] for pair in one.pairs} for one in (dev, test)]
        assert not sources[0] & sources[1] and dev.good.sum() == len(dev.pairs) / 2
        assert bool(dev.counts["next pair's target"]) == (languages == "fr-en")
    with pytest.raises(MinerError, match="no de-en.paracrawl-labelled.tsv"):
        noisy_text.labelled(data / "elsewhere", noisy_text.SETS[0])


def test_metrics_become_tables(data: Path) -> None:
    from benchmarks.filtering import filter_quality as command

    def absent(pairs: Any, languages: str) -> np.ndarray:
        raise Missing("no such thing")

    def knows(pairs: Any, languages: str) -> np.ndarray:
        return np.array([-abs(len(source) - len(target)) for source, target in pairs], float)

    def decides(pairs: Any, languages: str) -> np.ndarray:
        return np.array([source != target for source, target in pairs], float)

    systems = {
        "knows": System(knows),
        "decides": System(decides, decides=True),
        "absent": System(absent),
    }
    results = {
        "labelled": command.labelled(data, systems),
        "synthetic": command.synthetic(data, systems),
    }
    found = results["synthetic"]["rows"][1]["texts"]["de-en"]["decision"]
    assert found["recall"] == 1.0 and found["removed"]["copied"] == 1.0
    assert found["removed"]["truncated"] == 0.0
    scored = results["synthetic"]["rows"][0]["texts"]["de-en"]
    assert scored["auc by kind"]["truncated"] > 0.9
    about = {"command": "x", "versions": {}, "hardware": {"cpu": "c", "cores": 2}}
    sections = {name: {**about, "results": one} for name, one in results.items()}
    # All results can be written as JSON.
    record = json.loads(json.dumps({"sections": sections}))
    lines = pages.sections(record, filter_tables.SECTIONS)
    assert any(line.startswith("| absent | missing: no such thing") for line in lines)
    assert sum(line.startswith("| decides |") for line in lines) == 3
    heads = [line for line in lines if line.startswith("|  | AUC")]
    assert "next pair's target" not in heads[0] and "next pair's target" in heads[1]


def test_right_pairs_that_rules_drop_are_counted(tmp_path: Path) -> None:
    pairs = [("Der Hund schläft heute.", "The dog is sleeping."), ("Am 3. Mai.", "On 4 May.")]
    write(tmp_path / "tatoeba" / "de-en.tsv.xz", pairs)
    write(tmp_path / "tatoeba" / "fr-en.tsv.xz", [("Le chien dort.", "The dog is sleeping.")])
    found = rules.measure(tmp_path)
    assert [(row["language"], row["any"]) for row in found["rows"]] == [("de", 1), ("fr", 0)]
    assert found["rows"][0]["dropped"]["numbers"] == 1
    lines = rules.tables(found)
    assert "| de | 2 | 1 | **50.0%** |" in lines and not any(one[:4] == "| fr" for one in lines)


def test_one_shared_number_is_altered() -> None:
    pair = "Es waren 1.250 am 3. Mai 2019 um 10:30.", "There were 1,250 on 3 May 2019 at 10:30."
    found = {
        kind: altered_numbers.altered(pair, kind, np.random.default_rng(1))
        for kind in altered_numbers.KINDS
    }
    assert found["clock"] == pair[1].replace("10:30", "10:50")
    assert found["year"] == pair[1].replace("2019", "2016")
    assert found["point moved"] is found["magnitude"] is None
    for kind in ("× 10", "× 100", "digit changed", "sign"):
        new = found[kind]
        assert new is not None and new != pair[1] and altered_numbers.numbers(pair[0], new) == 0


def test_pairs_whose_text_was_read_to_be_wrong_are_taken_away(monkeypatch, tmp_path):
    pair = ("drei Hunde, 3", "4 dogs")
    name = hashlib.sha256("\t".join(pair).encode()).hexdigest()[:12]
    verdicts = tmp_path / "verdicts.tsv"
    verdicts.write_text(f"# head\nde\t{name}\twrong\n")
    monkeypatch.setattr(altered_numbers, "VERDICTS", verdicts)
    altered_numbers._wrong.cache_clear()
    assert altered_numbers.is_wrong(pair) and not altered_numbers.is_wrong(pair[::-1])
    altered_numbers._wrong.cache_clear()
    counts = {"pairs": 200, "rejected": 3, "text wrong": 2}
    assert altered_numbers._corrected(counts) == "0.50%"
    assert altered_numbers._corrected(None) == "–"
