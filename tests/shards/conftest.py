"""Fixtures of mining by shards: a corpus of several files, and what must be mined of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sharded import Corpus

from miner.encoder.encoder import Encoder
from miner.mining.mine import Mined


@pytest.fixture(scope="session")
def corpus(
    verifying_model: Path,
    german: list[str],
    english: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Corpus:
    place = tmp_path_factory.mktemp("corpus")
    parts = {
        "a.de": german[:20], "b.de": ["", *german[20:], german[3], "Unbekannt 漢字"], "c.de": [],
        "a.en": [*english[40:], english[50].upper()], "b.en": [*english[:40], english[0]],
    }  # fmt: skip
    for name, lines in parts.items():
        (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    texts = [str(place / name) for name in parts]
    return Corpus((texts[:3], texts[3:]), Encoder.load(verifying_model, threads=2))


@pytest.fixture(scope="session")
def expected(corpus: Corpus) -> Mined:
    return corpus.whole()


@pytest.fixture(scope="session")
def finished(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mined]:
    """A finished mining: its work directory, which tests must not change, and its result."""
    work = tmp_path_factory.mktemp("finished")
    return work, corpus.shards(work, 17)
