"""Page about an alignment: every sentence, and a line for each bead."""

import re
from html import unescape
from pathlib import Path

import numpy as np

from miner.alignment.aligned import Aligned, Document
from miner.reports import alignment_report


def aligned(size: int = 3) -> Aligned:
    """Two pairs of documents: a 2-1 bead behind an unaligned sentence, and a 1-1 bead."""
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
