"""miner_train.word_vectors: word vectors as text, and what can be wrong with them."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.errors import CorpusError
from miner_train import word_vectors
from miner_train.word_vectors import read_embeddings


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        "the 1 -2.5 3e-1\ncat 0 0.25 4\n",
        "2 3\nthe 1 -2.5 3e-1\ncat 0 0.25 4",  # word2vec, without a last line's end
        "2 3\r\nthe 1 -2.5 3e-1 \r\ncat 0 0.25 4 \r\n",  # fastText has a space before it
        "\ufeffthe 1 -2.5 .3\n\ncat +0 0.25 4.\n\n",
    ],
)
def test_kinds_of_files(content: str, tmp_path: Path) -> None:
    words, vectors = read_embeddings(put(tmp_path / "vectors.txt", content))
    assert words == ["the", "cat"]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.array([[1, -2.5, 0.3], [0, 0.25, 4]], np.float32))


def test_words_with_spaces_and_odd_bytes(tmp_path: Path) -> None:
    content = b". . . 1 2\nat a@b.c 3 4\n\xff\xfe 5 6\n12 7 8\n\xe3\x80\x80 9 10\nx\xc2\x85y 0 1\n"
    words, vectors = read_embeddings(put(tmp_path / "vectors.txt", content))
    assert words == [". . .", "at a@b.c", "\ufffd\ufffd", "12", "\u3000", "x\x85y"]
    assert vectors[:, 0].tolist() == [1, 3, 5, 7, 9, 0]
    # A header says how many numbers there are, so that a word may be one.
    words, vectors = read_embeddings(put(tmp_path / "vectors.txt", "1 2\n7 8 9\n"))
    assert (words, vectors.tolist()) == (["7"], [[8, 9]])


@pytest.mark.parametrize("block", [1, 2, 5])
def test_the_first_of_a_word_twice_counts(block, tmp_path, monkeypatch):
    monkeypatch.setattr(word_vectors, "BLOCK", block)
    path = put(tmp_path / "vectors.txt", "4 1\na 1\nb 2\na 3\nc 4\n")
    words, vectors = read_embeddings(path)
    assert (words, vectors.tolist()) == (["a", "b", "c"], [[1], [2], [4]])


@given(
    st.dictionaries(
        st.text("abc .é", min_size=1).map(str.strip).filter(bool),
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=4, max_size=4
        ),
        min_size=1,
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, vectors: dict) -> None:
    lines = [f"{word} {' '.join(map(repr, values))}\n" for word, values in vectors.items()]
    path = put(tmp_path_factory.getbasetemp() / "vectors.txt", f"{len(lines)} 4\n{''.join(lines)}")
    words, found = read_embeddings(path)
    assert words == list(vectors)
    np.testing.assert_array_equal(found, np.array(list(vectors.values()), dtype=np.float32))


def test_compressed(tmp_path: Path) -> None:
    content = b"the 1 2\ncat 3 4\n"
    for path in (
        put(tmp_path / "a.gz", gzip.compress(content)),
        put(tmp_path / "a.bz2", bz2.compress(content)),
    ):
        assert read_embeddings(path)[0] == ["the", "cat"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "no word vectors"),
        ("\n\n", "no word vectors"),
        ("0 3\n", "no word vectors"),
        ("word\n", "line 1: not a word and numbers"),
        ("2 0\na\nb\n", "line 1: not a word and numbers"),
        ("no numbers here\n", "line 1: not a word and numbers"),
        ("a 1 2\nb 1\n", "line 2: 1 numbers, 2 before it"),
        ("a 1 2\n\nb 1 2 3\n", "line 3: more than 2 numbers"),
        ("3 2\na 1 2\nb 1 2 3\nc 0 0\n", "line 3: more than 2 numbers"),
        ("a 1 2\nb 1 x\n", "line 2: 'x' is no finite number"),
        ("a 1 2\nb 1  2\n", "line 2: more than 2 numbers"),
        ("a 1 2\nb nan 2\n", "line 2: 'nan' is no finite number"),
        ("a 1 2\nb 1 -inf\n", "line 2: '-inf' is no finite number"),
        ("a 1 2\nb 1 1e39\n", "line 2: '1e39' is no finite number"),
        ("2 2\na 1 2\n", "1 word vectors, and its first line says 2"),
        ("1 2\na 1 2\nb 1 2\n", "2 word vectors, and its first line says 1"),
    ],
)
def test_files_that_are_none(content: str, what: str, tmp_path: Path) -> None:
    path = put(tmp_path / "vectors.txt", content)
    with pytest.raises(CorpusError) as caught:
        read_embeddings(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and what in message and "\n" not in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"word%d 1 2\n" % i for i in range(10_000)))
    with pytest.raises(CorpusError, match="damaged after line"):
        read_embeddings(put(tmp_path / "cut.gz", whole[: len(whole) // 2]))
    with pytest.raises(CorpusError, match="not compressed"):
        read_embeddings(put(tmp_path / "text.gz", "a 1 2\n"))
    with pytest.raises(CorpusError, match="no-such-file: cannot be read"):
        read_embeddings(tmp_path / "no-such-file")
