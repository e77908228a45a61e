"""Lexicons: the table for two languages, and the file of all tables."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.encoder.lexicon_file import from_bytes, to_bytes
from miner.encoder.lexicons import LEAST, MOST, UNKNOWN, Lexicons, TranslationTable
from miner.errors import ArtifactError


def random_table(generator: np.random.Generator, size: int, tokens: np.ndarray, others: np.ndarray):
    """Draw a translation table of ``tokens`` by ``others``, whose rows sum to 1."""
    dense = np.zeros((size, size))
    block = generator.random((len(tokens), len(others))) ** 8
    block *= generator.random(block.shape) < 0.6
    dense[np.ix_(tokens, others)] = block / np.maximum(block.sum(axis=1, keepdims=True), 1e-9)
    dense[dense < LEAST] = 0
    row, column = np.nonzero(dense)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=size))])
    count = np.zeros(size, dtype=np.float32)
    count[tokens] = generator.integers(1, 10_000, len(tokens))
    probability = np.minimum(dense[row, column], 1).astype(np.float32)
    return TranslationTable(offsets, column.astype(np.int32), probability, count)


def random_lexicons(generator: np.random.Generator, size: int, pairs: list[str]) -> Lexicons:
    """Draw tables of both directions of ``pairs`` such as ``de-en``, over shared token ids."""
    tables = {}
    for name in pairs:
        a, _, b = name.partition("-")
        left, right = (
            np.sort(generator.permutation(size)[: generator.integers(1, size + 1)]) for _ in "ab"
        )
        tables[a, b] = random_table(generator, size, left, right if a != b else left)
        if a != b:
            tables[b, a] = random_table(generator, size, right, left)
    return Lexicons(tables)


def dense(table) -> np.ndarray:
    """Return a table or lexicon as ``(V, V) float64``, rows translated by columns."""
    size = len(table.offsets) - 1
    out = np.zeros((size, size))
    out[np.repeat(np.arange(size), np.diff(table.offsets)), table.pieces] = table.probability
    return out


def through(first: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Multiply dense tables, and drop improbable entries."""
    product = first @ then
    return np.where(product >= LEAST, product, 0)


def mixed(tables: list[np.ndarray], counts: list[np.ndarray]) -> np.ndarray:
    """Mix dense tables row by row, weighted by each token's counts ``(V,)``."""
    out = np.zeros_like(tables[0])
    for token in range(len(out)):
        weights = [count[token] for count in counts]
        if sum(weights) > 0:
            parts = zip(weights, tables, strict=True)
            out[token] = sum(weight * table[token] for weight, table in parts) / sum(weights)
    return np.where(out >= LEAST, out, 0)


SEEDS = st.integers(0, 2**32 - 1)
PAIRS = ["de-en", "en-fr", "cs-de"]


def share(lexicons: Lexicons, *pair: str) -> np.ndarray:
    count = lexicons.tables[pair].count.astype(np.float64)
    return count / count.sum()


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare tables; an entry with the least probability may be missing."""
    doubtful = np.abs(np.maximum(found, expected) - LEAST) < 1e-6
    np.testing.assert_allclose(np.where(doubtful, 0, found), np.where(doubtful, 0, expected), 1e-5)


@given(SEEDS)
def test_two_languages_with_a_table(seed: int) -> None:
    generator = np.random.default_rng(seed)
    lexicons = random_lexicons(generator, int(generator.integers(1, 30)), PAIRS)
    found = lexicons.of("de", "en")
    shares = [share(lexicons, "de", "en"), share(lexicons, "en", "de")]
    tables = [dense(lexicons.tables[pair]) for pair in (("de", "en"), ("en", "de"))]
    close(dense(found), mixed(tables, shares))
    occurring = sum(shares) > 0
    expected = np.minimum(sum(shares) / 2, MOST)[occurring]
    np.testing.assert_allclose(found.frequency[occurring], expected, rtol=1e-6)
    assert (found.frequency[~occurring] < found.frequency[occurring].min(initial=1)).all()
    assert (dense(lexicons.of("en", "de")) == dense(found)).all()


@settings(max_examples=30)
@given(SEEDS)
def test_two_languages_that_meet_in_a_third(seed: int) -> None:
    generator = np.random.default_rng(seed)
    lexicons = random_lexicons(generator, int(generator.integers(1, 30)), PAIRS)
    assert lexicons.pivot("de", "fr") == "en"
    tables = {pair: dense(table) for pair, table in lexicons.tables.items()}
    both = [
        through(tables["de", "en"], tables["en", "fr"]),
        through(tables["fr", "en"], tables["en", "de"]),
    ]
    shares = [share(lexicons, "de", "en"), share(lexicons, "fr", "en")]
    close(dense(lexicons.of("de", "fr")), mixed(both, shares))


@given(SEEDS)
def test_unknown_languages(seed: int) -> None:
    """All tables are mixed, weighted by their amount of text."""
    generator = np.random.default_rng(seed)
    lexicons = random_lexicons(generator, int(generator.integers(1, 30)), PAIRS)
    tables = [dense(lexicons.tables[pair]) for pair in sorted(lexicons.tables)]
    counts = [lexicons.tables[pair].count.astype(np.float64) for pair in sorted(lexicons.tables)]
    expected = mixed(tables, counts)
    for pair in ((None, None), ("de", None), ("de", "de"), ("de", "xx")):
        close(dense(lexicons.of(*pair)), expected)


def test_one_table_serves_all_languages() -> None:
    lexicons = random_lexicons(np.random.default_rng(1), 20, [f"{UNKNOWN}-{UNKNOWN}"])
    table = lexicons.tables[UNKNOWN, UNKNOWN]
    for pair in ((None, None), ("de", "en")):
        found = lexicons.of(*pair)
        assert (found.probability == table.probability).all()
        assert (found.pieces == table.pieces).all()


def test_names_of_languages() -> None:
    lexicons = random_lexicons(np.random.default_rng(1), 20, ["en-zh", "de-en"])
    expected = dense(lexicons.of("en", "zh"))
    for code in ("zh-Hant", "chi", "zho", "yue"):
        assert (dense(lexicons.of(code, "en-GB")) == expected).all()


def test_the_pivot_has_most_text() -> None:
    generator = np.random.default_rng(2)
    ids = np.arange(9)
    tables = {}
    for a, b, amount in (("de", "en", 5), ("en", "fr", 9), ("de", "nl", 90), ("fr", "nl", 4)):
        for pair in ((a, b), (b, a)):
            table = random_table(generator, 9, ids, ids)
            table.count[:] = amount
            tables[pair] = table
    assert Lexicons(tables).pivot("de", "fr") == Lexicons(tables).pivot("fr", "de") == "en"
    assert Lexicons(tables).pivot("de", "xx") is None


def test_tables_that_contradict_themselves_are_refused() -> None:
    lexicons = random_lexicons(np.random.default_rng(3), 20, ["de-en"])
    with pytest.raises(ValueError, match="lacks its reverse"):
        Lexicons({("de", "en"): lexicons.tables["de", "en"]})
    with pytest.raises(ValueError, match="lacks its reverse"):
        Lexicons({})


@settings(max_examples=30)
@given(SEEDS, st.integers(1, 600))
def test_lexicons_survive_their_file(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    lexicons = random_lexicons(generator, size, ["de-en", "en-fr", f"{UNKNOWN}-{UNKNOWN}"])
    data = to_bytes(lexicons)
    again = from_bytes(data, "lexicon.npz")
    assert again.size == size and set(again.tables) == set(lexicons.tables)
    for pair, table in lexicons.tables.items():
        found = again.tables[pair]
        assert (found.offsets == table.offsets).all() and (found.pieces == table.pieces).all()
        np.testing.assert_allclose(found.probability, table.probability, rtol=0.0116)
        np.testing.assert_allclose(found.count, table.count, rtol=0.042)
    # Decoded tables are stored again without loss; tables of a file are copied.
    assert to_bytes(Lexicons(dict(again.tables))) == data and to_bytes(again) is data


@given(SEEDS, st.data())
def test_damaged_files_are_refused_or_read(seed: int, data: st.DataObject) -> None:
    """A truncated or altered file raises a one-line ArtifactError, or is a valid lexicon."""
    content = bytearray(to_bytes(random_lexicons(np.random.default_rng(seed), 40, ["de-en"])))
    with pytest.raises(ArtifactError, match="l.npz: not a lexicon"):
        from_bytes(bytes(content[: data.draw(st.integers(0, len(content) - 1))]), "l.npz")
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        from_bytes(bytes(content), "l.npz").of("de", "en")
    except ArtifactError as error:
        assert "l.npz: not a lexicon" in str(error)


def test_arrays_that_contradict_each_other(tmp_path: Path) -> None:
    """Archives are intact, but their arrays disagree."""
    lexicons = random_lexicons(np.random.default_rng(4), 40, ["de-en"])
    whole = dict(np.load(io.BytesIO(to_bytes(lexicons))))
    damaged = {
        "de-en.tokens": np.full(9, 255, np.uint8),
        "de-en.rows": np.full(9, 1, np.uint8),
        "de-en.pieces": np.zeros(0, np.uint8),
        "de-en.counts": whole["de-en.counts"][:-1],
        "de-en.probabilities": whole["de-en.probabilities"].astype(np.float32),
        "size": np.array(3),
    }
    for name, array in damaged.items():
        np.savez(tmp_path / "l.npz", **{**whole, name: array})
        with pytest.raises(ArtifactError, match="l.npz: not a lexicon"):
            from_bytes((tmp_path / "l.npz").read_bytes(), "l.npz").of("de", "en")
    del whole["en-de.counts"]
    np.savez(tmp_path / "l.npz", **whole)
    with pytest.raises(ArtifactError, match="l.npz: not a lexicon .a direction lacks an array"):
        from_bytes((tmp_path / "l.npz").read_bytes(), "l.npz")
