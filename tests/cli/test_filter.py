"""miner filter: from the command to the files.

The tests share a model, a noisy text and a command, so that nearly 500 lines stay together. Runs
that are stopped are in test_filter_stopped.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from support.cleaning import given_scores, toml
from support.commands import MINER
from support.raw_lines import lines_of, put

from miner.cleaning import worker
from miner.cli.filter import Count
from miner.text.rows import Rows


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def filters():
    with given_scores():
        yield


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
    """Pairs, mismatched pairs, duplicates and an empty line, each with an id and a note."""
    pairs = list(zip(german, english, strict=True))
    pairs += zip(german[:30], english[7:37], strict=True)
    lines = [f"{i}\t{s}\t{t}\tnote {i}" for i, (s, t) in enumerate(pairs + pairs[:20])]
    return put(Path("noisy.tsv"), "".join(f"{line}\n" for line in [*lines, ""]).encode())


COLUMNS = ("--scol", 2, "--tcol", 3)


@pytest.fixture
def clean(miner, knowing_model: Path):
    """Run the command with the small model and the rules above; return its two outputs."""

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


# --- results ------------------------------------------------------------------------------------


def test_every_row_is_kept_or_rejected(clean, noisy: Path, place: Path) -> None:
    out, err = clean(noisy, *COLUMNS, "-o", "kept.tsv", "--rejected", "bad.tsv",
                     "--report", "report.json", "--scores-jsonl", "scores.jsonl")  # fmt: skip
    assert out == "" and err.startswith("111 rows: ")
    kept, bad = read("kept.tsv"), read("bad.tsv")
    stripped = [line.rsplit(b"\t", 2)[0] for line in bad]
    assert sorted(kept + stripped) == sorted(lines_of(noisy.read_bytes()))
    places = {line: row for row, line in enumerate(lines_of(noisy.read_bytes()))}
    for lines in (kept, stripped):
        assert [places[line] for line in lines] == sorted(places[line] for line in lines)
    reasons = {line.rsplit(b"\t", 2)[1].decode() for line in bad}
    assert reasons == {"length", "quality", "duplicates"} and 45 < len(kept) < 70
    report = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert report["rows"] == 111 and report["kept"] == len(kept)
    assert [stage["label"] for stage in report["filters"]] == ["length", "quality", "duplicates"]
    scores = [json.loads(line) for line in read("scores.jsonl")]
    assert len(scores) == 111 and all(0 <= one["quality"] <= 1 for one in scores)
    assert sorted(os.listdir()) == [
        "bad.tsv", "kept.tsv", "noisy.tsv", "report.json", "rules.toml", "scores.jsonl"
    ]  # fmt: skip


def test_all_inputs_and_outputs_agree(clean, noisy: Path, monkeypatch) -> None:
    clean(noisy, *COLUMNS, "-o", "plain.tsv")
    expected = [tuple(line.split(b"\t")[1:3]) for line in read("plain.tsv")]
    rows = [line.split(b"\t") + [b""] * 3 for line in lines_of(noisy.read_bytes())]
    lines = [b"\t".join(row[1:3]) for row in rows]
    two = put(Path("two.tsv"), b"\n".join(lines))  # without a last newline
    sides = [
        put(Path(f"two.{side}"), b"".join(row[1 + side] + b"\r\n" for row in rows))
        for side in range(2)
    ]
    joined = [b"\t".join(pair) for pair in expected]
    for suffix in (".gz", ".bz2", ".xz", ".zst"):
        clean(put(Path(f"two.tsv{suffix}"), two.read_bytes()), "-o", f"out.tsv{suffix}")
        rows_out = [block.raw for block in Rows(f"out.tsv{suffix}").blocks(999)]
        assert [line for raw in rows_out for (line,) in raw] == joined
    out, _ = clean("--source", sides[0], "--target", sides[1])
    assert out.encode().split(b"\n")[:-1] == joined
    clean("--source", sides[0], "--target", sides[1], "-o", "out.0", "out.1")
    assert list(zip(read("out.0"), read("out.1"), strict=True)) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(two.read_bytes())))
    out, _ = clean("-", "-o", "-")
    assert out.encode().split(b"\n")[:-1] == joined
    os.mkfifo("pipe")
    threading.Thread(target=Path("pipe").write_bytes, args=[two.read_bytes()], daemon=True).start()
    out, _ = clean("pipe")
    assert out.encode().split(b"\n")[:-1] == joined
    named = put(Path("named.tsv"), b"\xef\xbb\xbfde\ten\n" + two.read_bytes())
    clean(named, "--header", "--scol", "de", "--tcol", "en", "-o", "out.tsv", "--rejected", "bad")
    assert read("out.tsv") == [b"de\ten", *joined] and read("bad")[0] == b"de\ten\tfilter\tvalue"
    json_lines = [
        json.dumps({"id": 1e5, "target": t.decode(), "source": s.decode()}).encode()
        for s, t in (line.split(b"\t") for line in lines)
    ]
    clean(put(Path("a.jsonl"), b"\n".join(json_lines)), "-o", "out.jsonl")
    assert read("out.jsonl") == [json_lines[lines.index(line)] for line in joined]
    assert not [name for name in os.listdir() if "checkpoint" in name or "partial" in name]


def test_texts_of_no_rows(clean, miner) -> None:
    put(Path("empty.tsv"), b"")
    put(Path("head.tsv"), b"a\tb\n")
    for name, more in (
        ("empty.tsv", ()),
        ("head.tsv", ("--header",)),
        ("empty.tsv", ("--header",)),
    ):
        _, err = clean(name, *more, "-o", "out.tsv", "--rejected", "bad.tsv", "--top-n", 5)
        assert err.startswith("0 rows: 0 kept (-)") and "warning" not in err
        assert Path("out.tsv").read_bytes() == (b"a\tb\n" if name == "head.tsv" else b"")
    clean("--source", "empty.tsv", "--target", "empty.tsv", "--format", "plain", "-o", "x", "y")
    assert Path("y").read_bytes() == b""


def test_nothing_kept_is_warned_of(clean) -> None:
    put(Path("a.tsv"), b"\n\n")
    out, err = clean("a.tsv")
    assert out == "" and "warning: nothing is kept; length removed most" in err


@pytest.mark.parametrize("on_error", ["fail", "replace", "skip"])
def test_bytes_that_are_not_utf_8(miner, on_error: str) -> None:
    put(Path("a.tsv"), b"gut\tgood\nx\tgr\xfcn\nja\tyes\n")
    rules = config("rules.toml", {"name": "length"})
    code, _, err = miner("filter", "a.tsv", "--config", rules, "--on-error", on_error, "-o", "out",
                         "--rejected", "bad", "--threads", 1)  # fmt: skip
    if on_error == "fail":
        assert code == 1 and err.startswith("miner: error: a.tsv, line 2, byte offset 4: 0xFC")
        assert err.count("\n") == 1 and sorted(os.listdir()) == ["a.tsv", "rules.toml"]
        return
    assert code == 0
    middle = [] if on_error == "skip" else ["x\tgr\ufffdn".encode()]
    assert read("out") == [b"gut\tgood", *middle, b"ja\tyes"]
    assert read("bad") == ([b"x\tgr\xfcn\tunreadable\t1"] if on_error == "skip" else [])
    assert ("1 rows had bytes that are not UTF-8 replaced" in err) == (on_error == "replace")


# --- the best -----------------------------------------------------------------------------------


@pytest.fixture
def ranked() -> Path:
    """Write 200 rows with 0 to 4 words and two scores, many of them equal."""
    generator = np.random.default_rng(9)
    scores = generator.integers(0, 21, (200, 2)) / 20
    words = generator.integers(0, 5, 200).tolist()
    lines = [
        f"s{i}\t{' '.join('w' * n)}\t{a}\t{b}"
        for i, (n, (a, b)) in enumerate(zip(words, scores.tolist(), strict=True))
    ]
    return put(Path("ranked.tsv"), "".join(f"{line}\n" for line in lines).encode())


RANKED = ({"name": "good", "column": 3, "minimum": 0.1}, {"name": "expensive", "column": 4})


def best(path: Path, column: int, sign: int) -> list[list[str]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    left = [row for row in rows if float(row[2]) >= 0.1]
    return sorted(left, key=lambda row: -sign * float(row[column]))  # stable


@pytest.mark.parametrize(("rank", "column", "sign"), [("good", 2, 1), ("expensive", 3, -1)])
def test_the_best_are_kept(clean, ranked: Path, rank, column, sign) -> None:
    def kept(*arguments: object) -> set[str]:
        out, _ = clean(ranked, *arguments, rules=RANKED, rank=rank)
        return {line.split("\t")[0] for line in out.split("\n")[:-1]}

    order = best(ranked, column, sign)
    words = np.cumsum([len(row[1].split()) for row in order])
    for n in (0, 1, 37, 1000):
        assert kept("--top-n", n) == {row[0] for row in order[:n]}
    for n in (0, 3, 100, "1k"):
        many = 10**3 if n == "1k" else int(n)
        assert kept("--target-words", n) == {
            row[0] for row, total in zip(order, words, strict=True) if total <= many
        }
    for bound in (0.5, 0.95, 0.1):
        good = [row[0] for row in order if sign * float(row[column]) >= sign * bound]
        assert kept("--threshold", bound) == set(good)
        assert kept("--threshold", bound, "--top-n", 20) == set(good[:20])
    both = {row[0] for row, total in zip(order[:30], words, strict=False) if total <= 40}
    assert kept("--top-n", 30, "--target-words", 40) == both


def test_a_share_of_good_ones(clean, noisy: Path) -> None:
    quality = ({"name": "quality", "minimum": 0.0},)
    clean(noisy, *COLUMNS, "-o", "all", "--scores-jsonl", "scores", rules=quality)
    values = [json.loads(line)["quality"] for line in read("scores")]
    order = sorted(range(len(values)), key=lambda row: (-values[row], row))
    for share in (0.7, 0.5, 0.9999):
        _, err = clean(noisy, *COLUMNS, "-o", "out", "--target-precision", share, rules=quality)
        means = np.cumsum([values[row] for row in order]) / np.arange(1, len(values) + 1)
        count = int((means >= share).sum())
        assert len(read("out")) == pytest.approx(count, abs=1)  # means of rounded scores
        assert "target-precision" in err
    # Ranked by a cosine, named in the configuration.
    cosine = ({"name": "cosine"}, {"name": "duplicates"})
    clean(noisy, *COLUMNS, "-o", "out", "--top-n", 10, "--scores-jsonl", "s", rules=cosine,
          rank="cosine")  # fmt: skip
    values = [json.loads(line)["cosine"] for line in read("s")]
    assert len(read("out")) == 10
    least = sorted(values, reverse=True)
    first = read("out")[0].split(b"\t")[0]
    assert values[int(first)] >= least[40]


def test_counts() -> None:
    for text, number in (
        ("5000", 5000), ("200k", 200_000), ("5M", 5_000_000), ("1.5k", 1500), ("2g", 2 * 10**9),
        ("0", 0), (" 7 ", 7), ("1e3", 1000),
    ):  # fmt: skip
        assert Count().convert(text, None, None) == number
    for text in ("", "k", "-1", "1.5", "nan", "inf", "5X", "1e30"):
        with pytest.raises(Exception, match="is not a count"):
            Count().convert(text, None, None)


# --- trying -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["0", "1", "40", "1k"])
def test_a_dry_run_writes_nothing(clean, noisy: Path, size: str) -> None:
    before = noisy.read_bytes()
    out, err = clean(noisy, *COLUMNS, "--dry-run", size, "-o", "out.tsv", "--report", "r.json")
    rows = min(111, {"1k": 1000}.get(size) or int(size))
    assert out == "" and err.startswith(f"trying {rows} of 111 rows")
    assert f"\n{rows} rows: " in err
    assert sorted(os.listdir()) == ["noisy.tsv", "r.json", "rules.toml"]
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert report["rows"] == rows and noisy.read_bytes() == before
    assert report["filters"][1]["seen"] == rows  # expensive filters score all rows of a sample
    out, err = clean("--source", noisy, "--target", noisy, "--format", "plain", "--dry-run", size)
    assert out == "" and err.startswith(f"trying {rows} of 111 rows")
    assert f"\n{rows} rows: " in err


def test_a_dry_run_names_the_line_at_fault(miner) -> None:
    put(Path("a.tsv"), b"a\tb\n" * 99 + b"a\n")
    code, _, err = miner("filter", "a.tsv", "--config", config("c", {"name": "length"}),
                         "--dry-run", 5)  # fmt: skip
    assert code == 1 and err.startswith("miner: error: a.tsv, line 100: column 2")


def test_the_default_filters(miner, knowing_model, noisy: Path) -> None:
    code, _, err = miner("filter", noisy, *COLUMNS, "--model", knowing_model, "--threads", 1,
                         "-o", "out.tsv")  # fmt: skip
    assert code == 0 and err.startswith("without --source-lang and --target-lang, filters")
    few = [line.split()[0] for line in err.splitlines()[2:]]
    code, _, err = miner("filter", noisy, *COLUMNS, "--model", knowing_model, "--threads", 1,
                         "-o", "out.tsv", "--source-lang", "de", "--target-lang", "en")  # fmt: skip
    assert code == 0 and "languages" not in err
    more = [line.split()[0] for line in err.splitlines()[1:]]
    assert set(few) < set(more) and {"quality", "duplicates"} < set(few)


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give one BITEXT, or --source and --target"),
        (("a.tsv", "b.tsv"), "give one BITEXT"),
        (("a.tsv", "--source", "a.tsv"), "give either BITEXT"),
        (("--source", "a.tsv"), "give either BITEXT"),
        (("--source", "a.tsv", "--target", "a.tsv", "x"), "give the outputs as -o SOURCE TARGET"),
        (("a.tsv", "-o", "a.tsv"), "-o a.tsv would replace the input a.tsv"),
        (
            ("a.tsv", "-o", "./c.toml", "--config", "c.toml"),
            "-o ./c.toml would replace the input c.toml",
        ),
        (("a.tsv", "--rejected", "a.tsv"), "--rejected a.tsv would replace the input a.tsv"),
        (("a.tsv", "-o", "x", "--rejected", "./x"), "-o and --rejected are both ./x"),
        (("a.tsv", "-o", "x", "--scores-jsonl", "x"), "-o and --scores-jsonl are both x"),
        (("a.tsv", "--rejected", "-"), "- is given for two outputs"),
        (
            ("--source", "a.tsv", "--target", "a.tsv", "-o", "x", "x"),
            "-o and the second file of -o",
        ),
        (("a.tsv", "-o", "x", "--checkpoint", "x"), "-o and --checkpoint are both x"),
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
        (("a.tsv", "--rejected", "none/x"), "none/x: cannot be written: no such directory"),
        (("a.tsv", "--report", "none/x"), "none/x: cannot be written: no such directory"),
        (("a.tsv", "--config", "missing.toml"), "missing.toml: cannot be read: No such file"),
        (("a.tsv", "--model", "none"), "none"),
        (("a.tsv", "-o", "x", "--checkpoint", "taken"), "taken: exists and is not the checkpoint"),
        (("--source", "a.tsv", "--target", "b"), "a.tsv has 1 lines but b has 2"),
        (("b", "-o", "x"), "b, line 1: column 2 is asked for, 1 found"),
        (("cut.gz", "-o", "x"), "cut.gz: damaged after line"),
        (("a.tsv", "--scol", "de"), "a.tsv: column 'de' is a name"),
    ],
)
def test_faults(miner, knowing_model, arguments, words) -> None:
    put(Path("a.tsv"), b"a\tb\n")
    put(Path("b"), b"x\n\n")
    whole = put(Path("cut.gz"), b"".join(b"%x\t%x\n" % (i * i, i**3) for i in range(9000)))
    whole.write_bytes(whole.read_bytes()[:-9])
    Path("taken").mkdir()
    put(Path("taken/notes"), b"mine")
    before = sorted(os.listdir())
    model = () if "--model" in arguments else ("--model", knowing_model)
    code, out, err = miner("filter", *arguments, *model, "--threads", 1)
    lines = err.splitlines()
    assert (code, out) == (1, "") and words in lines[-1] and lines[-1].startswith("miner: error: ")
    assert len([line for line in lines if "languages" not in line]) == 1
    if words != "none":  # an error in the text or the command leaves no file
        assert sorted(os.listdir()) == before


def test_a_fault_in_a_process(miner, knowing_model) -> None:
    """An error in a worker process is reported as one of this process."""
    put(Path("a.tsv"), b"a\tb\tx\n" * 2500)
    code, _, err = miner(
        "filter", "a.tsv", "--config", config("c", {"name": "cost", "column": 3}), "--threads", 2,
        "-o", "out",
    )  # fmt: skip
    assert code == 1 and err.startswith("miner: error: column 3: 'x' is not a cost")
    assert err.count("\n") == 1 and sorted(os.listdir()) == ["a.tsv", "c"]


# --- checkpoints --------------------------------------------------------------------------------


def test_a_checkpoint_is_kept_where_it_is_asked_for(clean, noisy: Path, monkeypatch) -> None:
    expected, _ = clean(noisy, *COLUMNS)
    clean(noisy, *COLUMNS, "-o", "out", "--checkpoint", "deep/scores", "--scores-jsonl", "scores")
    assert Path("deep/scores/checkpoint.json").exists() and read("out") == read_text(expected)
    # Scores are reused: nothing may be scored again.
    monkeypatch.setattr(worker, "Scoring", None)
    values = [json.loads(line)["quality"] or 0 for line in read("scores")]
    bound = sorted(values)[-50]
    clean(noisy, *COLUMNS, "-o", "again", "--checkpoint", "deep/scores", "--threshold", bound)
    assert 0 < len(read("again")) < len(read("out"))
    assert Path("deep/scores/checkpoint.json").exists()


def read_text(text: str) -> list[bytes]:
    return text.encode().split(b"\n")[:-1]


def test_no_checkpoint_beside_a_device_or_a_pipe(clean, noisy: Path) -> None:
    os.mkfifo("pipe")
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.append(Path("pipe").read_bytes()))
    reader.start()
    clean(noisy, *COLUMNS, "-o", "pipe", "--rejected", "/dev/null", "--scores-jsonl", "/dev/null")
    reader.join(timeout=30)
    assert lines[0].count(b"\n") > 40 and not Path("pipe.checkpoint").exists()
    assert sorted(os.listdir()) == ["noisy.tsv", "pipe", "rules.toml"]


def test_a_run_that_fails_to_write_goes_on(clean, miner, knowing_model, noisy: Path) -> None:
    """The run fails at its last step; its scores are reused when it is repeated."""
    expected, _ = clean(noisy, *COLUMNS)
    Path("kept").mkdir()  # in the place of a file
    rules = config("rules.toml", *RULES)
    code, _, err = miner("filter", noisy, *COLUMNS, "--config", rules, "--model", knowing_model,
                         "--threads", 1, "-o", "kept", "--checkpoint", "scores")  # fmt: skip
    assert code == 1 and err.startswith("miner: error: kept: cannot be written: it is a directory")
    Path("kept").rmdir()
    clean(noisy, *COLUMNS, "-o", "kept", "--checkpoint", "scores")
    assert read("kept") == read_text(expected)


def test_a_run_that_is_killed_goes_on(clean, german, english, knowing_model, place) -> None:
    """A real kill, half-way through tens of thousands of rows in two processes."""
    generator = np.random.default_rng(2)
    rows = generator.integers(0, 60, (20_000, 2)).tolist()
    lines = [f"{german[i]} {n}\t{english[i if n % 3 else j]} {n}" for n, (i, j) in enumerate(rows)]
    put(place / "big.tsv", "".join(f"{line}\n" for line in lines).encode())
    rules = ({"name": "length", "maximum": 12}, {"name": "quality", "minimum": 0.5})
    clean("big.tsv", "-o", "whole", "--rejected", "whole.bad", rules=rules)
    words = f"filter big.tsv --config rules.toml --threads 2 --model {knowing_model} -o out"
    running = subprocess.Popen([*MINER, *words.split()], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in place.glob("out.checkpoint/model*.bin")):
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    running.kill()
    running.communicate()
    left = sorted(os.listdir())
    assert left == [
        ".out.checkpoint.lock", "big.tsv", "out.checkpoint", "rules.toml", "whole", "whole.bad"
    ]  # fmt: skip
    assert Path("out.checkpoint/local.sums").exists()
    done = sum(path.stat().st_size for path in place.glob("out.checkpoint/model*.bin"))
    assert 0 < done < 4 * 20_000
    _, err = clean("big.tsv", "-o", "out", "--rejected", "out.bad", rules=rules)
    assert "anew" not in err and 1000 < len(read("out")) < 19_000
    for name in ("", ".bad"):
        assert Path(f"out{name}").read_bytes() == Path(f"whole{name}").read_bytes()
    assert not Path("out.checkpoint").exists() and not Path(".out.checkpoint.lock").exists()


def test_counts_to_keep_are_scaled_in_a_dry_run(clean, noisy: Path) -> None:
    _, err = clean(noisy, *COLUMNS, "--dry-run", "40", "--top-n", "55")
    assert " 20 " in next(line for line in err.splitlines() if line.startswith("top-n"))


def test_a_directory_is_no_output(miner, noisy: Path) -> None:
    Path("there").mkdir()
    code, _, err = miner("filter", noisy, *COLUMNS, "-o", "there")
    assert code == 1 and "it is a directory" in err and not Path("there.checkpoint").exists()


def test_a_language_that_nobody_knows(miner, noisy: Path) -> None:
    pytest.importorskip("py3langid")
    options = (*COLUMNS, "--source-lang", "qaa", "--target-lang", "en", "--dry-run", "9")
    code, _, err = miner("filter", noisy, *options)
    assert (
        code == 0
        and "some filters do not know the language qaa" in err
        and "language en" not in err
    )
