"""miner.index.columns: rows are read as written, and only from a complete store."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.files import refused as refused_by

from miner.errors import ResourceError
from miner.index import columns
from miner.index.columns import EMBEDDINGS, IDS, Store, TextWriter, VectorWriter
from miner.index.sentence_file import SentenceFile
from miner.knn.vector_set import VectorSet
from miner.text.output import one_line
from miner.text.words import plain_form

DIMENSION = 4
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def vectors_for(n: int) -> np.ndarray:
    """Make distinct rows, exact in float16."""
    return (np.arange(n * DIMENSION).reshape(n, DIMENSION) + 1) / np.float32(1024)


def write(
    directory: Path,
    sentences: Sequence[str],
    ids: Sequence[str] | None = None,
    vectors: np.ndarray | None = None,
    block: int = 3,
) -> Store:
    directory.mkdir(exist_ok=True, parents=True)
    writer = TextWriter(directory)
    lines = np.arange(1, len(sentences) + 1)
    ids = ids or [str(line) for line in lines]
    for start in range(0, len(sentences), block):
        part = slice(start, start + block)
        writer.append(sentences[part], ids[part], lines[part], start % 2)
    assert writer.close(DIMENSION) == len(sentences)
    with VectorWriter(directory) as output:
        output.append(vectors_for(len(sentences)) if vectors is None else vectors)
    return Store(directory)


def ids_in(directory: Path) -> list[str]:
    store = Store(directory)
    return store.ids(np.arange(len(store)))


refused = partial(refused_by, ids_in)


@QUICK
@given(st.lists(TEXT, max_size=12), st.integers(1, 5))
def test_round_trip(tmp_path_factory, sentences, block):
    opened = write(tmp_path_factory.mktemp("store"), sentences, block=block)
    plain = list(map(one_line, sentences))
    assert len(opened) == len(opened.texts) == len(plain)
    assert [opened.texts[row] for row in range(len(plain))] == plain
    for start in range(len(plain)):
        assert opened.texts.slice(start, len(plain)) == plain[start:]
    np.testing.assert_array_equal(opened.line, np.arange(1, len(plain) + 1))
    np.testing.assert_array_equal(opened.file, np.arange(len(plain)) // block * block % 2)
    forms = [plain_form(text) for text in plain]
    np.testing.assert_array_equal(opened.first, [forms.index(form) for form in forms])
    np.testing.assert_array_equal(opened.vectors, vectors_for(len(plain)).astype(np.float16))


def test_datasets_are_mapped_read_only(tmp_path: Path) -> None:
    opened = write(tmp_path, ["a", "b"])
    for array in (opened.vectors, opened.offset, opened.line, opened.file, opened.first):
        assert isinstance(array, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert opened.vectors.dtype == np.float16


def test_sentences_may_hold_all_but_breaks(tmp_path: Path) -> None:
    odd = ["a\u2028b", "a\x0bb", "a\x85b", " a ", "\ufeff", "\0", "a\u00adb\u200c"]
    opened = write(tmp_path, odd)
    found = ["a b", "a b", "a b", " a ", "\ufeff", " ", "a\u00adb\u200c"]
    assert opened.texts.slice(0, len(odd)) == found
    same = [0, 0, 0, 3, 4, 4, 6]  # compared by plain form
    assert opened.first.tolist() == same


@pytest.mark.parametrize("content", [b"x\n\xff\n", b"x\n", b"", None])
def test_faulty_ids(tmp_path: Path, content: bytes | None) -> None:
    write(tmp_path, ["a", "b"], ["x", "y"])
    (tmp_path / IDS).unlink()
    if content is not None:
        (tmp_path / IDS).write_bytes(content)
    assert IDS in refused(tmp_path)


def test_ids_of_a_replaced_store_stay(tmp_path: Path) -> None:
    opened = write(tmp_path / "a", ["a", "b"], ["x1", "x2"])
    write(tmp_path / "b", ["a", "b"], ["y1", "y2"])
    os.replace(tmp_path / "b" / IDS, tmp_path / "a" / IDS)
    assert opened.ids(np.arange(2)) == ["x1", "x2"]


def test_distinct_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "BLOCK", 2)
    vectors = vectors_for(6)
    vectors[[3, 5]] = 0
    opened = write(tmp_path, ["a", "b", "a", "zero", "c", "b"], vectors=vectors)
    assert opened.distinct().tolist() == [0, 1, 4]


def test_missing_vectors_cannot_be_sealed(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path)
    writer.append(["a", "b"], ["1", "2"], np.array([1, 2]), 0)
    writer.close(DIMENSION)
    with pytest.raises(ValueError, match="1 vectors for 2"), VectorWriter(tmp_path) as output:
        output.append(vectors_for(1))
    assert "never finished" in refused(tmp_path)


@pytest.mark.parametrize("table", ["embeddings", "offset", "line", "file", "first"])
@pytest.mark.parametrize("damage", ["missing", "short", "chunked", "group"])
def test_a_damaged_table(tmp_path: Path, table: str, damage: str) -> None:
    write(tmp_path, ["a", "b", "c"])
    with h5py.File(tmp_path / EMBEDDINGS, "r+") as file:
        data = file[table][()]
        del file[table]
        if damage == "short":
            file[table] = data[:-1]
        elif damage == "chunked":
            file.create_dataset(table, data=data, chunks=True, compression="gzip")
        elif damage == "group":
            file.create_group(table)
    assert EMBEDDINGS in refused(tmp_path)


def test_texts_of_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    assert len(SentenceFile(tmp_path / "t", np.zeros(1, np.int64))) == 0


def test_more_rows_than_positions_are_refused(tmp_path, monkeypatch):
    """Positions are int32 in a search, and would overflow."""
    assert columns.MOST == 2**31 - 1
    opened = write(tmp_path / "five", list("abcde"))
    monkeypatch.setattr(columns, "MOST", 4)
    with pytest.raises(ResourceError, match="at most 4 sentences; split the corpus"):
        write(tmp_path / "more", list("abcde"))
    with pytest.raises(ResourceError, match="an index holds at most 4"):
        Store(tmp_path / "five")
    assert len(opened) == 5 and len(write(tmp_path / "four", list("abcd"))) == 4


def test_a_search_of_more_rows_than_positions_is_refused() -> None:
    rows = np.broadcast_to(np.int64(0), 2**31)  # a sparse file, which takes no memory
    assert len(VectorSet(np.zeros((1, 4), np.float16), rows[:-1])) == 2**31 - 1
    with pytest.raises(ResourceError, match="at most 2,147,483,647 sentences"):
        VectorSet(np.zeros((1, 4), np.float16), rows)
