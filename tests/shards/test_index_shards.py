"""Indexing and encoding by shards: equal to the last byte to the results without shards."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Miner, fault, miner, write  # noqa: F401 (fixture)

SHARDS = ("--backend", "serial", "--shard-lines", 17)


@pytest.fixture
def corpus(miner: Miner, german: list[str]) -> str:
    Path("texts").mkdir()
    write("texts/1.de", *german[:20], "", german[3], "")
    write("texts/2.de")
    write("texts/3.de", "", *german[10:40], "Unbekannt 漢字")
    return "texts/*.de"


def content(place: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(place).iterdir()}


def test_index(miner: Miner, corpus: str) -> None:
    whole = miner.index(corpus, "whole")
    assert whole.code == 0, whole.err
    done = miner.index(corpus, "index", *SHARDS, "--work", "work")
    assert done.code == 0 and done.err.splitlines()[-1] == whole.err.splitlines()[-1].replace(
        "whole:", "index:"
    )
    assert content("index") == content("whole")
    # A repeated command finds all tasks done.
    again = miner.index(corpus, "again", *SHARDS, "--work", "work")
    assert again.code == 0 and content("again") == content("whole")


@pytest.mark.parametrize("name", ["vectors.npy", "vectors.h5"])
def test_encode(miner: Miner, corpus: str, name: str) -> None:
    more = ("--model", miner.model, "--dtype", "float32", "--threads", 1)
    whole = miner("encode", corpus, *more, "-o", name)
    assert whole.code == 0, whole.err
    wanted = Path(name).read_bytes()
    Path(name).unlink()
    done = miner("encode", corpus, *more, "-o", name, *SHARDS, "--work", "work")
    assert done.code == 0 and done.err.splitlines()[-1] == whole.err.splitlines()[-1]
    assert Path(name).read_bytes() == wanted


def test_a_header_is_no_record(miner: Miner, german: list[str]) -> None:
    write("1.tsv", "text\tid", *(f"{line}\t{i}" for i, line in enumerate(german[:9])))
    more = ("--column", "text", "--header", "--model", miner.model)
    assert miner("encode", "1.tsv", *more, "-o", "a.npy").code == 0
    done = miner("encode", "1.tsv", *more, "-o", "b.npy", "--work", "w", "--shard-lines", 4)
    assert done.code == 0, done.err
    assert Path("a.npy").read_bytes() == Path("b.npy").read_bytes()


def test_what_shards_cannot_do(miner: Miner, corpus: str) -> None:
    for arguments, words in (
        (("-",), "shards need files"),
        ((corpus, "--index", "IVF8,SQ8"), "shards make new flat indexes"),
    ):
        done = miner("index", *arguments, *SHARDS, "--work", "work", "-o", "out")
        assert done.code == 2 and words in done.err
    done = miner("encode", corpus, *SHARDS, "-o", "a.npy")
    assert done.code == 2 and "name a --work directory" in done.err
    assert miner.index(corpus, "index", *SHARDS, "--work", "work").code == 0
    write("texts/3.de", "changed")
    fault(miner.index(corpus, "other", *SHARDS, "--work", "work"), "changed since the plan")
