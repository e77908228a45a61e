"""Reports of a search and of an alignment: complete, self-contained, interactive."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from support.browser import needs_browser, slid

from miner.alignment.aligned import Aligned, Document
from miner.index.index import Index
from miner.mining.choices import verifier_for
from miner.mining.decontaminate import RemovedPairs
from miner.mining.keep import Keep
from miner.mining.mine import search_indexes
from miner.mining.result import Mined
from miner.precision.estimate import Estimate, calibrate
from miner.precision.search_result import SearchResult
from miner.reports import alignment_report
from miner.reports.search_report import write


@pytest.fixture(scope="module")
def calibrated(verifying: tuple[Index, Index]) -> tuple[SearchResult, Estimate]:
    return calibrate(search_indexes(*verifying, verifier_for(verifying[0]), estimating=True))


@pytest.fixture(scope="module")
def found(calibrated: tuple[SearchResult, Estimate]) -> SearchResult:
    return calibrated[0]


@pytest.fixture(scope="module")
def guess(calibrated: tuple[SearchResult, Estimate]) -> Estimate:
    return calibrated[1]


def mined(found: SearchResult, estimate: Estimate | None, threshold: float | None) -> Mined:
    """Return a result without the best pair, which was excluded."""
    pairs = found.pairs
    kept = len(pairs) if threshold is None else pairs.count_at_least(threshold)
    best = RemovedPairs(pairs.take(slice(0, 1)), ["test.txt"], np.zeros(1), np.ones(1))
    rows = pairs.take(slice(1, max(1, kept)))
    return Mined(rows, pairs, estimate, Keep(), found, threshold, (), (), best)


@pytest.fixture(scope="module")
def page(found: SearchResult, guess: Estimate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write(path, mined(found, guess, guess.threshold(0.9)))
    return path


def test_parts_of_the_page(page: Path, found: SearchResult, guess: Estimate) -> None:
    text = page.read_text(encoding="utf-8")
    kept = found.pairs.count_at_least(guess.threshold(0.9)) - 1
    words = " ".join(re.sub("<[^>]*>", " ", text).split())
    assert f"pairs kept {kept} pairs left out 1, with text of --without" in words
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
        "right pairs to judge by",
    ):
        assert part in text, part
    # Equal reports are identical files: no random names remain.
    assert 'id="chart-1"' in text
    assert not re.search("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text)
    # No element loads an address.
    assert not re.findall(
        r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?(?:https?:)?//", text
    )


@pytest.mark.parametrize("threshold", [None, float("inf"), 0.0])
def test_pages_without_a_threshold_or_an_estimate(found, threshold, tmp_path):
    write(tmp_path / "report.html", mined(found, None, threshold))
    assert "not estimated" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_text_is_escaped(verifying: tuple[Index, Index], tmp_path: Path) -> None:
    from miner.encoder.encoder import Encoder

    encoder = Encoder.load(verifying[0].model_name)
    for name in ("a", "b"):
        (tmp_path / name).write_text("<script>alert(1)</script> Haus & Hof\nDas ist gut.\n")
    sides = [
        Index.build(encoder, tmp_path / name, tmp_path / f"{name}.index") for name in ("a", "b")
    ]
    found = search_indexes(*sides, verifier_for(sides[0]))
    write(tmp_path / "report.html", mined(found, None, 0.5))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text and "script" in text


@needs_browser
def test_the_page_in_a_browser(page: Path) -> None:
    said = slid(page, charts=2, lines=2)
    assert "--threshold" in said and "estimated precision" in said


def aligned(size: int = 3) -> Aligned:
    """Return two document pairs: an unaligned sentence and a 2-1 bead, and a 1-1 bead."""
    document = Document("a.de", [f"Satz <{n}>" for n in range(size)], np.arange(size))
    other = Document("a.en", ["one", "two"], np.arange(2))
    spans = np.array([[1, 3, 0, 1], [0, 1, 1, 2]])
    score = np.array([0.9, 0.25])
    documents = [(document, other), (document, other)]
    return Aligned(documents, np.array([0, 1]), spans, score, 0.2, ("a <doubt>",), ("de", "en"))


def test_sentences_stand_beside_their_counterparts(tmp_path: Path) -> None:
    alignment_report.write(tmp_path / "page.html", aligned())
    text = (tmp_path / "page.html").read_text("utf-8")
    columns = [
        [unescape(cell) for cell in re.findall(r"<div title=[^>]*>(.*?)</div>", section)]
        for section in re.findall("<section>(.*?)</section>", text, re.DOTALL)
    ]
    first, second, third = (f"Satz <{n}>" for n in range(3))
    assert columns == [
        *([first, second, third, ""], ["", "one", "", "two"]),
        *(["", first, second, third], ["one", "two", "", ""]),
    ]
    assert re.findall("<title>(0.*?)</title>", text) == ["0.9000", "0.2500"]
    assert "a &lt;doubt&gt;" in text and "0.575" in text
    assert "http" not in text and "Bokeh" not in text.split("<body>")[0]


def test_long_documents_are_cut(tmp_path: Path) -> None:
    alignment_report.write(tmp_path / "page.html", aligned(3000))
    assert "2001 more rows are not drawn" in (tmp_path / "page.html").read_text("utf-8")
