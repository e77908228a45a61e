"""Scores of many files by shards: each file equals `miner score` of it, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from backports import zstd
from support.commands import Miner, fault, miner, write  # noqa: F401 (fixture)

SCORES = ("--score", "cosine", "--score", "length")


@pytest.fixture
def pattern(miner: Miner, german: list[str], english: list[str]) -> str:
    lines = [f"{s}\t{t}\tnote" for s, t in zip(german, english, strict=True)]
    Path("web").mkdir()
    write("web/1.tsv", *lines[:20])
    write("web/2.tsv", *lines[20:], "", "only one")
    text = "".join(f"{line}\n" for line in lines[5:9]).encode()
    Path("web/3.tsv.zst").write_bytes(zstd.compress(text))
    return "web/*.tsv*"


def test_score(miner: Miner, pattern: str) -> None:
    more = (*SCORES, "--model", miner.model, "--on-error", "skip", "--threads", 1)
    shards = ("--backend", "serial", "--work", "work", "--shard-lines", 7)
    done = miner("score", pattern, *more, *shards, "-o", "out")
    assert done.code == 0, done.err
    assert "66 rows of 3 files scored: out" in done.err
    assert sorted(path.name for path in Path("out").iterdir()) == ["1.tsv", "2.tsv", "3.tsv.zst"]
    for path in Path("out").iterdir():
        alone = miner("score", f"web/{path.name}", *more, "-o", f"alone-{path.name}")
        assert alone.code == 0, alone.err
        assert path.read_bytes() == Path(f"alone-{path.name}").read_bytes()
    shown = miner("status", "work")
    assert shown.code == 0 and "15 of 15 tasks done" in shown.out
    # Another plan in the same directory, of scores or of mining.
    other = miner("score", pattern, "--score", "length", *shards, "-o", "out")
    fault(other, "other files, or reads them in another way")
    fault(miner.index("web/1.tsv", "index", "--format", "plain", *shards), "not the plan of a")
    write("web/1.tsv", "a\tb")
    fault(miner("score", pattern, *more, *shards, "-o", "out"), "web/1.tsv: changed since the plan")
    Path("web/1.tsv").unlink()
    fault(miner("score", pattern, *more, *shards, "-o", "out"), "other files, or reads")


def test_what_shards_cannot_do(miner: Miner, pattern: str) -> None:
    shards = ("--backend", "serial", "--work", "work")
    for arguments, words in (
        ((pattern, *shards), "name a directory"),
        ((pattern, *shards, "-o", "web"), "would replace the input"),
        ((pattern, "--backend", "serial", "-o", "out"), "name a --work directory"),
    ):
        done = miner("score", *arguments, *SCORES)
        assert done.code == 2 and words in done.err, done.err
    Path("more").mkdir()
    write("more/1.tsv", "a\tb")
    fault(miner("score", "*/1.tsv", *SCORES, *shards, "-o", "out"), "have one name")
