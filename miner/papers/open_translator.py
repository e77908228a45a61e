"""Translators by their names: a server's address, ``ctranslate2:DIR``, ``hf:DIR``."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from miner.encoder.pretrained import directory_digest
from miner.errors import CorpusError
from miner.papers.build import Part, halves, whole
from miner.papers.neural_translators import (
    CTranslate2Translator,
    Languages,
    TransformersTranslator,
)
from miner.papers.translators import LibreTranslate, Translator
from miner.progress import Reporter
from miner.text.bitext import Bitext, read_bitext

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


def phrase_parts(
    pairs: Bitext, learn: str | None, say: Callable[[str], None], report: Reporter
) -> list[Part]:
    """Parts of a bitext, translated by the phrases of the file ``learn``, or of the other half."""

    def learned(source: Sequence[str], target: Sequence[str]) -> Translator:
        from miner.papers.phrase_decoder import PhraseTranslator

        say(f"learning phrases from {len(source):,} pairs")
        made = PhraseTranslator.learn(source, target, report=report)
        say(f"{sum(map(len, made.table.values())):,} phrase pairs")
        return made

    def of_file() -> Translator:
        other = read_bitext(str(learn))
        return learned(other.source, other.target)

    def of_rows(rows: np.ndarray) -> Translator:
        source, target = ([side[row] for row in rows] for side in (pairs.source, pairs.target))
        return learned(source, target)

    return halves(len(pairs), of_rows) if learn is None else whole(len(pairs), of_file)
