"""Translators by their names: a server's address, ``ctranslate2:DIR``, ``hf:DIR``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from miner.encoder.pretrained import directory_digest
from miner.errors import CorpusError
from miner.papers.neural_translators import (
    CTranslate2Translator,
    Languages,
    TransformersTranslator,
)
from miner.papers.translators import LibreTranslate, Translator

NEURAL: dict[str, Callable[..., Translator]] = {
    "ctranslate2": CTranslate2Translator,
    "hf": TransformersTranslator,
}
SERVERS = ("http://", "https://")


def open_translator(
    name: str,
    languages: Languages = (None, None),
    key: str | None = None,
    device: str = "auto",
    threads: int | None = None,
) -> Translator:
    """Open a translator by its name; ``key`` is for a server.

    Raises CorpusError for another name or a server without languages, and the errors of the
    translators.
    """
    if name.startswith(SERVERS):
        source, target = languages
        if source is None or target is None:
            raise CorpusError(f"{name}: a server needs --source-lang and --target-lang")
        return LibreTranslate(name, source, target, key)
    kind, _, place = name.partition(":")
    if kind not in NEURAL or not place:
        raise CorpusError(f"{name}: no translator; write ctranslate2:DIR, hf:DIR or http://HOST")
    return NEURAL[kind](place, languages, device, threads)


def fingerprint(name: str) -> str:
    """Digest of a translator's directory, by which a stopped run knows it; blank without one."""
    directory = Path(name.partition(":")[2]).expanduser()
    neural = name.partition(":")[0] in NEURAL
    return directory_digest(directory) if neural and directory.is_dir() else ""
