"""Names of models beside their figures."""

import json

import pytest

from benchmarks import pages, report


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
