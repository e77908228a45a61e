"""Review page in the user's browser: one pair at a time, as in the terminal.

The server listens only on the loopback address. Its address contains a random token, which every
request must have, and pages of other origins can neither read nor send anything. The page loads
nothing from elsewhere. Each answer is saved at once, so the browser may be closed at any time.
"""

import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from miner.errors import MinerError, ResourceError
from miner.json_files import parsed
from miner.review.review import Review
from miner.scoring.highlight import Spans, segments
from miner.text.answers import KINDS, RIGHT, SKIP

# Function that finds the words without a counterpart in the two texts of a pair.
Unmatched = Callable[[str, str], tuple[Spans, Spans]]
HOSTS = ("127.0.0.1", "localhost")
# Maximum bytes of a request's content, and timeout of a request in seconds.
LARGEST, PATIENCE = 4096, 30
# The nonce belongs to the page; scripts and styles without it are blocked.
POLICY = (
    "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE = Path(__file__).with_name("page.html")


class Server(ThreadingHTTPServer):
    """Server of a review; :meth:`serve_forever` ends when the judge finishes.

    ``goal`` is the intended number of answers. Raises ResourceError if no port is available.
    """

    daemon_threads = True

    def __init__(self, review: Review, unmatched: Unmatched, name: str, goal: int):
        self.review, self.unmatched, self.name, self.goal = review, unmatched, name, goal
        self.token = secrets.token_urlsafe(16)
        self.done = 0
        self.turn = Lock()
        try:
            super().__init__((HOSTS[0], 0), Handler)
        except OSError as error:
            raise ResourceError(
                f"no page can be served ({error.strerror}); review in the terminal, without --web"
            ) from None

    @property
    def address(self) -> str:
        return f"http://{HOSTS[0]}:{self.server_port}/{self.token}/"

    def state(self) -> dict[str, Any]:
        """Return the state of the page: the next question, highlighted, and the judge's
        progress.
        """
        question = self.review.next()
        state: dict[str, Any] = {
            "name": self.name,
            "done": self.done,
            "goal": self.goal,
            "kinds": KINDS,
        }
        if question is not None:
            texts = question.source, question.target
            sides = zip(texts, self.unmatched(*texts), strict=True)
            source, target = (segments(text, spans) for text, spans in sides)
            state["question"] = asdict(question) | {"source": source, "target": target}
        return state

    def answer(self, row: int, answer: str, kind: str = "") -> dict[str, Any]:
        """Save an answer to the question of ``row``; an answer to another question is ignored."""
        question = self.review.next()
        if answer not in (*RIGHT, SKIP) or kind not in ("", *KINDS):
            raise ValueError(answer)
        if question is not None and question.row == row:
            self.review.answer(question, answer, kind)
            self.done += 1
        return self.state()

    def undo(self) -> dict[str, Any]:
        """Undo the last answer."""
        self.done -= self.review.undo() is not None
        return self.state()

    def summary(self) -> dict[str, Any]:
        """Return the estimates from the answers so far."""
        summary = self.review.summary()
        lines = [
            (f"{row.threshold:.4g}", f"{row.kept:,}", str(row.precision), str(row.recall))
            for row in summary.lines
        ]
        return {"judged": summary.answered, "missing": summary.missing, "lines": lines}

    def finish(self) -> dict[str, Any]:
        # in a thread, because it waits for the loop that serves this request
        Thread(target=self.shutdown).start()
        return {"name": self.name, "done": self.done, "goal": self.goal, "finished": True}


class Handler(BaseHTTPRequestHandler):
    """Handler of the requests of the page."""

    server: Server
    timeout = PATIENCE
    server_version, sys_version = "miner", ""

    def do_GET(self) -> None:
        name = self._asked()
        if name == "":
            nonce = secrets.token_urlsafe(16)
            page = PAGE.read_text(encoding="utf-8").replace("NONCE", nonce)
            self._send(HTTPStatus.OK, "text/html", page, nonce)
        elif name in ("state", "summary"):
            self._call(name, {})
        elif name is not None:
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")

    def do_POST(self) -> None:
        name = self._asked()
        if name is None:
            return
        same_origin = self.headers.get("Origin", "") == f"http://{self.headers.get('Host')}"
        if not same_origin or self.headers.get("Content-Type") != "application/json":
            self._refuse(HTTPStatus.FORBIDDEN, "only the page itself may answer")
        elif name in ("answer", "undo", "finish"):
            try:
                length = int(self.headers.get("Content-Length", ""))
                answer = parsed(self.rfile.read(min(max(length, 0), LARGEST)))
                self._call(name, answer)
            except (ValueError, TypeError):
                self._refuse(HTTPStatus.BAD_REQUEST, "no answer")
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "no such page")

    def _asked(self) -> str | None:
        """Return the requested name behind the token; refuse other requests and return None."""
        host = self.headers.get("Host", "").rpartition(":")[0]
        _, token, name = [*self.path.split("/", 2), "", ""][:3]
        if host in HOSTS and hmac.compare_digest(token.encode(), self.server.token.encode()):
            return name
        self._refuse(HTTPStatus.FORBIDDEN, "open the address that the review has printed")
        return None

    def _call(self, name: str, given: dict[str, Any]) -> None:
        try:
            with self.server.turn:
                result = getattr(self.server, name)(**given)
        except MinerError as error:  # a full disk, for example
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        else:
            self._send(HTTPStatus.OK, "application/json", json.dumps(result))

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, "application/json", json.dumps({"error": why}))

    def _send(self, status: HTTPStatus, kind: str, text: str, nonce: str = "") -> None:
        content = text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY.format(nonce))
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal is for the summary, and the path holds the token."""
