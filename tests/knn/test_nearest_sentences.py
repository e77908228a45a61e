"""miner.knn.nearest_sentences against its definition, and ``miner neighbors``."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import feed

from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.knn.nearest_sentences import Block, Neighbor, nearest

TEXT = """\
The train arrives at six.
Der Zug kommt um sechs Uhr an.

We are buying a house.
The train arrives at six.
The cat sleeps on the sofa.
The train arrives at six.
Trains are late again.
"""


@st.composite
def corpora(draw) -> tuple[Block, np.ndarray]:
    """Draw a block of vectors with many duplicates, ties and zeros; and queries."""
    value = st.integers(-2, 2)
    vectors = draw(st.lists(st.tuples(value, value, value), min_size=1, max_size=8))
    table = np.array(vectors, dtype=np.float16) / 4
    texts = draw(st.lists(st.integers(0, len(table) - 1), max_size=30))
    queries = draw(st.lists(st.tuples(value, value, value), max_size=5))
    sentences = [f"sentence {text}" for text in texts]
    names = [str(line) for line in range(1, len(texts) + 1)]
    block = sentences, names, table[texts]
    return block, np.array(queries, dtype=np.float16).reshape(-1, 3) / 4


def cut(block: Block, ends: list[int]) -> Iterator[Block]:
    """Cut a block into several blocks, some of them empty."""
    places = [0, *sorted(min(end, len(block[0])) for end in ends), len(block[0])]
    for start, end in zip(places, places[1:], strict=False):
        sentences, names, vectors = block
        yield sentences[start:end], names[start:end], vectors[start:end]


def nearest_reference(queries: np.ndarray, block: Block, k: int) -> list[list[Neighbor]]:
    """Find the nearest sentences of a single block, one pair of sentences at a time."""
    found = []
    for query in queries.astype(np.float64):
        by_text: dict[str, Neighbor] = {}
        for row, (sentence, name, vector) in enumerate(zip(*block, strict=True)):
            if sentence in by_text:
                by_text[sentence].copies += 1
            elif query.any() and vector.any():
                cosine = float(query @ vector.astype(np.float64))
                by_text[sentence] = Neighbor(cosine, row, name, sentence)
        found.append(sorted(by_text.values(), key=lambda one: (-one.cosine, one.row))[:k])
    return found


@given(corpora(), st.integers(1, 12), st.lists(st.integers(0, 30), max_size=6))
def test_lists_are_those_of_the_definition(problem, k: int, ends: list[int]) -> None:
    block, queries = problem
    assert nearest(queries, cut(block, ends), k) == nearest_reference(queries, block, k)


def test_cosines_are_exact_for_real_vectors() -> None:
    """Cosines of float16 unit vectors do not depend on the shape of the matrix product."""
    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(303, 512))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    names = [str(row) for row in range(300)]
    block = names, names, vectors[3:]
    for ends in ([], list(range(300)), [7, 100, 101]):
        assert nearest(vectors[:3], cut(block, ends), 20) == nearest_reference(
            vectors[:3], block, 20
        )


def test_k_is_checked() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        nearest(np.zeros((1, 2), np.float16), [], 0)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "text.en"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_neighbors_of_a_sentence(miner, corpus: Path) -> None:
    code, out, err = miner("neighbors", corpus, "Der Zug kommt um sechs an.", "-k", 3)
    assert (code, err) == (0, "")
    query, *rows = out.splitlines()
    assert query == "Der Zug kommt um sechs an."
    cells = [row.split("\t") for row in rows]
    assert [row[1:] for row in cells[:2]] == [
        ["2", "Der Zug kommt um sechs Uhr an."],
        ["1", "The train arrives at six.", "3 copies"],
    ]
    assert len(rows) == 3 and sorted(cells, key=lambda row: -float(row[0])) == cells


def test_one_block_of_rows_for_each_sentence(miner, corpus: Path) -> None:
    """With k above the corpus size each sentence is listed once; empty lines are not listed."""
    code, out, err = miner(
        "neighbors", corpus, "The train arrives\tat six.", "\u2603\u2603", "Cats sleep."
    )
    assert (
        code == 0
        and err == "'\u2603\u2603': the model knows no piece of it, so it has no neighbours\n"
    )
    first, second, third = (block.split("\n") for block in out.rstrip("\n").split("\n\n"))
    assert first[0] == "The train arrives at six." and first[1].startswith("1.00")
    assert second == ["\u2603\u2603"] and len(first) == len(third) == 6
    assert third[1].endswith("\t6\tThe cat sleeps on the sofa.")


def test_sentences_from_standard_input(miner, corpus: Path, monkeypatch) -> None:
    feed(monkeypatch, b"Cats sleep.\n\nThe house\n")
    code, out, _ = miner("neighbors", corpus, "-", "-k", 1)
    assert code == 0 and out.splitlines()[::3] == ["Cats sleep.", "The house"]
    direct = miner("neighbors", corpus, "Cats sleep.", "The house", "-k", 1)
    assert direct[1] == out
    feed(monkeypatch, TEXT.encode())
    code, other, _ = miner("neighbors", "-", "Cats sleep.", "The house", "-k", 1)
    assert (code, other) == (0, out)
    feed(monkeypatch, b"Cats \xff sleep.\nCats sleep.\nThe house\n")
    code, other, err = miner("neighbors", corpus, "-", "-k", 1, "--on-error", "skip")
    assert (code, other) == (0, out) and "not UTF-8 and left out: 1" in err


def test_sides_of_separate_vocabularies(miner, tmp_path, separate_model, german, german_file):
    command = ("neighbors", german_file, german[0], "--model", separate_model)
    code, _, err = miner(*command)
    assert code == 1 and "--side" in err
    same = miner(*command, "--side", "target")
    assert same[0] == 0 and same[1].splitlines()[1].endswith(f"\t1\t{german[0]}")
    crossed = miner(*command, "--side", "target", "--query-side", "source")
    assert crossed[0] == 0 and crossed[1] != same[1]
    index = tmp_path / "index"
    Index.build(Encoder.load(separate_model, side="target"), german_file, index)
    assert miner("neighbors", index, *command[2:]) == same
    code, _, err = miner("neighbors", index, *command[2:], "--side", "source")
    assert code == 1 and "was built with --side target" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nowhere.en", "Cats"), 1, "nowhere.en: "),
        (("empty.en", "Cats"), 1, "no sentence to compare with (1 lines are empty"),
        (("bytes.en", "Cats"), 1, "bytes.en, line 2"),
        (("bytes.en", "Cats", "--on-error", "skip"), 0, "not UTF-8 and left out: 1"),
        (("bytes.en", "Cats", "--on-error", "replace"), 0, "with bytes replaced: 1"),
        (("snow.en", "Cats"), 0, "knows no piece of any of its sentences"),
        ((".", "Cats"), 1, "not an index directory"),
        (("bytes.en",), 2, "SENTENCE"),
        (("bytes.en", "-", "Cats"), 2, "give no others"),
        (("-", "-"), 2, "standard input"),
        (("bytes.en", "Cats\udcff"), 2, "not UTF-8"),
        (("bytes.en", "Cats", "-k", "0"), 2, "-k"),
    ],
)
def test_bad_input(miner, tmp_path, monkeypatch, arguments, code: int, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.en").write_bytes(b"\n")
    (tmp_path / "bytes.en").write_bytes(b"Cats sleep.\nCats \xff sleep.\n")
    (tmp_path / "snow.en").write_text("\u2603\u2603\n", encoding="utf-8")
    found, _, err = miner("neighbors", *arguments)
    assert found == code and message in err
    assert code != 1 or len(err.splitlines()) == 1


def test_no_sentence_on_standard_input(miner, corpus: Path, monkeypatch) -> None:
    feed(monkeypatch, b"\n")
    code, _, err = miner("neighbors", corpus, "-")
    assert code == 1 and "no sentence to look for" in err


def test_the_index_is_of_the_same_model(miner, other_model: Path, indexes) -> None:
    code, out, err = miner("neighbors", indexes[0].path, "Haus", "--model", other_model)
    assert (code, out) == (1, "") and "was built by" in err and len(err.splitlines()) == 1
    code, _, err = miner("neighbors", indexes[0].path, "Haus", "--column", "1")
    assert code == 2 and "is an index" in err
