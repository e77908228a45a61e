"""miner.encoder.tokenizer and its kernels: the units of a sentence, the same for any chunk and thread."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner.encoder.tokenizer import (
    WORD,
    MarkedTokenizer,
    Normaliser,
    PieceTokenizer,
    Tokenizer,
    TrigramTokenizer,
    WordTokenizer,
    characters,
    pack_trigrams,
)
from miner.errors import ArtifactError, DependencyError
from miner.kernels import units
from miner.kernels.unigram import cuts_reference, sample, trie

ROOT = Path(__file__).parents[2]

# Text of every script, and what is odd in it more often than chance would have it.
odd = st.sampled_from(
    ["", " ", "\t", "\n", "\x85", "\u2028", "\u3000", "\u2581", "\u200b", "\ufeff", "\0", "\ue000"]
    + ["\ud800", "\udfff", "e\u0301", "\u0301", "\ufb01", "ẞ", "İ", "\U0001f600", "한", "_", "a1"]
)
text = st.lists(st.one_of(st.text(max_size=6), odd, st.sampled_from(["a", "ab ", "ba b"]))).map(
    "".join
)
texts = st.lists(text, max_size=6)


def lines(units: Sequence[str]) -> bytes:
    return "".join(f"{unit}\n" for unit in units).encode()


def lists(found: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    """Ids of each sentence; checks the types and that the offsets are whole."""
    ids, offsets = found
    assert ids.dtype == np.int32 and offsets.dtype == np.int64
    assert offsets[0] == 0 and offsets[-1] == len(ids)
    return [ids[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def cleaned(sentence: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", sentence)


# --- normalisation ------------------------------------------------------------------------------


@settings(max_examples=300)
@given(texts)
@example(["", ""])
@example([" a ", "\u0301a", "e", "\u0301"])
@example(["a\ue000", "b"])
def test_many_sentences_are_normalised_as_each_alone(sentences: list[str]) -> None:
    for fold in (True, False):
        normalise = Normaliser.by_rule(fold)
        expected = [normalise._normalizer.normalize(cleaned(one)) for one in sentences]
        assert normalise(sentences) == expected


def test_normalisation() -> None:
    found = Normaliser.by_rule(True)(["  Ünï\tStraße ", "\ufb01", "x\ny\r\nz"])
    assert found == ["ünï straße", "fi", "x y z"]
    assert Normaliser.by_rule(False)(["Ünï"]) == ["Ünï"]


def test_no_character_becomes_a_line_feed() -> None:
    """Which would end a line of a vocabulary."""
    everything = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    assert "\n" not in "".join(Normaliser.by_rule(True)(["".join(everything)]))


# --- words --------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(texts, st.booleans())
@example(["ab ba b a"], True)
def test_words_are_those_of_the_expression(sentences: list[str], fold: bool) -> None:
    """Every other word of the text is in the vocabulary, and some that are not in the text."""
    words = [WORD.findall(one) for one in Normaliser.by_rule(fold)(sentences)]
    known = sorted({word for own in words for word in own})[::2] + ["nowhere", "ab c"]
    tokenizer = WordTokenizer(lines(known), fold)
    number = {word: i for i, word in enumerate(known)}
    expected = [[number[word] for word in own if word in number] for own in words]
    assert lists(tokenizer(sentences)) == expected


def test_words() -> None:
    tokenizer = WordTokenizer(lines(["the", "dog", "'", "don", "t", "!"]), fold_case=True)
    found = lists(tokenizer(["The dog DON'T bark!", "", "日本", "dogs"]))
    assert found == [[0, 1, 3, 2, 4, 5], [], [], []]
    assert lists(WordTokenizer(lines(["the", "The"]), False)(["The the THE"])) == [[1, 0]]
    assert lists(tokenizer([])) == []


def test_words_with_one_fingerprint_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop as Python runs it, with a fingerprint that is the same for all."""
    monkeypatch.setattr(units, "fingerprint", lambda codes: np.uint64(7))
    monkeypatch.setattr(units, "_find_word", units._find_word.py_func)
    vocabulary, starts = characters(["ab", "a", "abc"])
    slots, places = units.table(np.full(3, 7, dtype=np.uint64))
    codes, offsets = characters(["abc", "b", "a", "ab"])
    kinds = np.full(128, 2, dtype=np.uint8)
    out, lengths = np.empty(len(codes), np.int32), np.empty(4, np.int64)
    words = units.words.py_func
    count = words(codes, offsets, kinds, slots, places, vocabulary, starts, out, lengths)
    assert out[:count].tolist() == [2, -1, 1, 0]


# --- morphs -------------------------------------------------------------------------------------

SEGMENTATION = b"3 un + believ + able\n2 believ + e\n2 able\n1 un + do\n1 do + able\n1 do + ing\n"


def test_morphs() -> None:
    pytest.importorskip("morfessor", reason="needs Morfessor")
    types = ["un", "able", "do", "believ", "!", "xy"]
    tokenizer = WordTokenizer(lines(types), True, SEGMENTATION)
    found = lists(tokenizer(["Undoable!", "unbelievable doing", "xy", ""]))
    # "xy" is no morph of the model, which makes letters of it.
    assert found == [[0, 2, 1, 4], [0, 3, 1, 2], [], []]
    shown, ids = tokenizer.surfaces("Un- Doing \x85")
    assert shown == ["un", "-", " do", "ing", " \x85"]
    assert ids.tolist() == [0, -1, 2, -1, -1]
    long = "a" * 100_000
    assert tokenizer.surfaces(long)[0] == [long]


@pytest.mark.parametrize(
    "segmentation", [b"", b"x a + b\n", b"0 a\n", b"1\n", b"1 a +  + b\n", b"1 a\n1 a\n", b"1 \xff"]
)
def test_a_segmentation_that_is_none(segmentation: bytes) -> None:
    pytest.importorskip("morfessor", reason="needs Morfessor")
    with pytest.raises(ArtifactError, match=r"morphs\.txt"):
        WordTokenizer(lines(["a"]), True, segmentation)


def test_morfessor_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(DependencyError, match=r"pip install .*\[morfessor\]"):
        WordTokenizer(lines(["a"]), True, SEGMENTATION)


# --- trigrams -----------------------------------------------------------------------------------


@settings(max_examples=300)
@given(texts, st.booleans())
@example(["a", "", "ab"], True)
def test_trigrams_are_those_of_the_reference(sentences: list[str], fold: bool) -> None:
    read = Normaliser.by_rule(fold)(sentences)
    padded = [f" {one} " for one in read]
    known = sorted({one[i : i + 3] for one in padded for i in range(len(one) - 2)})[::2]
    known += ["\U0010ffff\U0010ffff\U0010ffff", "\0\0\0"]
    tokenizer = TrigramTokenizer(lines(dict.fromkeys(known)), fold)
    number = {trigram: i for i, trigram in enumerate(dict.fromkeys(known))}
    expected = [units.trigrams_reference(one, number) for one in read]
    assert lists(tokenizer(sentences)) == [[i for i in own if i >= 0] for own in expected]
    for one, ids in zip(sentences, expected, strict=True):
        assert tokenizer.surfaces(one)[1].tolist() == ids


def test_trigrams() -> None:
    tokenizer = TrigramTokenizer(lines([" a ", " ab", "ab ", "b c", " c "]), fold_case=True)
    assert lists(tokenizer(["A", "", "ab  C", "ABC", "c\n"])) == [[0], [], [1, 2, 3, 4], [1], [4]]


@given(st.lists(st.text(min_size=3, max_size=3), unique=True))
def test_keys_of_trigrams_are_distinct_and_in_the_order_of_text(trigrams: list[str]) -> None:
    keys = pack_trigrams(sorted(trigrams))
    assert keys.dtype == np.uint64
    assert (keys[1:] > keys[:-1]).all()


@given(st.lists(st.integers(0, 2**64 - 1), unique=True), st.lists(st.integers(0, 2**64 - 1)))
def test_a_table_finds_what_is_in_it(keys: list[int], others: list[int]) -> None:
    slots, places = units.table(np.array(keys, dtype=np.uint64))
    found = [units.find(np.uint64(key), slots, places) for key in keys]
    assert found == list(range(len(keys)))
    for key in {*others, 0} - set(keys):
        assert units.find(np.uint64(key), slots, places) == -1


# --- all kinds ----------------------------------------------------------------------------------


@pytest.fixture(params=["piece", "word", "trigram", "marked"])
def tokenizer(request: pytest.FixtureRequest, vocabulary: bytes, german: list[str]) -> Tokenizer:
    """One that knows about half of the German text."""
    read = Normaliser.by_rule(True)(german)
    if request.param == "word":
        words = sorted({word for one in read for word in WORD.findall(one)})
        return WordTokenizer(lines(words[::2]), True)
    if request.param == "trigram":
        trigrams = sorted({one[i : i + 3] for one in read for i in range(len(one) - 2)})
        return TrigramTokenizer(lines(trigrams[::2]), True)
    pieces = PieceTokenizer(vocabulary)
    return MarkedTokenizer(pieces, 1) if request.param == "marked" else pieces


def test_any_chunk_and_thread_gives_the_same(tokenizer: Tokenizer, german: list[str]) -> None:
    sentences = [*german, "", "日本", " "] * 5
    together = lists(tokenizer(sentences))
    with ThreadPoolExecutor(8) as pool:
        alone = list(pool.map(lambda one: lists(tokenizer([one]))[0], sentences))
    assert together == alone
    assert sum(map(len, together)) > 0


def test_surfaces_join_to_what_is_read(tokenizer: Tokenizer, german: list[str]) -> None:
    folds = isinstance(tokenizer, WordTokenizer | TrigramTokenizer)
    normalise = Normaliser.by_rule(folds)
    for sentence in [*german, "", "  Straße 日本, x! ", "\u0301"]:
        shown, ids = tokenizer.surfaces(sentence)
        assert ids.dtype == np.int32 and len(shown) == len(ids)
        read = "".join(shown)
        assert read.strip() == normalise([sentence])[0]
        kept = [i for i in ids.tolist() if i >= 0 and tokenizer.meaningful[i]]
        assert kept == lists(tokenizer([sentence]))[0]
    assert tokenizer.size == len(tokenizer.meaningful)


@pytest.mark.parametrize("kind", [WordTokenizer, TrigramTokenizer])
@pytest.mark.parametrize(
    ("vocabulary", "what"),
    [
        (b"", "no units"),
        (b"\n", "no units"),
        (b"abc\n\n", "line 2: empty"),
        (b"abc\ndef\nabc\n", "line 3: 'abc' is in line 1"),
        (b"abc\n\xff\n", "byte 4 is not UTF-8"),
    ],
)
def test_a_vocabulary_that_is_none(kind: type, vocabulary: bytes, what: str) -> None:
    with pytest.raises(ArtifactError, match=f"^here.*{what}") as caught:
        kind(vocabulary, True, name="here")
    assert "\n" not in str(caught.value)


def test_a_trigram_of_another_length() -> None:
    with pytest.raises(ArtifactError, match=r"trigrams\.txt, line 2: 2 characters"):
        TrigramTokenizer(b"abc\nde\n", True)
    # A line need not end the last, nor a space be a letter.
    assert TrigramTokenizer(b" a \n\xc3\xa4 b", True).size == 2


def test_marked(vocabulary: bytes, german: list[str]) -> None:
    plain = PieceTokenizer(vocabulary)
    source, target = (MarkedTokenizer(plain, column) for column in (0, 1))
    assert source.size == target.size == 2 * plain.size
    ids, offsets = plain(german)
    for marked, shift in ((source, 0), (target, plain.size)):
        found = marked(german)
        np.testing.assert_array_equal(found[0], ids + shift)
        np.testing.assert_array_equal(found[1], offsets)
        assert found[0].dtype == np.int32
        np.testing.assert_array_equal(
            marked.sample(german, 0.2, 1)[0], plain.sample(german, 0.2, 1)[0] + shift
        )
        assert marked.meaningful[found[0]].all()
    words = MarkedTokenizer(WordTokenizer(b"a\nb\n", True), 1)
    assert words.surfaces("b x")[1].tolist() == [3, -1]


# --- samples ------------------------------------------------------------------------------------


def test_a_sample_is_cut_as_asked(vocabulary: bytes, german: list[str]) -> None:
    """The same text in other pieces, decided by the seed and the sentence's number alone."""
    tokenizer = PieceTokenizer(vocabulary)
    sentences = [*german, "", "日本"]
    ids, offsets = tokenizer.sample(sentences, 0.1, 3)
    again = tokenizer.sample(sentences, 0.1, 3)
    np.testing.assert_array_equal(again[0], ids)
    other, others = tokenizer.sample(sentences, 0.1, 4), tokenizer(sentences)
    assert lists(other) != lists((ids, offsets)) != lists(others)
    read = [one.replace(" ", "") for one in Normaliser.of_model(vocabulary)(german)]
    shown = [
        "".join(tokenizer.processor.id_to_piece(piece) for piece in own).replace("\u2581", "")
        for own in lists((ids, offsets))
    ]
    known = {c for i in range(tokenizer.size) for c in tokenizer.processor.id_to_piece(i)}
    assert shown[-2:] == ["", ""]
    assert shown[:-2] == ["".join(c for c in one if c in known) for one in read]
    # In parts, and by several threads.
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(
            lambda start: lists(tokenizer.sample(sentences[start : start + 7], 0.1, 3, start)),
            range(0, len(sentences), 7),
        )
    assert [own for part in parts for own in part] == lists((ids, offsets))


def test_a_sample_is_the_same_in_another_process(
    vocabulary: bytes, german: list[str], tmp_path: Path
) -> None:
    (tmp_path / "sp.model").write_bytes(vocabulary)
    script = f"""
from pathlib import Path
from miner.encoder.tokenizer import PieceTokenizer
tokenizer = PieceTokenizer(Path({str(tmp_path / "sp.model")!r}).read_bytes())
print(tokenizer.sample({german[:9]!r}, 0.1, 5)[0].tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    expected = PieceTokenizer(vocabulary).sample(german[:9], 0.1, 5)[0].tolist()
    assert done.stdout == f"{expected}\n", done.stderr


def test_a_large_exponent_draws_the_best_cut(vocabulary: bytes, german: list[str]) -> None:
    tokenizer = PieceTokenizer(vocabulary)
    assert lists(tokenizer.sample(german, 1e4, 1)) == lists(tokenizer(german))


def test_no_sample_is_bare(vocabulary: bytes) -> None:
    """A cut into what has no meaning alone is put aside for the best."""
    tokenizer = PieceTokenizer(vocabulary)
    sentences = ["der", "日本", "d", "", "die"] * 50
    ids, offsets = tokenizer.sample(sentences, 0.0, 1)
    best = np.diff(tokenizer(sentences)[1]) > 0
    np.testing.assert_array_equal(np.diff(offsets) > 0, best)
    tokenizer.meaningful[:] = False
    tokenizer.meaningful[tokenizer.processor.encode("der")] = True
    few = lists(tokenizer.sample(["der"] * 50 + [""], 0.0, 1))
    assert all(few[:50]) and not few[50]


def draws(count: int, alpha: float) -> Iterator[tuple[str, ...]]:
    """Cuts of one text by a small model, of each of ``count`` sentence numbers."""
    names = list(SCORES)
    tree = trie(names, range(len(names)), list(SCORES.values()))
    codes, offsets = characters(["abxab"] * count)
    out, lengths = np.empty(len(codes), np.int32), np.empty(count, np.int64)
    end = sample(codes, offsets, tree, 3, -6.0, alpha, np.uint64(11), np.uint64(0), out, lengths)
    at = 0
    assert lengths.sum() == end
    for length in lengths.tolist():
        yield tuple("x" if i < 0 else names[i] for i in out[at : at + length].tolist())
        at += length


SCORES = {"a": -2.0, "b": -3.0, "ab": -2.5, "bx": -5.0, "bxa": -4.0, "xa": -7.0}


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_cuts_are_drawn_by_their_probability(alpha: float) -> None:
    count = 20_000
    found = Counter(draws(count, alpha))
    expected = cuts_reference("abxab", SCORES, -6.0, alpha)
    assert len(expected) == 9 and set(found) <= set(expected)
    for cut, probability in expected.items():
        error = 5 * np.sqrt(count * probability * (1 - probability)) + 1
        assert found[cut] == pytest.approx(count * probability, abs=error), cut


def test_a_line_of_a_megabyte_is_cut_too(vocabulary: bytes, german: list[str]) -> None:
    line = " ".join(german * 300)
    ids, _ = PieceTokenizer(vocabulary).sample([line], 0.2, 1)
    assert len(line) > 500_000 and len(ids) > 100_000


def test_letters_are_what_unicode_says() -> None:
    from miner.encoder.tokenizer import _kinds

    kinds = _kinds()
    for code in range(0, 0x30000, 7):
        category = unicodedata.category(chr(code))
        assert (kinds[code] == 2) == (category[0] in "LN" or code == ord("_"))
