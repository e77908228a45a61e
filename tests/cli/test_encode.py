"""``miner encode``: one row per line, complete output or none, bounded memory."""

from pathlib import Path

import numpy as np
import pytest
from support.commands import MINER, Done, Miner, fault, many, miner, only, write  # noqa: F401 (fixtures)

from miner.index.index import Index
from miner.index.vectors import open_vectors


def encode(miner: Miner, *arguments: object) -> Done:
    return miner("encode", *arguments, "--model", miner.model, "--threads", 2)


@pytest.fixture
def holes(german: list[str]) -> Path:
    """Write a file with empty, blank and unknown lines, the last one included."""
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


@pytest.mark.parametrize("output", ["-", "v", "v.txt", "v.npy.gz", "v.raw"])
def test_other_suffixes(miner: Miner, german_file: Path, output: str) -> None:
    done = encode(miner, german_file, "-o", output)
    assert done.code == 2 and ".npy, .h5, .hdf5" in done.err
    assert miner.entries() == []


def test_a_gpu_that_is_not_there(miner, german_file, monkeypatch):
    monkeypatch.setattr("miner.libraries.DRIVERS", ())
    only(encode(miner, german_file, "-o", "v.npy", "--device", "cuda"), "--device cuda")
    only(miner.index(german_file, "out", "--device", "cuda"), "--device cuda")
    assert encode(miner, german_file, "-o", "v.npy", "--device", "auto").code == 0
