"""``miner encode``: one row for every line, complete output or none, bounded memory."""

from pathlib import Path

import numpy as np
import pytest
from support.commands import MINER, Done, Miner, fault, many, miner, only, small_disk, write  # noqa: F401 (fixtures)

from miner import device
from miner.encoder.encoder import CHUNK
from miner.index.index import Index
from miner.index.vectors import open_vectors


def encode(miner: Miner, *arguments: object) -> Done:
    return miner("encode", *arguments, "--model", miner.model, "--threads", 2)


@pytest.fixture
def holes(german: list[str]) -> Path:
    """Write a file with empty, blank and unknown lines, also at its end."""
    return write("holes.de", "", german[0], " \t ", "日本", *german[1:40], "", "", *german, "", "")


@pytest.mark.parametrize("output", ["v.npy", "v.h5", "v.hdf5"])
@pytest.mark.parametrize("dtype", [None, "float16", "float32"])
def test_a_row_for_every_line(miner, encoder, holes, output, dtype):
    done = encode(miner, holes, "-o", output, *(["--dtype", dtype] if dtype else []))
    assert (done.code, done.out) == (0, "")
    lines = holes.read_text(encoding="utf-8").split("\n")[:-1]
    assert done.err == (
        f"{output}: {len(lines)} vectors of 32 dimensions, 6 empty, "
        "1 without a piece that the model knows\n"
    )
    found = open_vectors(output)
    assert isinstance(found, np.memmap) and found.dtype == (dtype or "float16")
    np.testing.assert_array_equal(found, encoder.encode(lines).astype(found.dtype))
    assert miner.entries() == ["holes.de", output]


@pytest.mark.parametrize("output", ["v.npy", "v.h5"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("factory", ["flat", "SQ8"])
def test_an_index_of_these_vectors_is_that_of_the_text(miner, holes, output, dtype, factory):
    assert encode(miner, holes, "-o", output, "--dtype", dtype).code == 0
    assert miner("index", holes, "--embeddings", output, "-o", "a", "--index", factory).code == 0
    assert miner.index(holes, "b", "--index", factory).code == 0
    a, b = Index.open("a"), Index.open("b")
    for name in ("vectors", "line", "first", "offset"):
        np.testing.assert_array_equal(getattr(a.store, name), getattr(b.store, name))
    assert a.distinct == b.distinct


def test_several_files_one_after_the_other(miner, encoder, german_file, english_file, holes):
    assert encode(miner, german_file, holes, english_file, "-o", "v.npy").code == 0
    parts = [german_file, holes, english_file]
    lines = [line for part in parts for line in part.read_text("utf-8").split("\n")[:-1]]
    np.testing.assert_array_equal(open_vectors("v.npy"), encoder.encode(lines).astype(np.float16))


@pytest.mark.parametrize("output", ["v.npy", "v.h5"])
def test_a_corpus_without_lines(miner: Miner, output: str) -> None:
    Path("empty").touch()
    assert encode(miner, "empty", "-o", output).code == 0
    assert open_vectors(output).shape == (0, 32)
    assert miner("index", "empty", "--embeddings", output, "-o", "i").code == 0


@pytest.mark.parametrize("output", ["-", "v", "v.txt", "v.npy.gz", "v.raw"])
def test_other_suffixes(miner: Miner, german_file: Path, output: str) -> None:
    done = encode(miner, german_file, "-o", output)
    assert done.code == 2 and ".npy, .h5, .hdf5" in done.err
    assert miner.entries() == []


@pytest.mark.parametrize("output", ["v.npy", "v.h5"])
def test_text_that_cannot_be_read(miner: Miner, german_file: Path, output: str) -> None:
    Path(output).write_text("older")
    only(encode(miner, "missing", "-o", output), "missing")
    Path("latin1").write_bytes(b"gut\n" * (3 * CHUNK) + "schön\n".encode("latin-1"))
    fault(encode(miner, german_file, "latin1", "-o", output), "latin1", f"line {3 * CHUNK + 1}")
    skipped = encode(miner, "latin1", "-o", f"all-{output}", "--on-error", "skip")
    assert skipped.code == 0 and "1 not UTF-8 and left out" in skipped.err
    Path(f"all-{output}").unlink()
    assert Path(output).read_text() == "older"
    assert miner.entries() == ["latin1", output]


@pytest.mark.parametrize("output", ["v.npy", "v.h5"])
def test_places_that_cannot_be_written(miner: Miner, german_file: Path, output: str) -> None:
    fault(encode(miner, german_file, "-o", f"no/{output}"), f"no/{output}", "no such directory")
    Path(output).mkdir()
    fault(encode(miner, german_file, "-o", output), output, "it is a directory")
    assert miner.entries() == [output]


def test_a_gpu_that_is_not_there(miner, german_file, monkeypatch):
    monkeypatch.setattr(device, "DRIVERS", ())
    only(encode(miner, german_file, "-o", "v.npy", "--device", "cuda"), "--device cuda")
    only(miner.index(german_file, "out", "--device", "cuda"), "--device cuda")
    assert encode(miner, german_file, "-o", "v.npy", "--device", "auto").code == 0


@pytest.mark.parametrize("output", ["v.npy", "v.h5"])
def test_no_space(miner: Miner, small_disk: Path, output: str, german_file: Path) -> None:
    corpus = many(miner.place / "corpus", 5000)
    place = small_disk / output
    arguments = ["encode", corpus, "--model", miner.model, "-o", place]
    only(miner.elsewhere(*arguments), place, "no space left")
    assert [path.name for path in small_disk.iterdir()] == [f"{output}.work"]
    assert encode(miner, german_file, "-o", place).code == 0, "a smaller one fits"
