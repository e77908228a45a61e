"""Tests of miner.reports.search_report: whole, self-contained, and alive in a browser."""

import re
from pathlib import Path

import pytest
from support.browser import needs_browser, slid

from miner.index.index import Index
from miner.mining.mine import run
from miner.mining.search import verifier_for
from miner.precision.estimate import Estimate, calibrate
from miner.precision.search_result import Search
from miner.reports.search_report import write


@pytest.fixture(scope="module")
def calibrated(verifying: tuple[Index, Index]) -> tuple[Search, Estimate]:
    return calibrate(run(*verifying, verifier_for(verifying[0]), estimating=True))


@pytest.fixture(scope="module")
def found(calibrated: tuple[Search, Estimate]) -> Search:
    return calibrated[0]


@pytest.fixture(scope="module")
def guess(calibrated: tuple[Search, Estimate]) -> Estimate:
    return calibrated[1]


@pytest.fixture(scope="module")
def page(found: Search, guess: Estimate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(path, found, guess, guess.threshold(0.9))
    return path


def test_parts_of_the_page(page: Path, found: Search) -> None:
    text = page.read_text(encoding="utf-8")
    for part in (
        "tiny.de × tiny.en",
        "60 lines",
        "estimated precision",
        "decoys",
        "Just above the threshold",
        "Just below the threshold",
        "Numbers disagree",
        "Very short",
        "Hubs",
        "only 60 pairs to judge by" if len(found.pairs) == 60 else "pairs to judge by",
    ):
        assert part in text, part
    # Equal pages are equal files: no random name is left.
    assert 'id="chart-1"' in text
    assert not re.search("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)
    # Nothing is fetched: no address in any element that loads.
    assert not re.findall(
        r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?(?:https?:)?//", text
    )


@pytest.mark.parametrize("threshold", [None, float("inf"), 0.0])
def test_pages_without_a_threshold_or_an_estimate(found, threshold, tmp_path):
    write(tmp_path / "report.html", found, None, threshold)
    assert "not estimated" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_text_is_escaped(verifying: tuple[Index, Index], tmp_path: Path) -> None:
    from miner.encoder.encoder import Encoder

    encoder = Encoder.load(verifying[0].model_name)
    for name in ("a", "b"):
        (tmp_path / name).write_text("<script>alert(1)</script> Haus & Hof\nDas ist gut.\n")
    sides = [
        Index.build(encoder, tmp_path / name, tmp_path / f"{name}.index") for name in ("a", "b")
    ]
    write(tmp_path / "report.html", run(*sides, verifier_for(sides[0])), None, 0.5)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text and "script" in text


@needs_browser
def test_the_page_in_a_browser(page: Path) -> None:
    said = slid(page, charts=2, lines=2)
    assert "--threshold" in said and "estimated precision" in said
