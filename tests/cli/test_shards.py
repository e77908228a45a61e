"""Mining by shards from the command line: patterns, parts with a manifest, plan and status."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from backports import zstd
from support.commands import Miner, fault, miner, write  # noqa: F401 (fixture)

FAST = ("--rank", "margin", "--threshold", 0)


@pytest.fixture
def files(miner: Miner, german: list[str], english: list[str]) -> tuple[str, str]:
    Path("texts").mkdir()
    write("texts/1.de", *german[:30])
    write("texts/2.de", *german[30:])
    write("texts/all.en", *english)
    return "texts/*.de", "texts/all.en"


def test_patterns_parts_and_status(miner: Miner, files: tuple[str, str]) -> None:
    # Ids name the files as they were given.
    options = (*FAST, "--ids")
    assert miner.mine(*files, *options, "-o", "plain.tsv").code == 0
    assert "texts/2.de:" in Path("plain.tsv").read_text(encoding="utf-8")
    done = miner.mine(*files, *options, "-o", "pairs/", "--work", "work", "--shard-lines", "0.025k")
    assert done.code == 0, done.err
    assert "source: 60 lines, 60 sentences" in done.err
    manifest = json.loads(Path("pairs/manifest.json").read_text(encoding="utf-8"))
    (part,) = manifest["parts"]
    packed = (Path("pairs") / part["file"]).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == part["sha256"]
    assert zstd.decompress(packed) == Path("plain.tsv").read_bytes()
    assert [Path(file["path"]).name for file in manifest["inputs"]["source"]] == ["1.de", "2.de"]
    assert manifest["pairs"] == part["pairs"] == len(Path("plain.tsv").read_bytes().splitlines())
    shown = miner("status", "work")
    assert shown.code == 0 and "search" in shown.out and " tasks done" in shown.out
    assert "9 of 9" in shown.out  # blocks of three shards a side


def test_plan(miner: Miner, files: tuple[str, str]) -> None:
    shown = miner("plan", *files, "--model", miner.model, *FAST, "--as-if", "1B", "--workers", 1000)
    assert shown.code == 0, shown.err
    assert "1,000,000,000 x 1,000,000,000 lines in shards of 1,000,000" in shown.out
    assert "1,000,000 " in shown.out and "most time: search" in shown.out
    assert not Path("work").exists()


def test_what_shards_cannot_do(miner: Miner, files: tuple[str, str]) -> None:
    for arguments, words in (
        (("--backend", "serial"), "name a --work directory"),
        (("--backend", "serial", "--work", "w", "--index", "IVF8,SQ8"), "shards do without"),
        (("--address", "auto", "--backend", "serial", "--work", "w"), "give --backend ray"),
        (("--shard-lines", "no"), "is not a count"),
        (("--work", "s3://bucket/work"), "only shards work in an object store; add --backend"),
    ):
        done = miner.mine(*files, *arguments)
        assert done.code == 2 and words in done.err
    assert "no file has such a name" in miner.mine("none/*.de", "x").err
    fault(miner("status", "texts"), "not the plan of a sharded mining")


@pytest.mark.parametrize(
    "command",
    ["encode texts/1.de -o v.npy", "index texts/1.de -o i", "score a.tsv", "filter a.tsv -o b.tsv"],
)
def test_a_work_directory_is_for_shards(miner: Miner, files: tuple[str, str], command: str) -> None:
    write("a.tsv", "eins\tone")
    done = miner(*command.split(), "--work", "w")
    assert done.code == 2 and "--work keeps the results of tasks; give --backend" in done.err
    assert miner.entries() == ["a.tsv", "texts"]
