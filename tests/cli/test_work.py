"""Work directories: interrupted, resumed and repeated commands; parts of any size."""

import errno
import hashlib
import io
import json
import sys
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from support.commands import Miner, fault, miner, write  # noqa: F401 (fixture)
from support.files import whole

from miner.index.index import Index
from miner.mining import search_stages
from miner.scoring.pairs import Pairs
from miner.tasks.status import KindStatus, Status

# Blocks of four parts a side.
PARTS = ("--shard-lines", 15)
FAST = ("--rank", "margin", "--threshold", 0)


class Searches:
    """Counter of searched blocks, which interrupts at the ``stop``-th."""

    def __init__(self) -> None:
        self.count, self.stop = 0, 0

    def since(self) -> int:
        count, self.count, self.stop = self.count, 0, 0
        return count


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> Searches:
    seen, original = Searches(), search_stages.search

    @wraps(original)
    def search(*rest: Any, **arguments: Any) -> None:
        seen.count += 1
        if seen.count == seen.stop:
            raise KeyboardInterrupt
        original(*rest, **arguments)

    monkeypatch.setattr(search_stages, "search", search)
    return seen


@pytest.fixture
def files(miner: Miner, german: list[str], english: list[str]) -> tuple[str, str]:
    Path("texts").mkdir()
    write("texts/1.de", *german[:30])
    write("texts/2.de", *german[30:])
    write("texts/all.en", *english)
    return "texts/*.de", "texts/all.en"


def test_a_stopped_search_goes_on(miner, sides, searches):
    """Results are kept beside the output, and removed once it is written."""
    assert miner("search", *sides, "--no-estimate", "-o", "scratch.tsv").code == 0
    assert miner.entries() == ["scratch.tsv"]
    line = ["search", *sides, "-o", "pairs.tsv", *PARTS]
    searches.since()
    searches.stop = 6
    done = miner(*line)
    assert done.code == 130 and miner.entries() == ["pairs.tsv.work", "scratch.tsv"]
    assert done.err.splitlines()[-1] == "miner: interrupted; to go on, repeat: miner " + " ".join(
        map(str, line)
    )
    searches.since()
    done = miner(*line, "--no-estimate")
    assert done.code == 0 and searches.since() == 16 - 5
    assert miner.entries() == ["pairs.tsv", "scratch.tsv"]
    assert Path("pairs.tsv").read_bytes() == Path("scratch.tsv").read_bytes()


def test_pairs_that_cannot_be_written_do_not_cost_the_search(miner, files, searches):
    def full(*rest: Any, **settings: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left", "o.tsv")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pairs, "write", full)
        fault(miner.mine(*files, *FAST, "-o", "o.tsv"), "o.tsv", "no space left")
    assert miner.entries() == ["o.tsv.work", "texts"] and searches.since() == 1
    assert miner.mine(*files, *FAST, "-o", "o.tsv").code == 0
    assert miner.entries() == ["o.tsv", "texts"] and searches.since() == 0


def test_standard_input(miner, files, german, searches, monkeypatch):
    """Each command reads it again, and reuses searched blocks if the text is the same."""

    def mined(*more: object, text: list[str] = german) -> Any:
        content = "".join(f"{line}\n" for line in text).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return miner.mine("-", files[1], *FAST, *PARTS, *more)

    wanted = miner.mine(*files, *FAST, *PARTS).out
    for more in (("--work", "work"), ("-o", "out.tsv")):
        searches.since()
        searches.stop = 6
        assert mined(*more).code == 130 and searches.since() == 6
        done = mined(*more)
        assert done.code == 0 and searches.since() == 16 - 5
        assert (done.out or Path("out.tsv").read_text("utf-8")) == wanted
    # With other text only its blocks are searched.
    assert mined("--work", "work", text=[*german[:59], "Noch ein Satz."]).code == 0
    assert searches.since() == 4


@pytest.mark.parametrize("parts", [(40, 60), (60, 45), (35, 25)])
def test_added_text_is_all_that_is_searched(
    miner: Miner, verifying_model: Path, sides: tuple[Path, Path], lone_file: Path,
    english: list[str], parts: tuple[int, int], searches: Searches,
) -> None:  # fmt: skip
    model = "--model", verifying_model
    both = lone_file.read_text("utf-8").splitlines(), english
    for name, lines, part in zip("ab", both, parts, strict=True):
        write(f"{name}1", *lines[:part])
        write(f"{name}2", *lines[part:])
        assert miner("index", f"{name}1", *model, "-o", name).code == 0
    line = "search", "a", "b", "--work", "work", "--no-estimate"
    assert miner(*line).code == 0 and searches.since() == 1
    for name in "ab":
        assert miner("index", f"{name}2", "--add", *model, "-o", name).code == 0
    done = miner(*line)
    grown = [1 + (part < 60) for part in parts]
    assert done.code == 0 and searches.since() == grown[0] * grown[1] - 1
    assert done.out == miner("search", *sides, "--no-estimate").out
    assert len(done.out.splitlines()) > 50


def test_mine_keeps_its_indexes_and_no_others(miner, files, german, searches):
    line = "--work", "work", *FAST
    done = miner.mine(*files, *line, "-o", "work/pairs.tsv")
    assert done.code == 0 and Path("work/pairs.tsv").exists(), done.err
    assert len(Index.open("work/source")) == 60
    assert miner("search", "work/source", "work/target", *FAST).out == (
        Path("work/pairs.tsv").read_text(encoding="utf-8")
    )
    # Another command's index, other text or another process: nothing is replaced.
    assert miner.index("texts/1.de", "own/source").code == 0
    fault(miner.mine(*files, *line[2:], "--work", "own"), "own/source: was not made by this comm")
    assert len(Index.open("own/source")) == 30
    fault(miner.mine("texts/1.de", files[1], *line), "work: its plan has other source files; re")
    write("texts/2.de", *german[31:])
    fault(miner.mine(*files, *line), "texts/2.de: changed since the plan in")
    assert len(Index.open("work/source")) == 60


def test_patterns_parts_and_status(miner: Miner, files: tuple[str, str]) -> None:
    # Ids name the files as on the command line.
    options = (*FAST, "--ids")
    assert miner.mine(*files, *options, "-o", "plain.tsv").code == 0
    assert "texts/2.de:" in Path("plain.tsv").read_text(encoding="utf-8")
    done = miner.mine(*files, *options, "-o", "pairs/", "--work", "work", "--shard-lines", "0.025k")
    assert done.code == 0, done.err
    assert "texts/*.de: 60 lines, 60 sentences" in done.err
    manifest = json.loads(Path("pairs/manifest.json").read_text(encoding="utf-8"))
    (part,) = manifest["parts"]
    packed = (Path("pairs") / part["file"]).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == part["sha256"]
    assert zstd.decompress(packed) == Path("plain.tsv").read_bytes()
    assert [Path(file["path"]).name for file in manifest["inputs"]["source"]] == ["1.de", "2.de"]
    assert manifest["pairs"] == part["pairs"] == len(Path("plain.tsv").read_bytes().splitlines())
    shown = miner("status", "work")
    assert shown.code == 0 and "search" in shown.out and " tasks done" in shown.out
    assert "9 of 9" in shown.out  # blocks of three parts a side
    fault(miner("status", "texts"), "not the plan of a work directory")


def test_another_margin_searches_nothing(
    miner: Miner, verifying_model: Path, files: tuple[str, str]
) -> None:
    line = "mine", *files, "--model", verifying_model, "-q"
    assert miner(*line, "--work", "work").code == 0
    margin = "--margin", "distance", "--threshold", 0
    again = miner(*line, *margin, "--work", "work")
    assert again.code == 0 and again.out == miner(*line, *margin).out != ""
    head, *rows, _ = miner("status", "work").out.splitlines()
    new = slice(head.index("done") + 4, head.index("new") + 3)
    done = {row.split()[0] for row in rows if row[new].strip()}
    assert {"score", "match"} <= done and not done & {"encode", "probe", "search", "merge"}


def test_time_left(miner: Miner, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KindStatus("search", 4, 1, 1, 1, 0, 1.0, 1.0, 1 << 20)
    for left, said in ((20, "less than a minute"), (61, "1 minute"), (11000, "3:03 hours")):
        found = Status((kind,), True, 0.5, float(left), {})
        monkeypatch.setattr("miner.tasks.status.status", lambda _, found=found: found)
        assert f"1 of 4 tasks done, 30.0 a minute, {said} left\n" in miner("status", "work").out


def test_wrong_usage(miner: Miner, files: tuple[str, str]) -> None:
    for arguments, words in (
        (("--address", "auto", "--backend", "serial"), "--address"),
        (("--shard-lines", "no"), "is not a count"),
        (("--shard-lines", "0"), "is not"),
        (("--backend", "cloud"), "'cloud' is not one of"),
    ):
        done = miner.mine(*files, *arguments)
        assert done.code == 2 and words in done.err, arguments
    fault(miner.mine(*files, "--backend", "slurm"), "name a --work directory that all workers")
    assert "no file has such a name" in miner.mine("none/*.de", "x").err
    assert miner.entries() == ["texts"]


def test_plan(miner: Miner, files: tuple[str, str]) -> None:
    before = miner.entries()
    shown = miner("plan", *files, "--model", miner.model, *FAST, "--as-if", "2M", "--workers", 1000)
    assert shown.code == 0, shown.err
    assert "2,000,000 x 2,000,000 lines" in shown.out
    assert "most time: search" in shown.out and miner.entries() == before


@pytest.mark.parametrize("lines", [[], ["", " "]])
def test_a_plan_needs_sentences(miner: Miner, files: tuple[str, str], lines: list[str]) -> None:
    write("empty", *lines)
    for sides in (("empty", files[1]), (files[0], "empty"), ("empty", "empty")):
        shown = miner("plan", *sides, "--model", miner.model, *FAST)
        assert shown.code == 1
        assert "empty: no sentence to measure with" in shown.err.splitlines()[-1]


def test_a_plan_refuses_what_is_read_once(miner: Miner, files: tuple[str, str]) -> None:
    for stream in ("-", "/dev/null"):
        shown = miner("plan", files[0], stream)
        assert shown.code == 2 and "standard input or a pipe only once" in shown.err


def test_a_plan_of_text_in_columns(miner: Miner, german: list[str]) -> None:
    """The mined sample has only the sentences, for any format of the text."""
    write("text.tsv", *(f"{number}\t{line}" for number, line in enumerate(german)))
    text = ("text.tsv", "text.tsv", "--column", 2, "--id-column", 1)
    shown = miner("plan", *text, "--model", miner.model, *FAST)
    assert shown.code == 0, shown.err
    assert f"{len(german)} x {len(german)} lines" in shown.out


@pytest.fixture
def corpus(miner: Miner, german: list[str]) -> str:
    Path("texts").mkdir()
    write("texts/1.de", *german[:20], "", german[3], "")
    write("texts/2.de")
    write("texts/3.de", "", *german[10:40], "Unbekannt 漢字")
    return "texts/*.de"


@pytest.mark.parametrize("factory", ["flat", "SQ8"])
def test_index(miner: Miner, corpus: str, factory: str) -> None:
    kind = "--index", factory
    made = miner.index(corpus, "whole", *kind)
    assert made.code == 0, made.err
    more = (*kind, "--work", "work", "--shard-lines", 17)
    done = miner.index(corpus, "index", *more)
    assert done.code == 0 and done.err.splitlines()[-1] == made.err.splitlines()[-1].replace(
        "whole:", "index:"
    )
    assert whole(Path("index")) == whole(Path("whole"))
    again = miner.index(corpus, "again", *more, "--backend", "processes", "--workers", 2)
    assert again.code == 0 and whole(Path("again")) == whole(Path("whole"))
    assert miner.entries() == ["again", "index", "texts", "whole", "work"]
