"""Tests of miner.reports.search_report: whole, self-contained, and alive in a browser."""

import re
import shutil
from pathlib import Path

import pytest

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


PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_the_page_in_a_browser(page: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    errors: list[str] = []
    requests: list[str] = []
    location = "Bokeh.documents.map(d => d.get_model_by_name('threshold0')).find(s => s).location"
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.on("console", lambda line: errors.append(line.text) if line.type == "error" else 0)
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("request", lambda request: requests.append(request.url))
        opened.goto(page.as_uri())
        # Both charts are drawn: canvases within the shadow roots that Bokeh makes.
        opened.wait_for_function("document.querySelectorAll('.chart').length === 2")
        opened.locator(".chart canvas").nth(1).wait_for(state="attached")
        before = opened.locator("#state").inner_text()
        assert "--threshold" in before and "estimated precision" in before
        at = opened.evaluate(location)
        slider = opened.locator("#slider")
        slider.focus()
        for _ in range(3):
            slider.press("ArrowLeft")
        assert opened.locator("#state").inner_text() != before
        assert opened.evaluate(location) > at  # to the left is stricter
        browser.close()
    assert errors == []
    assert requests == [page.as_uri()]
