"""miner filter, from the command line to the files. Interrupted runs: test_filter_stopped."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from support.cleaning import filters, toml  # noqa: F401 (fixture)
from support.raw_lines import put

from miner.scoring import second_opinion


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(name: str, *tables: dict, **top) -> Path:
    Path(name).write_text(toml(tables, top), encoding="utf-8")
    return Path(name)


RULES = (
    {"name": "length", "of": "shorter", "minimum": 1},
    {"name": "quality", "minimum": 0.2},
    {"name": "duplicates", "of": "either"},
)


@pytest.fixture
def noisy(german: list[str], english: list[str]) -> Path:
    """Return pairs, mismatched pairs, duplicates and an empty line, each with an id and a note."""
    pairs = list(zip(german, english, strict=True))
    pairs += zip(german[:30], english[7:37], strict=True)
    lines = [f"{i}\t{s}\t{t}\tnote {i}" for i, (s, t) in enumerate(pairs + pairs[:20])]
    return put(Path("noisy.tsv"), "".join(f"{line}\n" for line in [*lines, ""]).encode())


COLUMNS = ("--scol", 2, "--tcol", 3)


@pytest.fixture
def clean(miner, knowing_model: Path):
    """Run the command with the small model and the rules above; return both outputs."""

    def run(*arguments: object, rules: tuple | None = RULES, **top) -> tuple[str, str]:
        more = ("--config", config("rules.toml", *rules, **top)) if rules is not None else ()
        code, out, err = miner(
            "filter", *arguments, *more, "--model", knowing_model, "--threads", 1
        )
        assert code == 0, err
        return out, err

    return run


def read(name: str) -> list[bytes]:
    lines = Path(name).read_bytes().split(b"\n")
    assert lines.pop() == b""
    return lines


def read_text(text: str) -> list[bytes]:
    return text.encode().split(b"\n")[:-1]


@pytest.mark.parametrize("size", ["0", "1", "40", "1k"])
def test_a_dry_run_writes_nothing(clean, noisy: Path, size: str) -> None:
    before = noisy.read_bytes()
    out, err = clean(noisy, *COLUMNS, "--dry-run", size, "-o", "out.tsv", "--report", "r.json")
    rows = min(111, {"1k": 1000}.get(size) or int(size))
    assert out == "" and err.startswith(f"trying {rows} of 111 rows")
    assert f"\n{rows} row{'s' * (rows != 1)}: " in err
    assert sorted(os.listdir()) == ["noisy.tsv", "r.json", "rules.toml"]
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert report["rows"] == rows and noisy.read_bytes() == before
    assert report["filters"][1]["seen"] == rows  # expensive filters score all rows of a sample
    out, err = clean("--source", noisy, "--target", noisy, "--format", "plain", "--dry-run", size)
    assert out == "" and err.startswith(f"trying {rows} of 111 rows")
    assert f"\n{rows} row{'s' * (rows != 1)}: " in err


def test_the_default_filters(miner, knowing_model, noisy: Path) -> None:
    rows = noisy.read_bytes().splitlines(keepends=True)
    Path("few.tsv").write_bytes(b"".join(rows[:3]))
    for name, order in (("1", (1, 2)), ("2", (2, 1))):
        turned = (b"\t".join(row.split(b"\t")[side] for side in order) + b"\n" for row in rows[:60])
        Path(f"part-{name}.tsv").write_bytes(b"".join(turned))

    def labels(path: str | Path, *options: str) -> tuple[str, list[str]]:
        """Run the default filters; return the first line, and the filters in the funnel."""
        code, _, err = miner("filter", path, "--model", knowing_model, "--threads", 1, *options)
        assert code == 0
        _, _, funnel = err.partition("\nfilter ")
        return err.splitlines()[0], [line.split()[0] for line in funnel.splitlines()[1:]]

    options = (*COLUMNS, "-o", "out.tsv")
    given = labels(noisy, *options, "--source-lang", "de", "--target-lang", "en")
    assert given[0].startswith("111 rows") and {"language", "script", "quality"} < set(given[1])
    said, found = labels(noisy, *options)
    assert said.startswith("source: German (de) 100%, target: English (en)") and found == given[1]
    # Few words, or parts in different languages, do not identify the language.
    said, found = labels("few.tsv", *options)
    assert said.startswith("filters that need the languages are left out") and set(found) < set(
        given[1]
    )
    assert labels("part-*.tsv", "-o", "out")[1] == found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give one BITEXT, in quotes if it is a pattern, or two aligned files"),
        (("a.tsv", "b.tsv", "c.tsv"), "give one BITEXT"),
        (("a.tsv", "--source", "a.tsv"), "give one BITEXT"),
        (("--source", "a.tsv"), "give one BITEXT"),
        (("--source", "a.tsv", "--target", "a.tsv", "x"), "give one BITEXT"),
        (("-o", "x", "a.tsv", "c.toml"), "give -o after the inputs: a.tsv could be its second"),
        (("a.tsv", "-o", "x", "c.toml"), "c.toml would be replaced, as the second file of -o"),
        (("a.tsv", "--rejected", "-"), "- is given for two outputs"),
        (("a.tsv", "--top-n", "many"), "'many' is not a count"),
        (("a.tsv", "--target-precision", "1"), "is not between 0 and 1"),
        (("a.tsv", "--source-lang", "German!"), "is no language code"),
        (("a.tsv", "--config", "c.toml", "--top-n", "3"), "nothing ranks the pairs"),
        (("a.tsv", "--config", "c.toml", "--threshold", "0.3"), "nothing ranks the pairs"),
        (
            ("a.tsv", "--config", "r.toml", "--target-precision", "0.9"),
            "needs pairs to be ranked by their quality",
        ),
    ],
)
def test_usage(miner, arguments, words) -> None:
    put(Path("a.tsv"), b"a\tb\n")
    config("c.toml", {"name": "length"})
    config("r.toml", {"name": "length"}, rank="length")
    code, out, err = miner("filter", *arguments)
    assert (code, out) == (2, "") and words in err.replace("\n", " ") and "Traceback" not in err
    assert sorted(os.listdir()) == ["a.tsv", "c.toml", "r.toml"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("missing.tsv",), "missing.tsv: cannot be read: No such file"),
        ((".",), ".: cannot be read: Is a directory"),
        (("a.tsv", "-o", "none/x"), "none/x: cannot be written: no such directory"),
        (("a.tsv", "--report", "none/x"), "none/x: cannot be written: no such directory"),
        (("a.tsv", "--config", "missing.toml"), "missing.toml: cannot be read: No such file"),
        (("a.tsv", "--model", "none"), "none"),
        (("a.tsv", "-o", "x", "--work", "taken"), "taken: exists and is no work directory"),
        (("--source", "a.tsv", "--target", "b"), "a.tsv has 1 line but b has 2"),
        (("a.tsv", "-o", "taken"), "taken: cannot be written: it is a directory"),
        (("a.tsv", "--scol", "de"), "a.tsv: column 'de' is a name"),
    ],
)
def test_faults(miner, knowing_model, arguments, words) -> None:
    put(Path("a.tsv"), b"a\tb\n")
    put(Path("b"), b"x\n\n")
    Path("taken").mkdir()
    put(Path("taken/notes"), b"mine")
    before = sorted(os.listdir())
    model = () if "--model" in arguments else ("--model", knowing_model)
    code, out, err = miner("filter", *arguments, *model, "--threads", 1)
    lines = err.splitlines()
    assert (code, out) == (1, "") and words in lines[-1] and lines[-1].startswith("miner: error: ")
    assert len([line for line in lines if "languages" not in line]) == 1
    if words != "none":  # errors in the text or the command leave no file
        assert sorted(os.listdir()) == before


def test_counts_to_keep_are_scaled_in_a_dry_run(clean, noisy: Path) -> None:
    _, err = clean(noisy, *COLUMNS, "--dry-run", "40", "--top-n", "55")
    assert " 20 " in next(line for line in err.splitlines() if line.startswith("top-n"))


def test_a_language_that_nobody_knows(miner, noisy: Path) -> None:
    options = (*COLUMNS, "--source-lang", "qaa", "--target-lang", "en", "--dry-run", "9")
    code, _, err = miner("filter", noisy, *options)
    assert (
        code == 0
        and "some filters do not know the language qaa" in err
        and "language en" not in err
    )


def test_sentences_of_other_files_are_left_out(clean, german, english, place: Path) -> None:
    pairs = zip(german, english, strict=True)
    put(Path("web.tsv"), "".join(f"{s}\t{t}\n" for s, t in pairs).encode())
    test = f"{english[3].upper()} !\n{english[7]}x\n{german[11]}\n"
    put(Path("test.txt"), test.encode())
    only = {"rules": ({"name": "length"},)}
    _, err = clean("web.tsv", "--without", "test.txt", "-o", "kept.tsv", **only)
    assert f"{len(german)} rows: {len(german) - 2} kept" in err and "without test.txt" in err
    clean(
        "web.tsv", "--without", "test.txt", "--near", 0.7, "-o", "kept.tsv", "--rejected",
        "hits.jsonl", **only,
    )  # fmt: skip
    hits = [json.loads(line) for line in read("hits.jsonl")]
    assert [(hit["target"], hit["filter"], hit["value"]) for hit in hits] == [
        (english[row], "without test.txt", line) for row, line in ((3, 1), (7, 2), (11, 3))
    ]
    vectors = ("--without", "test.txt", "--near-vectors", 0.95, "--rejected", "hits.tsv")
    clean("web.tsv", *vectors, "-o", "kept.tsv", **only)
    assert {line.split(b"\t")[2] for line in read("hits.tsv")} == {
        b"without test.txt", b"without vectors of test.txt"
    }  # fmt: skip


def test_a_share_of_good_ones(clean, noisy: Path) -> None:
    quality = ({"name": "quality", "minimum": 0.0},)
    clean(noisy, *COLUMNS, "-o", "all", "--scores-jsonl", "scores", rules=quality)
    values = [json.loads(line)["quality"] for line in read("scores")]
    order = sorted(range(len(values)), key=lambda row: (-values[row], row))
    for share in (0.7, 0.5, 0.9999):
        _, err = clean(noisy, *COLUMNS, "-o", "out", "--target-precision", share, rules=quality)
        means = np.cumsum([values[row] for row in order]) / np.arange(1, len(values) + 1)
        count = int((means >= share).sum())
        assert len(read("out")) == pytest.approx(count, abs=1)  # means of the rounded scores
        assert "target-precision" in err
    # Ranked by the cosine that the configuration names.
    cosine = ({"name": "cosine"}, {"name": "duplicates"})
    clean(noisy, *COLUMNS, "-o", "out", "--top-n", 10, "--scores-jsonl", "s", rules=cosine,
          rank="cosine")  # fmt: skip
    values = [json.loads(line)["cosine"] for line in read("s")]
    assert len(read("out")) == 10
    least = sorted(values, reverse=True)
    first = read("out")[0].split(b"\t")[0]
    assert values[int(first)] >= least[40]


def test_text_in_one_language(miner, german, english, place: Path) -> None:
    lines = [*german[:40], english[5], german[7], "12 34 56 78", german[9]]
    put(Path("a.de"), "".join(f"{line}\n" for line in lines).encode())
    put(Path("test.txt"), f"{german[9]}\n".encode())
    options = "--without", "test.txt", "-o", "kept.de", "--rejected", "bad.tsv"
    code, _, err = miner("filter", "--mono", "a.de", *options)
    assert code == 0 and "source: German (de)" in err and "target:" not in err
    assert read("kept.de") == [one.encode() for row, one in enumerate(german[:40]) if row != 9]
    reasons = [line.split(b"\t")[1].decode() for line in read("bad.tsv")]
    without = "without test.txt"
    assert reasons == [without, "language", "duplicates", "letters", without]
    code, out, err = miner("filter", "--mono", "-", "--source-lang", "de", "--config", "none.toml")
    assert code == 1 and "none.toml" in err
    rows = [json.dumps({"id": n, "text": line}) for n, line in enumerate(lines)]
    put(Path("a.jsonl"), "".join(f"{row}\n" for row in rows).encode())
    put(Path("a.tsv"), "".join(f"{n}\t{line}\n" for n, line in enumerate(lines)).encode())
    put(Path("a.txt"), "".join(f"{n}.\t{line}\n" for n, line in enumerate(german[:40])).encode())
    for text in (["a.jsonl"], ["a.jsonl", "--scol", "text"], ["a.tsv", "--scol", 2], ["a.txt"]):
        code, out, _ = miner("filter", "--mono", *text, "--source-lang", "de")
        assert code == 0 and len(out.splitlines()) == 40
    put(Path("clean.de"), f"{' '.join(german)}\n".encode() * 100)
    code, _, err = miner("filter", "--mono", "a.de", "--like", "clean.de", "--source-lang", "de")
    assert code == 0
    assert re.search(r"length +<= 200 +<= [1-9]\d\d", err)
    for text in (["a.de"], ["a.jsonl"]):
        code, _, err = miner("filter", "--mono", *text, "--like", "a.tsv", "--source-lang", "de")
        assert code == 2 and "give the sample in the format of the text" in err


@pytest.mark.parametrize(
    "options",
    [
        ("a.de", "b.de"),
        ("a.de", "--tcol", "2"),
        ("a.de", "--target-lang", "de"),
        ("a.de", "-o", "kept.jsonl"),
        ("a.de", "--top-n", "5"),
    ],
)
def test_text_in_one_language_has_one_side(miner, place: Path, options) -> None:
    for name in ("a.de", "b.de"):
        put(Path(name), b"Guten Tag.\n")
    assert miner("filter", "--mono", *options)[0] == 2


def test_a_second_opinion(miner, knowing_model, german, english, monkeypatch):
    monkeypatch.setattr(second_opinion, "BAND", (0.001, 0.9999))
    monkeypatch.setattr(second_opinion, "QUALITY", second_opinion.Weighing(5.0, 0.0))
    pairs = [*zip(german, english, strict=True), *zip(german, english[1:], strict=False)]
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    Path("pairs.tsv").write_text(text, encoding="utf-8")
    filters = config("quality.toml", {"name": "quality", "minimum": 0.4})
    options = ("--model", knowing_model, "--config", filters, "--scores-jsonl", "scores.jsonl")
    code, _, err = miner("filter", "pairs.tsv", *options, "-o", "kept.tsv")
    assert code == 0 and "second opinion" not in err
    alone = Path("scores.jsonl").read_text(encoding="utf-8").splitlines()
    more = ("--second", knowing_model, "--rejected", "bad.tsv")
    code, _, err = miner("filter", "pairs.tsv", *options, *more, "-o", "kept.tsv")
    assert code == 0 and "second opinion: " in err
    scores = Path("scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert scores != alone and len(scores) == len(pairs)
    kept = Path("kept.tsv").read_text(encoding="utf-8").splitlines()
    assert len(kept) == sum(json.loads(line)["quality"] >= 0.4 for line in scores) > 0
    code, _, err = miner("filter", "pairs.tsv", *options, "--second", "hf:gone/gone")
    assert code == 1 and "gone/gone" in err and "Traceback" not in err
