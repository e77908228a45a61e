"""The page of a review, requested as by a browser and by attackers."""

import http.client
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.files import write

from miner.review.page import LARGEST, Server
from miner.review.population import origin_of
from miner.review.review import Review
from miner.text.answers import Answers

PAIRS = 40


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    rows = [(1 - n / 50, f"Hund {n} <b>", f"dog {n}") for n in range(PAIRS)]
    pairs = write(tmp_path / "pairs.tsv", rows)
    marks = [(0, 4)], []
    with (
        Review.open(origin_of(str(pairs)), judge="anna") as review,
        Server(review, lambda source, target: marks, "pairs.tsv", 10) as server,
    ):
        serving = Thread(target=server.serve_forever)
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def ask(
    server: Server, name: str, given: object = None, **headers: str | None
) -> tuple[int, Any, http.client.HTTPResponse]:
    """Send the request of a page with other ``headers``; None omits one."""
    host = f"127.0.0.1:{server.server_port}"
    every = {"Host": host, "Origin": f"http://{host}", "Content-Type": "application/json"}
    every |= {key.replace("_", "-"): value for key, value in headers.items()}  # type: ignore[misc]
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    content = None if given is None else json.dumps(given)
    own = {key: value for key, value in every.items() if value is not None}
    connection.request("GET" if given is None else "POST", name, content, own)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text if text.startswith("<") else json.loads(text), answer


def kept(server: Server) -> list[tuple[str, str, str]]:
    path = server.review.answers.path
    assert path is not None
    return [(one.source, one.answer, one.kind) for one in Answers.read(path).given]


def test_a_review_on_the_page(server: Server) -> None:
    at = f"/{server.token}/"
    status, page, answer = ask(server, at)
    assert status == 200 and "Yes <kbd>" in page and "NONCE" not in page
    nonce = page.split('<script nonce="')[1].split('"')[0]
    assert f"script-src 'nonce-{nonce}'" in answer.headers["Content-Security-Policy"]
    _, state, _ = ask(server, at + "state")
    first = state["question"]
    assert first["source"][0] == ["Hund", True] and first["source"][1][0].endswith("<b>")
    assert (state["done"], state["goal"]) == (0, 10)
    _, state, _ = ask(server, at + "answer", {"row": first["row"], "answer": "yes"})
    second = state["question"]
    assert second["row"] != first["row"] and state["done"] == 1
    # A second click, or another page with the same pair, records nothing.
    _, again, _ = ask(server, at + "answer", {"row": first["row"], "answer": "no"})
    assert again == state
    given = {"row": second["row"], "answer": "no", "kind": "other name"}
    ask(server, at + "answer", given)
    _, state, _ = ask(server, at + "undo", {})
    assert state["question"]["row"] == second["row"] and state["done"] == 1
    assert [answer for _, answer, _ in kept(server)] == ["yes", "no", "undo"]
    assert kept(server)[1][2] == "other name"
    while question := state.get("question"):
        _, state, _ = ask(server, at + "answer", {"row": question["row"], "answer": "yes"})
    assert state["done"] == PAIRS
    _, summary, _ = ask(server, at + "summary")
    assert summary["judged"] == PAIRS and not summary["missing"]
    assert summary["lines"][-1][1] == str(PAIRS) and summary["lines"][-1][2].startswith("1.000")
    assert ask(server, at + "finish", {})[1]["finished"]


@pytest.mark.parametrize(
    "name, headers",
    [
        ("/", {}),
        ("/wrong/state", {}),
        ("/{token}x/state", {}),
        ("/{token}/state", {"Host": "evil.example:80"}),
        ("/{token}/answer", {"Origin": "http://evil.example"}),
        ("/{token}/answer", {"Origin": None}),
        ("/{token}/answer", {"Content_Type": "text/plain"}),
    ],
)
def test_strangers_are_refused(server: Server, name: str, headers: dict[str, str | None]) -> None:
    row = server.state()["question"]["row"]
    given = {"row": row, "answer": "yes"} if name.endswith("answer") else None
    status, found, _ = ask(server, name.format(token=server.token), given, **headers)
    assert status == 403 and set(found) == {"error"} and server.token not in str(found)
    assert not server.review.answers.given


@pytest.mark.parametrize(
    "given",
    [
        {"row": 0, "answer": "maybe"},
        {"row": 0, "answer": "no", "kind": "?"},
        {"answer": "yes"},
        {"row": 0, "answer": "yes", "judge": "ben"},
        ["yes"],
        {"row": 0, "answer": "y" * LARGEST},
    ],
)
def test_faulty_answers_are_refused(server: Server, given: object) -> None:
    status, found, _ = ask(server, f"/{server.token}/answer", given)
    assert (status, found) == (400, {"error": "no answer"})
    assert not server.review.answers.given
    assert ask(server, f"/{server.token}/shutdown", {})[0] == 404
    assert ask(server, f"/{server.token}/shutdown")[0] == 404


def test_a_real_browser_on_a_phone(server: Server, tmp_path: Path) -> None:
    """Keys answer, words are marked, nothing exceeds the screen or is blocked."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if None in found:
        pytest.skip("no chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    arguments = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")
    for argument in (*arguments, "--no-first-run", f"--user-data-dir={tmp_path / 'browser'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
    try:
        browser.set_window_size(390, 844)
        browser.get(server.address)

        def shown(script: str) -> Any:
            return browser.execute_script(f"return {script}")

        def wait(script: str) -> None:
            deadline = time.monotonic() + 20
            while not shown(script):
                assert time.monotonic() < deadline, script
                time.sleep(0.02)

        wait("question !== null")
        assert shown("document.querySelector('mark').textContent") == "Hund"
        assert shown("document.getElementById('source').textContent.endsWith('<b>')")
        assert shown("document.documentElement.scrollWidth <= innerWidth")
        for number, key in enumerate("yn2", 1):
            browser.find_element("tag name", "body").send_keys(key)
            wait(f"document.getElementById('count').textContent === '{number} of 10'")
        browser.find_element("id", "undo").click()
        wait("document.getElementById('count').textContent === '2 of 10'")
        browser.find_element("id", "finish").click()
        wait("document.getElementById('message').textContent.startsWith('Finished')")
        assert not browser.get_log("browser")
    finally:
        browser.quit()
    assert [answer for _, answer, _ in kept(server)] == ["yes", "no", "no", "undo"]
