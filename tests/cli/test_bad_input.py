"""Whatever comes in, through the command line: one line that helps, an exit code, and no debris."""

from __future__ import annotations

import errno
import gzip
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.commands import MINER, Done, Miner, fault, many, miner, only, small_disk, write  # noqa: F401 (fixtures)
from support.indexes import without_checksums

from miner.encoder import model as models
from miner.index import store
from miner.index.index import Index


@pytest.fixture
def ready(miner: Miner, indexes: tuple[Index, Index]) -> Miner:
    """With the indexes ``de`` and ``en``."""
    for index in indexes:
        shutil.copytree(index.path, miner.place / index.path.name)
    return miner


# --- text ---------------------------------------------------------------------------------------


def truncated(path: str) -> None:
    generator = random.Random(0)
    noise = "\n".join(f"{generator.getrandbits(400):x}" for _ in range(3000))
    data = gzip.compress(noise.encode())
    Path(path).write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("command", ["index", "mine"])
@pytest.mark.parametrize(
    "bad", ["truncated.gz", "latin1.txt", "missing.txt", "directory", "plain.gz", "empty.xz"]
)
def test_text_that_cannot_be_read(
    miner: Miner, german_file: Path, english_file: Path, command: str, bad: str
) -> None:
    if bad == "truncated.gz":
        truncated(bad)
    elif bad == "latin1.txt":
        Path(bad).write_bytes("gut\nschön\n".encode("latin-1"))
    elif bad == "directory":
        Path(bad).mkdir()
    elif bad == "plain.gz":
        shutil.copy(english_file, bad)
    elif bad == "empty.xz":
        Path(bad).touch()
    before = miner.entries()
    if command == "index":
        only(miner.index(bad, "out"), bad)
    else:
        fault(miner.mine(german_file, bad, "-o", "out.tsv"), bad)
    assert miner.entries() == before
    if bad == "latin1.txt":
        only(miner.index(bad, "out"), "line 2", "--on-error")
        assert miner.index(bad, "out", "--on-error", "skip").code == 0


def test_a_bucc_file_that_is_none(miner: Miner, german_file: Path) -> None:
    only(miner.index(german_file, "out", "--format", "bucc"), german_file, "line 1")
    assert miner.entries() == []


def test_a_second_bad_file_of_several(miner: Miner, german_file: Path) -> None:
    only(miner.index(german_file, "out", "missing"), "missing")
    assert miner.entries() == []


# --- models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["index", "mine"])
@pytest.mark.parametrize("bad", ["missing", "empty", "file", "index", "cut", "default"])
def test_a_model_that_is_none(
    ready: Miner, german_file: Path, command: str, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if bad == "empty":
        Path(bad).mkdir()
    elif bad == "file":
        write(bad, "text")
    elif bad == "index":
        Path("de").rename(bad)
    elif bad == "cut":
        shutil.copytree(ready.model, bad)
        os.truncate(f"{bad}/weights.npy", 1000)
    elif bad == "default":
        monkeypatch.setattr(models, "DEFAULT", ready.place / "default")
    ready.model = Path(bad)
    before = ready.entries()
    if command == "index":
        only(ready.index(german_file, "out"), bad, "weights.npy" if bad == "cut" else "")
    else:
        only(ready.mine(german_file, german_file, "-o", "out.tsv"), bad)
    assert ready.entries() == before


def test_indexes_of_two_models(ready: Miner, other_model: Path, english_file: Path) -> None:
    ready.model = other_model
    assert ready.index(english_file, "other").code == 0
    only(ready.search("de", "other", "-o", "out.tsv"), "de", "other", "tiny", "index both")
    only(ready.index(english_file, "de", "--add"), "tiny", "other")
    assert "out.tsv" not in ready.entries()


# --- indexes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["missing", "model", "embeddings.h5", "sentences.txt", "meta.json"])
def test_an_index_that_is_none(ready: Miner, bad: str) -> None:
    name = "de"
    if bad == "missing":
        name = "none"
    elif bad == "model":
        shutil.copytree(ready.model, "model")
        name = "model"
    else:
        os.truncate(f"de/{bad}", os.path.getsize(f"de/{bad}") // 2)
    corpus = write("corpus", "Der Hund bellt.")
    before = ready.entries()
    only(ready.search(name, "en", "-o", "out.tsv"), name, bad if name == "de" else "")
    only(ready.search("en", name, "-o", "out.tsv"), name)
    only(ready.index(corpus, name, "--add"), name)
    assert ready.entries() == before


def test_an_index_whose_text_was_altered(ready: Miner) -> None:
    path = Path("de/sentences.txt")
    path.write_bytes(b"\xff" + path.read_bytes()[1:])
    fault(ready.search("de", "en", "-o", "out.tsv"), "sentences.txt", "altered")
    without_checksums(Path("de"))
    fault(ready.search("de", "en", "-o", "out.tsv"), "sentences.txt", "damaged")
    assert not Path("out.tsv").exists()


def test_an_index_that_was_never_finished(ready: Miner) -> None:
    with h5py.File("de/embeddings.h5", "r+") as file:
        file.attrs["sealed"] = False
    only(ready.search("de", "en"), "de", "never finished")


def test_somebody_elses_directory(ready: Miner, german_file: Path) -> None:
    Path("thesis").mkdir()
    write("thesis/chapter1", "years of work")
    for more in ([], ["--overwrite"]):
        done = ready.index(german_file, "thesis", *more)
        assert done.code == 2 and "thesis exists and is not an index" in done.err
    assert Path("thesis/chapter1").read_text() == "years of work\n"


def test_the_working_directory(
    ready: Miner, german_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("de")
    only(ready.index(german_file, ".", "--add"), "working directory")
    monkeypatch.chdir("..")
    assert ready.search("de", "en").code == 0


def test_vectors_that_do_not_fit(miner: Miner, german_file: Path) -> None:
    def index(vectors: str, *more: object) -> Done:
        return miner("index", german_file, "-o", "out", "--embeddings", vectors, *more)

    np.save("v.npy", np.ones((59, 4), np.float32))
    only(index("v.npy"), "59 vectors", "60 lines")
    only(index("v.npy", "--dim", 5), "v.npy", "--dim")
    Path("v.raw").write_bytes(b"\0" * 60)
    only(index("v.raw"), "v.raw", "--dim")
    assert miner.entries() == ["v.npy", "v.raw"]


@pytest.mark.parametrize("factory", ["nonsense", "IVF100,Flat"])
def test_a_compressed_index_that_cannot_be(miner: Miner, german_file: Path, factory: str) -> None:
    fault(miner.index(german_file, "out", "--index", factory), f"--index {factory}")
    assert miner.entries() == []


# --- usage: exit code 2 -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "no-such-command",
        "search de",
        "search de en more",
        "search de en --no-such-option",
        "search de en -k 0",
        "search de en -k four",
        "search de en -k 40000",
        "search de en --margin best",
        "search de en --retrieval best",
        "search de en --threshold high",
        "search de en --threshold nan",
        "evaluate mined a b --threshold nan",
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
        "train -o out",
        "train --source a --source b --target c -o out",
    ],
)
def test_wrong_usage(ready: Miner, arguments: str) -> None:
    before = ready.entries()
    done = ready(*arguments.split())
    assert done.code == 2 and done.out == ""
    assert "Traceback" not in done.err and "Usage: miner" in done.err
    assert ready.entries() == before


# --- what looks bad and is not: exit code 0 -----------------------------------------------------


def test_k_above_the_corpus(ready: Miner) -> None:
    done = ready.search("de", "en", "-k", 32767, "--memory", "64M")
    assert done.code == 0
    assert len(done.out.splitlines()) > 50


@pytest.mark.parametrize("content", ["", "\n \n\n"])
def test_corpora_without_sentences(miner: Miner, german_file: Path, content: str) -> None:
    Path("empty").write_text(content)
    for pair in (("empty", german_file), (german_file, "empty"), ("empty", "empty")):
        done = miner.mine(*pair, "--threshold", 0, "-o", "out.tsv")
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


def test_a_model_without_threshold_keeps_all(
    miner: Miner, other_model: Path, german_file: Path
) -> None:
    miner.model = other_model
    done = miner.mine(german_file, german_file)
    assert done.code == 0 and len(done.out.splitlines()) == 60
    assert "threshold None" not in done.err


@pytest.mark.parametrize("margin", ["absolute", "distance"])
def test_the_models_threshold_is_of_the_ratio(
    miner: Miner, german_file: Path, english_file: Path, margin: str
) -> None:
    done = miner.mine(german_file, english_file, "--margin", margin)
    assert done.code == 0 and len(done.out.splitlines()) > 40


def test_the_models_threshold_is_of_its_settings(miner: Miner, german_file: Path) -> None:
    for more in (["-k", "5"], ["--retrieval", "forward"]):
        assert "the model's default" not in miner.mine(german_file, german_file, *more).err
    assert "the model's default" in miner.mine(german_file, german_file).err


def test_output_over_the_input(miner: Miner, german_file: Path) -> None:
    text = german_file.read_text(encoding="utf-8")
    Path("corpus").write_text(text, encoding="utf-8")
    done = miner.mine("corpus", german_file, "-o", "corpus")
    assert done.code == 2 and "would replace" in done.err
    assert Path("corpus").read_text(encoding="utf-8") == text


def test_the_table_keeps_what_it_says(ready: Miner) -> None:
    table = [line.split() for line in ready.search("de", "en", "-o", "all").err.splitlines()]
    rows = [row for row in table if len(row) == 2 and row[1].isdecimal()]
    assert len(rows) >= 3
    for threshold, count in rows:
        kept = ready.search("de", "en", "--threshold", threshold).out
        assert len(kept.splitlines()) == int(count)


def test_all_is_well(miner: Miner, german_file: Path, english_file: Path) -> None:
    """The paths above end here when nothing is wrong."""
    done = miner.mine(german_file, english_file, "--work", "work")
    assert done.code == 0
    written = [line.split("\t") for line in done.out.splitlines()]
    assert len(written) > 40 and all(float(score) >= 1.05 for score, _, _ in written)
    again = miner.search("work/source", "work/target", "--threshold", 1.05)
    assert again.out == done.out


# --- places to write ----------------------------------------------------------------------------


def test_output_to_a_missing_directory(ready: Miner) -> None:
    fault(ready.search("de", "en", "-o", "none/out.tsv"), "none/out.tsv", "mkdir")
    assert not Path("none").exists()


def test_output_that_is_a_directory(ready: Miner) -> None:
    done = ready.search("de", "en", "-o", "de")
    assert done.code == 2 and "would replace the input de" in done.err
    assert ready.search("de", "en").code == 0


def test_an_index_below_a_file(miner: Miner, german_file: Path) -> None:
    write("file", "text")
    only(miner.index(german_file, "file/out"), "file/out")
    assert miner.entries() == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("suffix", ["", ".parquet"])
def test_a_full_device(ready: Miner, suffix: str) -> None:
    name = "/dev/full"
    if suffix:
        pytest.importorskip("pyarrow")
        name = f"full{suffix}"
        Path(name).symlink_to("/dev/full")
    fault(ready.search("de", "en", "-o", name), name, "no space left")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_device_behind_standard_output(miner: Miner) -> None:
    scored, gold = write("scored", "1.5\ta\tb"), write("gold", "a\tb")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*MINER, "evaluate", "mined", scored, gold],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    fault(Done(done.returncode, "", done.stderr), "standard output", "no space left")


def test_an_error_of_a_file_without_a_name(miner: Miner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is to blame only if it cannot be written."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("miner.cli.cli.main", lambda **_: refuse())
    done = miner("doctor")
    only(done, "No space left on device", "TMPDIR")
    assert "standard output" not in done.err


@pytest.mark.parametrize("stream", ["<&-", ">&-"])
def test_a_closed_stream(miner: Miner, stream: str) -> None:
    command = shlex.join([*MINER, "mine", "-", "b"])
    done = subprocess.run(f"{command} {stream}", shell=True, capture_output=True, text=True)
    fault(Done(done.returncode, done.stdout, done.stderr), "closed")


def test_no_space_for_a_training(miner: Miner, small_disk: Path, german_file: Path) -> None:
    pytest.importorskip("torch")
    settings = ["--pieces", 60, "--dimension", 1024, "--epochs", 1]
    done = miner("train", "--source", german_file, "--target", german_file, *settings,
                 "-o", small_disk / "model")  # fmt: skip
    assert done.code == 1 and "no space left" in done.err.splitlines()[-1]
    assert "Traceback" not in done.err
    assert not (small_disk / "model").exists()


# 3000 lines overfill the small disk with vectors, 10,000 with text.
@pytest.mark.parametrize("lines", [3_000, 10_000])
def test_no_space_for_an_index(
    miner: Miner, small_disk: Path, lines: int, german_file: Path
) -> None:
    corpus = many(miner.place / "corpus", lines)
    arguments = ["index", corpus, "--model", miner.model, "-o", small_disk / "out"]
    done = subprocess.run(
        [*MINER, *map(str, arguments)], capture_output=True, text=True, cwd=miner.place
    )
    only(Done(done.returncode, done.stdout, done.stderr), small_disk / "out", "o space left")
    assert list(small_disk.iterdir()) == []
    assert miner.index(german_file, str(small_disk / "out")).code == 0, "a smaller one fits"


def test_no_space_for_pairs(ready: Miner, small_disk: Path) -> None:
    output = small_disk / "out.tsv"
    output.write_text("older")
    (small_disk / "filler").write_bytes(b"\0" * (252 << 10))
    fault(ready.search("de", "en", "-o", output), output, "no space left")
    assert output.read_text() == "older"
    assert sorted(entry.name for entry in small_disk.iterdir()) == ["filler", "out.tsv"]


@pytest.mark.parametrize("limit", [20_000, 100_000, 300_000])
def test_files_that_may_not_grow(miner: Miner, limit: int) -> None:
    """As above where nothing can be mounted: writes fail at a size, in text and in vectors."""
    resource = pytest.importorskip("resource")
    corpus = many(miner.place / "corpus", 4000)
    arguments = ["index", corpus, "--model", miner.model, "-o", "out"]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # its cache would meet the limit, too
    done = subprocess.run(
        [*MINER, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=miner.place,
        env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    only(Done(done.returncode, done.stdout, done.stderr), "out", "File too large")
    assert miner.entries() == ["corpus"]


# --- interruption: exit code 130 ----------------------------------------------------------------


def test_interrupted_while_indexing(miner: Miner) -> None:
    """A real Ctrl-C in the middle of a large file; then the same command again, to the end."""
    corpus = miner.place / "corpus"
    corpus.write_bytes(many(corpus, 2000).read_bytes() * 250)
    arguments = ["index", str(corpus), "--model", str(miner.model), "-o", "out"]
    running = subprocess.Popen(
        [*MINER, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=miner.place,
    )
    try:
        deadline = time.monotonic() + 60
        partial = miner.place / f".out.{running.pid}.partial" / store.EMBEDDINGS
        while not partial.exists():
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.005)
        # Python drops an interrupt that hits one of its weak reference callbacks, of which
        # opening a file has some; what comes next, comparing equal lines, takes a second.
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130, err
    assert out == "" and "Traceback" not in err
    assert err.strip() == "miner: interrupted; to go on, repeat: miner " + " ".join(arguments)
    assert miner.entries() == ["corpus"]
    many(corpus, 100)
    assert miner.index(corpus, "out").code == 0
    assert miner.entries() == ["corpus", "out"]


@pytest.mark.parametrize("command", ["index", "add", "mine", "search"])
def test_interrupted_at_the_last_moment(
    ready: Miner,
    command: str,
    german_file: Path,
    english_file: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    output = write("out.tsv", "older")
    before = ready.entries()
    with monkeypatch.context() as patch:
        if command == "search":
            patch.setattr(Index, "sentences", interrupt)
            done = ready.search("de", "en", "-o", output)
        elif command == "mine":
            patch.setattr(Index, "sentences", interrupt)
            done = ready.mine(german_file, english_file, "-o", output)
        else:
            patch.setattr(store.VectorWriter, "seal", interrupt)
            more = ["--add"] if command == "add" else ["--overwrite"]
            done = ready.index(english_file, "de", *more)
    assert (done.code, done.out) == (130, "")
    assert "interrupted; to go on, repeat: miner " in done.err.splitlines()[-1]
    assert ready.entries() == before and output.read_text() == "older\n"
    assert len(Index.open("de")) == 60
    assert ready.index(english_file, "de", "--add").code == 0
    assert len(Index.open("de")) == 120
    assert ready.search("de", "en", "-o", output).code == 0


@pytest.mark.parametrize("command", ["search de en --device cpu", "--help", "search --help"])
def test_a_reader_that_has_enough(ready: Miner, command: str) -> None:
    """``miner search … | head -n 1``: no failure, and nothing said."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*MINER, *command.split()],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ready.place,
        )
    finally:
        os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "roken" not in done.stderr


@pytest.mark.parametrize("also_output", [False, True])
def test_a_reader_of_messages_that_has_enough(miner: Miner, also_output: bool) -> None:
    """``miner filter … -o FILE 2>&1 | head``: messages come first, yet the file is written."""
    write("pairs.tsv", "Der Hund bellt.\tThe dog barks.")
    write("rules.toml", "[[filter]]", 'name = "duplicates"')
    reading, writing = os.pipe()
    os.close(reading)
    command = "filter pairs.tsv --config rules.toml --threads 1 -o out.tsv"
    try:
        done = subprocess.run(
            [*MINER, *command.split()],
            stdout=writing if also_output else subprocess.PIPE,
            stderr=writing,
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert Path("out.tsv").read_bytes() == Path("pairs.tsv").read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="needs named pipes")
def test_another_pipe_that_breaks(miner: Miner) -> None:
    """Exit code 0 is for a reader of standard output alone."""
    write("pairs.tsv", *["Der Hund bellt.\tThe dog barks."] * 20_000)
    write("rules.toml", "[[filter]]", 'name = "length"')
    os.mkfifo("pipe")
    command = ["filter", "pairs.tsv", "--config", "rules.toml", "--threads", "1", "-o", "pipe"]
    with subprocess.Popen(
        [*MINER, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        with open("pipe", "rb") as pipe:
            pipe.read(1)
        out, err = running.communicate(timeout=60)
    fault(Done(running.returncode, out, err), "a pipe broke")


def test_a_place_without_a_home(miner: Miner, german_file: Path) -> None:
    """Where neither the package nor the home can be written, compiled loops go elsewhere."""
    code = (
        "import os, pathlib; real = os.access;"
        "os.access = lambda path, mode: mode != os.W_OK and real(path, mode);"
        "os.environ.pop('NUMBA_CACHE_DIR', None);"
        "import miner.kernels; print(os.environ['NUMBA_CACHE_DIR'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    place = Path(done.stdout.strip())
    assert "miner-kernels-" in place.name and not place.exists(), "gone with the process"


@pytest.mark.parametrize("command", ["index", "mine"])
def test_columns_that_are_read_as_sentences_are_doubted(miner: Miner, command: str) -> None:
    """BUCC text without its format: ids and tabs would become part of every sentence."""
    bucc = write("bucc", *(f"de-{number}\tDer Hund bellt {number}." for number in range(9)))
    plain = write("plain", "Der Hund\tbellt.", *(f"Der Hund bellt {n}." for n in range(9)))
    for text, warned in ((bucc, True), (plain, False)):
        more = [f"{text}.index"] if command == "index" else [plain]
        done = getattr(miner, command)(text, *more)
        assert (f"{text}: every line has a tab" in done.err) == warned
    done = miner.index(bucc, "columns", "--format", "bucc")
    assert done.code == 0 and "tab" not in done.err
