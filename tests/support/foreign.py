"""Encoders of other libraries for tests: objects that encode, and a fake sentence-transformers."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from miner.encoder.encoder import Encoder

CARD = "---\nlanguage: de\nlicense: apache-2.0\n---\n# An encoder\n"


class Plain:
    """Encoder object with the vectors of a model directory, three times as long."""

    def __init__(self, model: Path):
        self.own = Encoder.load(model)

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        return 3 * self.own.encode(sentences)


class Counting(Plain):
    """Encoder that counts its sentences, and fails as told after a number of them."""

    name = "second"

    def __init__(self, model: Path, after: int = 1 << 30, fault: str = ""):
        super().__init__(model)
        self.read: list[str] = []
        self.after, self.fault = after, fault

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        found = super().encode(sentences)
        self.read += sentences
        if len(self.read) > self.after:
            if self.fault == "NaN":
                found[0] = np.nan
            elif self.fault == "rows":
                found = found[1:]
            elif self.fault == "dimensions":
                found = found[:, 1:]
        return found


class Knowing(Plain):
    """Encoder that knows the translations: one random direction per pair."""

    name = "knowing"

    def __init__(self, pairs: Sequence[tuple[str, str]], wrong: Sequence[tuple[str, str]] = ()):
        self.known: dict[str, int] = {}
        for number, (left, right) in enumerate([*wrong, *pairs]):
            self.known.setdefault(left, number)
            self.known.setdefault(right, number)
        self.directions = np.random.default_rng(1).normal(0, 1, (1000, 64))

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        numbers = [self.known.get(one, 500 + len(one) % 400) for one in sentences]
        return self.directions[numbers] + 2


class FakeTransformer:
    """Stand-in for ``SentenceTransformer``; its directory names the model to encode with."""

    max_seq_length = 12
    default_prompt_name = None

    def __init__(self, place: str, **settings: Any):
        lines = (Path(place) / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self.own = Encoder.load(lines[0])
        self.prompts = {"query": lines[1]} if lines[1:] else {}
        self.asked: list[tuple[str, str]] = []

    def encode(self, sentences: list[str], *, prompt: str, **settings: Any) -> np.ndarray:
        self.asked += [(prompt, sentence) for sentence in sentences]
        return self.own.encode([prompt + sentence for sentence in sentences])

    def tokenizer(self, texts: list[str], **settings: Any) -> dict[str, Any]:
        return {"input_ids": [text.split() for text in texts]}


def fake_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``import sentence_transformers`` return the fake."""
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeTransformer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def fake_directory(place: Path, model: Path, prompt: str = "") -> str:
    """Write a directory that the fake loads; return its name for ``--model``."""
    place.mkdir()
    (place / "modules.json").write_text("[]", encoding="utf-8")
    (place / "vocab.txt").write_text(f"{model}\n{prompt}", encoding="utf-8")
    (place / "README.md").write_text(CARD, encoding="utf-8")
    return f"hf:{place}"
