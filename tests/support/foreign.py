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
    """Object that encodes as the model in a directory does, three times as long."""

    def __init__(self, model: Path):
        self.own = Encoder.load(model)

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        return 3 * self.own.encode(sentences)


class FakeTransformer:
    """Stands for ``SentenceTransformer``; its directory names the model that it encodes with."""

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
    """Let ``import sentence_transformers`` find the fake."""
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
