"""Bad input on the command line: one helpful line, an exit code, and no leftover files."""

import sys
from functools import partial
from pathlib import Path

import pytest
from support.commands import Done, Miner, fault, miner, only, ready, write  # noqa: F401 (fixtures)

from miner.knn import gpu_check
from miner.knn.gpu_check import Trial


@pytest.mark.parametrize("command", ["index", "mine"])
@pytest.mark.parametrize("bad", ["latin1.txt", "missing.txt", "directory"])
def test_text_that_cannot_be_read(miner, german_file, command, bad):
    Path("directory").mkdir()
    Path("latin1.txt").write_bytes("gut\nschön\n".encode("latin-1"))
    before = miner.entries()
    if command == "index":
        only(miner.index(bad, "out"), bad)
    else:
        fault(miner.mine(german_file, bad, "-o", "out.tsv"), bad)
    assert miner.entries() == before
    if bad == "latin1.txt":
        only(miner.index(bad, "out"), "line 2", "--on-error")
        assert miner.index(bad, "out", "--on-error", "skip").code == 0


def test_indexes_of_two_models(ready: Miner, other_model: Path, english_file: Path) -> None:
    ready.model = other_model
    assert ready.index(english_file, "other").code == 0
    only(ready.search("de", "other", "-o", "out.tsv"), "de", "other", "tiny", "index both")
    only(ready.index(english_file, "de", "--add"), "tiny", "other")
    assert "out.tsv" not in ready.entries()


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "no-such-command",
        "search de en --no-such-option",
        "search de en -k 0",
        "search de en -k 40000",
        "search de en --margin best",
        "search de en --retrieval best",
        "search de en --threshold nan",
        "evaluate mined a b --threshold nan",
        "align-documents de en --unaligned -o out",
        "index a --embeddings v.npy --model m -o out",
        "index a --dim 5 -o out",
        "index a --add --index SQ8 -o de",
        "search de en --top-n -1",
        "search de en --memory much",
        "search de en --device tpu",
        "search de en --bucc -o out.parquet",
        "mine - - -o out.tsv",
        "mine de/sentences.txt en/sentences.txt --bucc -o out.parquet",
        "index -o out",
        "index de/sentences.txt",
        "index a b --embeddings v.npy -o out",
        "index a b --add --embeddings v.npy -o de",
    ],
)
def test_wrong_usage(ready: Miner, arguments: str) -> None:
    before = ready.entries()
    done = ready(*arguments.split())
    assert done.code == 2 and done.out == ""
    assert "Traceback" not in done.err and "Usage: miner" in done.err
    assert ready.entries() == before


def test_k_above_the_corpus(ready: Miner) -> None:
    done = ready.search("de", "en", "-k", 32767, "--memory", "64M")
    assert done.code == 0
    assert len(done.out.splitlines()) > 50


@pytest.mark.parametrize("keep", [("--threshold", 0), ("--rank", "probability")])
@pytest.mark.parametrize("content", ["", "\n \n\n"])
def test_corpora_without_sentences(
    miner: Miner, german_file: Path, verifying_model: Path, content: str, keep: tuple[str, object]
) -> None:
    Path("empty").write_text(content)
    for pair in (("empty", german_file), (german_file, "empty"), ("empty", "empty")):
        done = miner.mine(*pair, *keep, "--model", verifying_model, "-o", "out.tsv")
        assert done.code == 0
        assert Path("out.tsv").read_bytes() == b""
        (warning,) = [line for line in done.err.splitlines() if line.startswith("warning")]
        assert "nothing was mined" in warning and "holds no sentence" in warning


def test_a_corpus_in_another_script(miner: Miner, german_file: Path) -> None:
    write("other", "日本", "привет")
    done = miner.mine("other", german_file, "--threshold", 0)
    assert (done.code, done.out) == (0, "")
    assert "the model knows no token" in done.err.splitlines()[-1]


def test_a_threshold_that_keeps_nothing(ready: Miner) -> None:
    done = ready.search("de", "en", "--threshold", 1e6, "-o", "out.tsv")
    assert done.code == 0 and Path("out.tsv").read_bytes() == b""
    assert "warning: nothing was mined: the best score is" in done.err
    assert "1000000.0" in done.err.splitlines()[-1]


def test_the_table_keeps_what_it_says(ready: Miner) -> None:
    table = [line.split() for line in ready.search("de", "en", "-o", "all").err.splitlines()]
    rows = [row for row in table if len(row) == 2 and row[1].isdecimal()]
    assert len(rows) >= 3
    for threshold, count in rows:
        kept = ready.search("de", "en", "--threshold", threshold).out
        assert len(kept.splitlines()) == int(count)


@pytest.mark.parametrize("command", ["index", "mine"])
def test_columns_that_are_read_as_sentences_are_doubted(miner: Miner, command: str) -> None:
    """BUCC files read as plain text would have ids and tabs in every sentence."""
    bucc = write("bucc", *(f"de-{number}\tDer Hund bellt {number}." for number in range(9)))
    plain = write("plain", "Der Hund\tbellt.", *(f"Der Hund bellt {n}." for n in range(9)))
    for text, warned in ((bucc, True), (plain, False)):
        more = [f"{text}.index"] if command == "index" else [plain]
        done = getattr(miner, command)(text, *more)
        assert (f"{text}: every line has a tab" in done.err) == warned
    done = miner.index(bucc, "columns", "--format", "bucc")
    assert done.code == 0 and "tab" not in done.err


def test_a_column_of_ids_is_no_text(miner: Miner, german: list[str], english: list[str]) -> None:
    sides = [
        write(f"{code}.tsv", *(f"{code}-{i}\t{line}" for i, line in enumerate(lines)))
        for code, lines in (("de", german), ("en", english))
    ]
    done = miner.mine(*sides)
    assert done.code == 2 and "de.tsv: column 1 of 2 has ids" in done.err
    assert "--column 2?" in done.err
    assert miner.mine(*sides, "--column", 2).code == 0
    assert miner.mine(*sides, "--column", 1).code == 0, "asked for"


def test_ids_that_repeat_are_told(miner: Miner, german: list[str], english: list[str]) -> None:
    sides = [
        write(f"{code}.bucc", *(f"{code} {min(i, most)}\t{line}" for i, line in enumerate(lines)))
        for code, lines, most in (("de", german, 40), ("en", english, 99))
    ]
    done = miner.mine(*sides, "--format", "bucc", "--bucc", "--threshold", 0)
    [warning] = [line for line in done.err.splitlines() if "repeats" in line]
    assert "de.bucc: the id 'de 40' repeats, on lines 41, 42, 43 and " in warning
    assert "repeats" not in miner.mine(*sides, "--format", "bucc", "--threshold", 0).err


def test_scores_before_texts(miner: Miner, german: list[str]) -> None:
    """As mining writes them: the first column is a score, not text."""
    scored = write("pairs.tsv", *(f"0.{9 - i}\t{german[i]}\tA dog {i}." for i in range(5)))
    score = partial(miner, "score", scored, "--score", "length")
    only(score(), "pairs.tsv, line 1: begins with a number", "--scol 2 --tcol 3")
    assert score("--scol", 2, "--tcol", 3).code == 0
    assert score("--scol", 1, "--tcol", 2).code == 0, "asked for"


def test_a_line_that_is_no_sentence(miner: Miner, german: list[str], english: list[str]) -> None:
    source = write("de", *german[:20], "Der Hund schläft. " * 9000, "", *german[20:])
    target = write("en", *english, "The dog sleeps. " * 9000, "A cat. " * 1500)
    done = miner.mine(source, target)
    assert done.code == 0
    assert "warning: de, line 21: 162,000 characters; a sentence is compared by" in done.err
    assert "warning: en, line 61: 144,000 characters, and 1 other long lines; a" in done.err


def test_parquet_is_refused_before_any_work(
    miner: Miner, german_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = miner.mine(german_file, german_file, "-o", "pairs.parquet")
    only(done, "pairs.parquet: writing Parquet needs pyarrow", "bitext-miner[parquet]")


def test_the_doctor_knows_extras(miner: Miner, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["pyarrow>=15; extra == 'parquet'", "missing; extra == 'hf'", "numpy; extra == 'hf'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ["numpy>=2", *lines])
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("miner.libraries.pip", lambda: "pip")
    out = miner("doctor").out.splitlines()
    assert "extras         parquet" in out
    assert 'not installed  hf: pip install "bitext-miner[NAME]"' in out


def test_the_doctor_warns_of_a_python_that_was_not_tested(
    miner: Miner, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tested with Python" not in miner("doctor").out
    monkeypatch.setattr("platform.python_version_tuple", lambda: ("3", "99", "0"))
    done = miner("doctor")
    assert done.code == 0 and "warning: tested with Python 3.11" in done.out


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ({}, ["neither torch nor FAISS sees a GPU here"]),
        (
            {"torch": Trial("torch", 1.25e10), "faiss": Trial("faiss", fault="ended by SIGABRT")},
            ["torch: right, 1.2e+10 pairs a second", "faiss: ended by SIGABRT"],
        ),
    ],
)
def test_the_doctor_tries_gpus(miner: Miner, monkeypatch, trials, said) -> None:
    monkeypatch.setattr(gpu_check, "usable_engines", lambda device: [*trials])
    monkeypatch.setattr(gpu_check, "try_engine", lambda name, *rest: trials[name])
    done = miner("doctor", "--gpu")
    found = [line[15:] for line in done.out.splitlines() if line.startswith("GPU check")]
    assert done.code == 0 and found == said
    assert "GPU check" not in miner("doctor").out


def test_the_doctor_needs_no_faiss(miner: Miner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mining works without FAISS; only a broken installation is a fault."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr("miner.index.faiss.faiss_distributions", lambda: [])
    done = miner("doctor")
    assert done.code == 0 and "GPUs           none usable without FAISS" in done.out, done.err
    assert done.out.splitlines()[-1].startswith("all is well")
    monkeypatch.setattr("miner.index.faiss.faiss_distributions", lambda: ["faiss-cpu"])
    broken = miner("doctor")
    assert broken.code == 1 and "FAISS is not usable" in broken.err
