"""Reports in a real browser: charts, the slider, and requested addresses."""

import shutil
from pathlib import Path

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")


def slid(page: Path, charts: int, lines: int) -> str:
    """Open a page, wait for its charts, and move the slider towards stricter thresholds.

    The threshold must move in ``lines`` charts, and the page may load nothing else. Returns the
    slider's initial label.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    errors: list[str] = []
    requests: list[str] = []
    location = "Bokeh.documents.map(d => d.get_model_by_name('{}')).find(s => s).location"
    names = [f"threshold{number}" for number in range(lines)]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.on("console", lambda line: errors.append(line.text) if line.type == "error" else 0)
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on("request", lambda request: requests.append(request.url))
        opened.goto(page.as_uri())
        # Bokeh puts canvases into shadow roots.
        opened.wait_for_function(f"document.querySelectorAll('.chart').length === {charts}")
        opened.locator(".chart canvas").nth(charts - 1).wait_for(state="attached")
        assert opened.locator("h1").count() == 1
        before = str(opened.locator("#state").inner_text())
        at = [opened.evaluate(location.format(name)) for name in names]
        slider = opened.locator("#slider")
        slider.focus()
        for _ in range(3):
            slider.press("ArrowLeft")
        assert opened.locator("#state").inner_text() != before
        assert all(
            opened.evaluate(location.format(name)) > was
            for name, was in zip(names, at, strict=True)
        )
        browser.close()
    assert errors == [] and requests == [page.as_uri()]
    return before
