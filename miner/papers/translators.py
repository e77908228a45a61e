"""Translators by name: a protocol, and an HTTP endpoint with the interface of LibreTranslate."""

import json
import math
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

from miner.errors import DownloadError

SECONDS = 60.0  # that an answer may take


@dataclass(frozen=True)
class Translation:
    """Translation with its cost, the negative log-likelihood per token; NaN where it is unknown.

    Tokens are the translator's own: words, or pieces of a neural system.
    """

    text: str
    cost: float = math.nan


class Translator(Protocol):
    """Protocol of the translators."""

    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        """Return up to ``k`` translations of each sentence, the best first."""
        ...


def distinct(translations: Iterable[tuple[str, float]]) -> list[Translation]:
    """Return texts with their costs in order, without blank ones and without doubles."""
    found: dict[str, float] = {}
    for text, cost in translations:
        if text.strip():
            found.setdefault(text.strip(), cost)
    return [Translation(text, cost) for text, cost in found.items()]


def by_length(rows: Iterable[int], sentences: Sequence[Sized], size: int) -> Iterator[list[int]]:
    """Yield rows in batches, the longest sentences first: a batch is as long as its longest."""
    ordered = sorted(rows, key=lambda row: -len(sentences[row]))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


class LibreTranslate:
    """Translator behind an HTTP endpoint with LibreTranslate's interface (``POST /translate``).

    A request has a list of sentences. Further translations are asked for as ``alternatives``, which
    the interface returns for one sentence at a time. Raises DownloadError without a translation.
    """

    def __init__(self, address: str, source: str, target: str, key: str | None = None):
        self.address = address.rstrip("/")
        if not self.address.endswith("/translate"):
            self.address += "/translate"
        self.source, self.target, self.key = source, target, key

    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        if not sentences:
            return []
        if k == 1:
            answer = self._ask(list(sentences))
            texts = answer.get("translatedText")
            if not isinstance(texts, list) or len(texts) != len(sentences):
                raise DownloadError(f"{self.address}: not a translation of each sentence")
            return [[Translation(str(text))] for text in texts]
        found = []
        for sentence in sentences:
            answer = self._ask(sentence, alternatives=k - 1)
            texts = [answer.get("translatedText"), *(answer.get("alternatives") or [])]
            found.append(distinct((str(text), math.nan) for text in texts if text)[:k])
        return found

    def _ask(self, text: str | list[str], **more: Any) -> dict[str, Any]:
        body = {"q": text, "source": self.source, "target": self.target, "format": "text", **more}
        if self.key is not None:
            body["api_key"] = self.key
        request = urllib.request.Request(
            self.address,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Accept": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read(200).decode("utf-8", "replace").strip()
            raise DownloadError(f"{self.address}: answer {error.code}: {said}") from None
        except (OSError, ValueError) as error:
            raise DownloadError(
                f"{self.address}: no translation ({error}); is the server running?"
            ) from None
        if not isinstance(found, dict):
            raise DownloadError(f"{self.address}: not the interface of LibreTranslate")
        return found
