"""Filtering and scoring in pieces is byte for byte equal to doing it in one."""

import io
import json
import random
import re
import sys
from pathlib import Path

import pytest
from support.cleaning import toml
from support.commands import Miner, fault, miner, write  # noqa: F401 (fixture)

from miner.text.lines import read_lines
from miner.text.output import open_output

SHARDS = ("--backend", "serial", "--work", "work", "--shard-lines", 11, "--threads", 1)
COST = {"name": "cost", "column": "cost"}


def rows(german: list[str], english: list[str]) -> list[str]:
    """Return rows with a cost, repeats, near repeats, a blank row and one with bytes to repair."""
    draw = random.Random(5)
    pairs = list(zip(german, english, strict=True))[:40]
    pairs += [(s.upper(), t) for s, t in pairs[::4]] + [(s, t + " So.") for s, t in pairs[::6]]
    pairs += [("", ""), ("Ã¤hnlich", "alike"), *pairs[:5]]
    draw.shuffle(pairs)
    return [f"{s}\t{t}\t{draw.randrange(4)}" for s, t in pairs]


def both(miner: Miner, head: str, lines: list[str], *more: object) -> tuple[str, str]:
    """Filter in shards and as a whole, check that outputs are equal, and return the messages."""
    top = [head] if head else []
    new = not Path("web").exists()
    Path("web").mkdir(exist_ok=True)
    for name, part in (("1.tsv", slice(0, 9)), ("2.tsv", slice(9, 9)), ("3.tsv.zst", slice(9, 99))):
        if new:
            with open_output(f"web/{name}") as file:
                file.writelines(f"{line}\n" for line in [*top, *lines[part]])
    write("all.tsv", *top, *lines)
    options = (*more, "--model", miner.model)
    whole = miner(
        "filter", "all.tsv", *options, "-o", "kept.tsv", "--rejected", "bad.tsv",
        "--scores-jsonl", "scores.jsonl", "--report", "whole.json",
    )  # fmt: skip
    assert whole.code == 0, whole.err
    parts = miner(
        "filter", "web/*", *options, *SHARDS, "-o", "kept/", "--rejected", "bad/",
        "--scores-jsonl", "scores/", "--report", "parts.json",
    )  # fmt: skip
    assert parts.code == 0, parts.err
    for folder, file, first in (("kept", "kept.tsv", head), ("bad", "bad.tsv", head)):
        found: list[bytes] = []
        for path in sorted(Path(folder).iterdir()):
            found += [*read_lines(str(path))][bool(first) :]
        assert found == Path(file).read_bytes().splitlines()[bool(first) :]
    found = [line for path in sorted(Path("scores").iterdir()) for line in read_lines(str(path))]
    assert found == Path("scores.jsonl").read_bytes().splitlines()
    reports = [json.loads(Path(name).read_text()) for name in ("whole.json", "parts.json")]
    for report in reports:
        for stage in report["filters"]:
            del stage["seconds"]
    assert reports[0] == reports[1]
    return whole.err, parts.err


def config(*tables: dict[str, object], **top: object) -> tuple[str, str]:
    Path("filters.toml").write_text(toml(tables, top), encoding="utf-8")
    return "--config", "filters.toml"


def test_filters_that_compare(miner: Miner, german: list[str], english: list[str]) -> None:
    given = config(
        {**COST, "maximum": 2.5}, {"name": "duplicates"},
        {"name": "duplicates", "label": "sources", "of": "source", "exact": True},
        {"name": "near_duplicates", "maximum": 0.7}, {"name": "decile", "of": "cost", "minimum": 3},
        rank="cost",
    )  # fmt: skip
    lines = rows(german, english)
    said, sharded = both(miner, "a\tb\tcost", lines, "--header", "--repair", *given, "--top-n", 20)
    assert "top-n" in said and "near_duplicates" in sharded
    both(miner, "a\tb\tcost", lines, "--header", "--repair", *given, "--target-words", 90)


def test_two_files(miner: Miner, german: list[str], english: list[str]) -> None:
    pairs = list(zip(german, english, strict=True))[:30]
    pairs += pairs[:3]
    for name, part in (("1", pairs[:25]), ("2", pairs[25:]), ("all", pairs)):
        for side, code in enumerate(("de", "en")):
            write(f"{name}.{code}", *(pair[side] for pair in part))
    given = config({"name": "length", "maximum": 9}, {"name": "duplicates"})
    whole = miner(
        "filter", "--source", "all.de", "--target", "all.en", *given, "--rejected", "bad.tsv",
        "-o", "kept.de", "kept.en",
    )  # fmt: skip
    sides = ("--source", "[0-9].de", "--target", "[0-9].en")
    parts = miner("filter", *sides, *given, *SHARDS, "--rejected", "bad", "-o", "out")
    assert whole.code == parts.code == 0, parts.err
    lines = [next(x for x in done.err.splitlines() if "rows:" in x) for done in (whole, parts)]
    assert lines[0] == lines[1]
    for code in ("de", "en"):
        joined = b"".join(Path(f"out/{name}.{code}").read_bytes() for name in "12")
        assert joined == Path(f"kept.{code}").read_bytes()
    joined = b"".join(Path(f"bad/{name}.de.tsv").read_bytes() for name in "12")
    assert joined == Path("bad.tsv").read_bytes() and joined
    scored = miner("score", *sides, "--score", "length", "-o", "scored/")
    assert scored.code == 0 and "33 rows of 2 files scored" in scored.err, scored.err
    assert sorted(path.name for path in Path("scored").iterdir()) == ["1.de.tsv", "2.de.tsv"]
    write("3.de", "allein")
    short = miner("filter", *sides, *given, *SHARDS, "-o", "out")
    assert short.code == 2 and "has 3 files but --target" in short.err


def test_what_is_refused(miner: Miner) -> None:
    write("a.tsv", "a\tb\t1")
    for arguments, words in (
        (("filter", "*.tsv", "-o", "out", "--rejected", "bad.tsv.gz"), "all files, or all folders"),
        (("filter", "a.tsv", *SHARDS, "-o", "work"), "are both work"),
    ):
        done = miner(*arguments)
        assert done.code == 2 and words in done.err, done.err
    Path("more").mkdir()
    write("more/a.tsv", "a\tb")
    for command in ("filter", "score"):
        fault(miner(command, "**/*.tsv", "-o", "out"), "have one name")


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_all_options_work_on_every_backend(miner, german, english, monkeypatch, backend):
    """With a dry run, a report, standard input, and whole-corpus filters."""
    lines = rows(german, english)
    write("a.tsv", *lines)
    margin = {"name": "margin", "pairs": 0, "minimum": 0.5}
    given = (*config(margin, {"name": "duplicates", "of": "either"}), "--model", miner.model)
    workers = ("--backend", backend, "--workers", 2)[: 4 if backend == "processes" else 2]
    pages = []
    for more, names in (((), ("one", "")), ((*workers, "--shard-lines", 20), ("out/", "a.tsv"))):
        output, name = names
        done = miner("filter", "a.tsv", *given, *more, "-o", output, "--report", "page.html")
        assert done.code == 0, done.err
        pages.append((Path(output + name).read_bytes(), re.sub(r".*seconds.*", "", done.err)))
        tables = re.findall(r"<td[^>]*>[^<]*line[^<]*</td>", Path("page.html").read_text("utf-8"))
        pages[-1] += (tables,)
    assert pages[0][0] == pages[1][0] and pages[0][2] == pages[1][2]
    typed = io.TextIOWrapper(io.BytesIO(Path("a.tsv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", typed)
    done = miner("filter", "-", *given, *workers, "--shard-lines", 20)
    assert done.code == 0 and done.out.encode() == pages[0][0], done.err
    done = miner("filter", "a.tsv", *given, *workers, "--shard-lines", 9, "--dry-run", 30)
    assert done.code == 0 and done.err.startswith("trying 30 of"), done.err
    assert miner.entries() == ["a.tsv", "filters.toml", "one", "out", "page.html"]


def test_a_dry_run_by_jobs_of_slurm(miner: Miner, german, english) -> None:
    """Results of the sample are kept beside the work directory."""
    pytest.importorskip("submitit")
    write("a.tsv", *rows(german, english))
    given = ("filter", "a.tsv", *config({"name": "identical"}), "--dry-run", 30)
    done = miner(*given, "--backend", "slurm", "--work", "work", "--shard-lines", 20)
    assert done.code == 0 and done.out == miner(*given).out, done.err
    assert miner.entries() == ["a.tsv", "filters.toml", "work.sample"]


def test_several_bitexts_in_one_output(miner: Miner, german, english) -> None:
    """Rows keep the order of the bitexts, in one or several pieces, also in other formats."""
    lines = rows(german, english)
    Path("web").mkdir()
    write("web/1.tsv", *lines[:30])
    write("web/2.tsv", *lines[30:])
    write("all.tsv", *lines)
    given = (*config({"name": "identical"}, {"name": "duplicates"}), "--shard-lines", 20)
    outputs = (["out.tsv"], ["out.tsv.gz"], ["out.jsonl"], ["out.de", "out.en"])
    for names in outputs:
        found = []
        for text in ("all.tsv", "web/*.tsv"):
            more = ("--rejected", "bad.tsv", "-o", *names)
            done = miner("filter", text, *given, *more)
            assert done.code == 0, done.err
            found.append([list(read_lines(name)) for name in ("bad.tsv", *names)])
        assert found[0] == found[1] and all(map(len, found[0]))
    for text in ("all.tsv", "web/*.tsv"):
        done = miner("score", text, "--score", "length", "-o", f"{text[:3]}.xz")
        assert done.code == 0, done.err
    assert list(read_lines("all.xz")) == list(read_lines("web.xz"))
    write("web/3.jsonl", '{"source": "a", "target": "b"}')
    for more in (("web/*", "-o", "-"), ("web/*.tsv", "--header", "-o", "out.tsv")):
        fault(miner("filter", *more, *config({"name": "identical"})), "no common output")


SCORES = ("--score", "cosine", "--score", "length", "--score", "margin")


def test_scores(miner: Miner, german: list[str], english: list[str]) -> None:
    lines = [f"{s}\t{t}\tnote" for s, t in zip(german, english, strict=True)]
    Path("web").mkdir()
    write("web/1.tsv", *lines[:20])
    write("web/2.tsv", *lines[20:], "", "only one")
    with open_output("web/3.tsv.zst") as file:
        file.writelines(f"{line}\n" for line in lines[5:9])
    more = (*SCORES, "--model", miner.model, "--on-error", "skip")
    done = miner("score", "web/*.tsv*", *more, *SHARDS, "-o", "out")
    assert done.code == 0, done.err
    assert "66 rows of 3 files scored: out" in done.err
    assert sorted(path.name for path in Path("out").iterdir()) == ["1.tsv", "2.tsv", "3.tsv.zst"]
    for path in Path("out").iterdir():
        alone = miner("score", f"web/{path.name}", *more, "-o", f"alone-{path.name}")
        assert alone.code == 0, alone.err
        assert path.read_bytes() == Path(f"alone-{path.name}").read_bytes()
    before = {path: path.stat().st_mtime_ns for path in Path("work/rate").glob("*/done.json")}
    done = miner("score", "web/*.tsv*", *more, *SHARDS, "--score-only", "-o", "only")
    assert done.code == 0, done.err
    assert before == {path: path.stat().st_mtime_ns for path in before}
    only = [line.split("\t") for line in Path("only/1.tsv").read_text().splitlines()]
    rows = Path("out/1.tsv").read_text().splitlines()
    assert only == [line.split("\t")[3:] for line in rows]
