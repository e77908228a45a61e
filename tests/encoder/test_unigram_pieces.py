"""miner.encoder.pieces gives the token ids of SentencePiece."""

import io
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from miner.encoder.model import load
from miner.encoder.pieces import JOINING, SPACE_MARK, PieceTokenizer, UnigramPieces
from miner.encoder.script_folding import in_one_script
from miner.errors import ArtifactError
from miner.kernels import unigram
from miner.text.invisible import visible
from tests.support.tokens import lists

# Characters that normalisation removes, expands, joins, folds or keeps.
STRANGE = (
    "aàÀ\u0300\u0323ßẞİſÅ\u212bΣς½…™ﬁ´\u00a0\u00ad\u200b\u200d\u3000\u2028\ufeff\t\n\x00\x7f\ufffd"
    "ﾞカﾞｶ가\u1100\u1161ᄀ각ㄱㅏกำ์कि़\u09c7\u09be١٢९०๑１²ђЉбйи\u0306🙂👩\u200d🔬日本、。「\u2581"
    "می\u200cخ\u200dक्\u200dष\u200c\x0b\x85\u2800\u200f\ufe0f\U000e0061پيكةأإیکیّـَﻼﷲשָׁﭏ"
)


def reference(processor: Any, sentences: list[str], one_script: bool = False) -> list[list[int]]:
    """Return SentencePiece's ids of visible text, without unknown pieces and the bare mark."""
    dropped = {processor.unk_id(), processor.piece_to_id(SPACE_MARK)}
    read = [visible(one) for one in sentences]
    read = in_one_script(read) if one_script else read
    return [[i for i in processor.encode(one) if i not in dropped] for one in read]


def trained(text: list[str], **options: Any) -> bytes:
    proto = io.BytesIO()
    usual = {"vocab_size": 300, "hard_vocab_limit": False, "bos_id": -1, "eos_id": -1}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=proto, minloglevel=2, **{**usual, **options}
    )
    return proto.getvalue()


def piece(text: str, *scores: float) -> bytes:
    """A serialised piece, to be appended to a vocabulary."""
    fields = [bytes([10, len(text.encode())]) + text.encode()]
    fields += [b"\x15" + struct.pack("<f", score) for score in scores]
    return bytes([10, sum(map(len, fields))]) + b"".join(fields)


@pytest.fixture(scope="module")
def strange(german: list[str]) -> bytes:
    """A vocabulary that folds case and has pieces of digits, points and strange characters."""
    odd = [
        f"{one} {STRANGE[i % 40 :: 7]} {10**i % 9973} {'.' * (i % 9)}"
        for i, one in enumerate(german)
    ]
    return trained(odd * 3, normalization_rule_name="nmt_nfkc_cf", character_coverage=1.0)


@pytest.fixture(scope="module")
def tokenizer(strange: bytes) -> PieceTokenizer:
    made = PieceTokenizer(strange, one_script=True)
    assert made._fast is not None
    return made


@given(st.lists(st.text(st.sampled_from(STRANGE + "der  und 0199..")) | st.text(), max_size=5))
def test_ids_of_strange_text(tokenizer: PieceTokenizer, sentences: list[str]) -> None:
    clean = [one.encode("utf-8", "replace").decode() for one in sentences]
    found = lists(tokenizer(clean))
    assert found == reference(tokenizer.processor, clean, one_script=True)


def test_spellings_are_those_of_sentencepiece(tokenizer: PieceTokenizer) -> None:
    """Special pieces, too, and pieces of characters of one to four bytes."""
    every = list(range(tokenizer.size))
    assert tokenizer.spellings() == tokenizer.processor.id_to_piece(every)


def test_ids_of_every_character(tokenizer: PieceTokenizer) -> None:
    every = [chr(code) for code in range(0x3200) if not 0xD800 <= code < 0xE000]
    texts = [f"der {one}und{two} {one}{two}" for one, two in pairwise(every)]
    texts += [f"a{one}" for one in map(chr, range(0xFB00, 0x11100))]
    for _ in range(2):  # the first call builds the table of characters
        assert lists(tokenizer(texts)) == reference(tokenizer.processor, texts, one_script=True)


def test_joining_characters_are_all_that_a_rule_has_after_its_first() -> None:
    for rule in ("nmt_nfkc", "nmt_nfkc_cf", "nfkc", "nfkc_cf"):
        rules = sentencepiece.SentencePieceNormalizer(rule_name=rule).Decompile()
        assert not [one for key, _ in rules for one in key[1:] if not JOINING.match(one)]


def test_close_choices_depend_on_what_stands_before() -> None:
    tokenizer = PieceTokenizer(load("default").vocabularies["sp.model"])
    # Two segmentations into 999 pieces tie, so that the rounding of sums decides.
    words = ["999", "....", "9" * 8, "." * 7, "rebuilt", "und", "20000000"]
    generator = np.random.default_rng(3)
    sizes = [*range(1, 40), 300, 2000, 2000]
    texts = [" ".join(generator.choice(words, size).tolist()) for size in sizes]
    found = lists(tokenizer(texts))
    assert found == reference(tokenizer.processor, texts)
    assert found == lists(tokenizer([text.replace(" ", "   ") for text in texts]))
    alone = {word: tuple(lists(tokenizer([word]))[0]) for word in words}
    assert [
        one
        for text, one in zip(texts, found, strict=True)
        if one != [i for word in text.split() for i in alone[word]]
    ]


@pytest.mark.parametrize("score", [1000.0, -180.0])
def test_words_after_large_sums_have_other_pieces(vocabulary: bytes, score: float) -> None:
    word = "ξ" + "ψ" * 22
    scores = {f"▁{word}": -23.0, "▁ξ": -1.0, "ψ": -1 + 2.0**-9, "▁ω": score}
    tokenizer = PieceTokenizer(vocabulary + b"".join(starmap(piece, scores.items())))
    count = int(80_000 / abs(score))
    texts = [word, "ω " * count + word]
    found = lists(tokenizer(texts))
    assert found == reference(tokenizer.processor, texts)
    # After a sum of 80000, scores of ψ above -1 are lost in rounding.
    assert [len(found[0]), len(found[1])] == [23, count + 1]


@pytest.mark.parametrize("score", [float("nan"), float("-inf"), 0.5, -190.0])
def test_scores_out_of_range(vocabulary: bytes, score: float) -> None:
    with pytest.raises(ValueError, match="a score"):
        UnigramPieces(vocabulary + piece("▁ω", score), False)


def test_pieces_are_added_as_an_extension_does(vocabulary: bytes, german: list[str]) -> None:
    words = {word: None for text in german for word in text.split()}
    added = [piece(f"▁{word}ω", -9.5 - 0.125 * i) for i, word in enumerate(words)]
    tokenizer = PieceTokenizer(vocabulary + b"".join(added))
    assert tokenizer._fast is not None
    texts = [*german, *(text.replace(" ", "ω ") for text in german)]
    found = lists(tokenizer(texts))
    assert found == reference(tokenizer.processor, texts)
    assert tokenizer.size - 2 in found[-1]


def test_more_words_than_are_kept(vocabulary: bytes) -> None:
    generator = np.random.default_rng(4)
    letters = np.array(list("abcdefghijklmnoprstuwz"))
    words = ["".join(word) for word in generator.choice(letters, (150_000, 7))]
    texts = [" ".join(words[start : start + 15]) for start in range(0, len(words), 15)]
    tokenizer = PieceTokenizer(vocabulary)
    assert tokenizer._fast is not None
    found = [lists(tokenizer(texts)), lists(tokenizer(texts[::-1]))[::-1]]
    assert found[0] == found[1] == reference(tokenizer.processor, texts)


def test_sums_of_long_lines_are_counted_anew() -> None:
    tokenizer = PieceTokenizer(load("default").vocabularies["sp.model"])
    generator = np.random.default_rng(5)
    words = ["999", "....", "rebuilt", "und", "20000000", "777", "12345", "🜁🜁"]
    texts = [
        " ".join(generator.choice(words, 30_000).tolist()),
        "".join(generator.choice(list("0123456789."), 120_000).tolist()),
        "🜁" * 9_000 + "999" * 9_000,
    ]
    assert lists(tokenizer(texts)) == reference(tokenizer.processor, texts)


@pytest.mark.parametrize("text", ["﷼﷼﷼﷼﷼aaa", "a﷼﷼﷼﷼", "﷼" * 40 + "a" * 73, "﷼" * 40, "﷼", ""])
def test_scratch_is_written_within_its_bounds(
    vocabulary: bytes, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = UnigramPieces(vocabulary, False)
    behind = []

    def guarded(offsets: np.ndarray) -> list[np.ndarray]:
        made = []
        for one in room_for(offsets):
            memory = np.full(len(one) + 100, -7, one.dtype)
            made.append(memory[: len(one)])
            behind.append(memory[len(one) :])
        return made

    room_for = unigram.room_for
    monkeypatch.setattr(unigram, "room_for", lambda offsets: tuple(guarded(offsets)))
    tokenizer([text])  # ﷼ becomes four characters, ریال
    assert (np.concatenate(behind) == -7).all()


def test_threads_share_a_tokenizer(strange: bytes, german: list[str]) -> None:
    tokenizer = PieceTokenizer(strange)
    texts = [german[i:] + [STRANGE[i:], STRANGE[:i]] for i in range(len(german))]
    expected = [reference(tokenizer.processor, one) for one in texts]
    start = threading.Barrier(8)

    def work(place: int) -> list[list[list[int]]]:
        start.wait()
        return [lists(tokenizer(one)) for one in texts[place:]]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [expected[place:] for place in range(8)]


def test_lone_surrogates_are_replaced(tokenizer: PieceTokenizer) -> None:
    found, expected = (lists(tokenizer(["der", f"und{one}der"])) for one in "\ud800\ufffd")
    assert found == expected


@pytest.mark.parametrize(
    "options",
    [
        {"model_type": "bpe"},
        {"model_type": "char"},
        {"byte_fallback": True, "vocab_size": 600},
        {"user_defined_symbols": ["und"]},
        {"treat_whitespace_as_suffix": True},
        {"split_by_whitespace": False},
        {"remove_extra_whitespaces": False},
        {"add_dummy_prefix": False},
        {"unk_id": 1, "pad_id": 0},
    ],
    ids=str,
)
def test_other_vocabularies_are_cut_by_sentencepiece(
    options: dict[str, Any], german: list[str]
) -> None:
    proto = trained(german * 3, **options)
    tokenizer = PieceTokenizer(proto)
    assert tokenizer._fast is None
    control = [i for i in range(tokenizer.size) if tokenizer.processor.is_control(i)]
    assert not tokenizer.meaningful[[tokenizer.processor.unk_id(), *control]].any()
    assert lists(tokenizer(german)) == reference(tokenizer.processor, german)


def test_rules_and_scores_that_are_not_usual(tmp_path: Path, german: list[str]) -> None:
    rules = tmp_path / "rules.tsv"
    rules.write_text("75 6E\t78\n", encoding="utf-8")  # un becomes x
    own = trained(german * 3, normalization_rule_tsv=str(rules))
    usual = trained(german * 3)
    score = struct.pack("<f", PieceTokenizer(usual).processor.get_score(7))
    for vocabulary in (own, usual.replace(score, struct.pack("<f", float("nan")))):
        with pytest.raises(ValueError):
            UnigramPieces(vocabulary, False)
    tokenizer = PieceTokenizer(own)
    assert lists(tokenizer(["und un"])) == reference(tokenizer.processor, ["und un"])
    identity = PieceTokenizer(trained(german * 3, normalization_rule_name="identity"))
    texts = [*german, STRANGE]
    assert lists(identity(texts)) == reference(identity.processor, texts)


def test_control_pieces_are_never_found(german: list[str]) -> None:
    tokenizer = PieceTokenizer(trained(german * 3, bos_id=1, eos_id=2, control_symbols=["<de>"]))
    assert tokenizer._fast is not None
    texts = [*german, "<s> der </s>", "<de>und"]
    assert lists(tokenizer(texts)) == reference(tokenizer.processor, texts)
    assert np.flatnonzero(~tokenizer.meaningful[:4]).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "text", [b"\xc3\x7c", b"\xe0\x83", b"\xbc\xbc", b"\xc1\xa1", b"\xf9\x80", b"q\0"], ids=str
)
def test_pieces_that_are_not_text(vocabulary: bytes, text: bytes) -> None:
    head = b"\x0a\x02"  # of a text of two bytes
    damaged = vocabulary.replace(head + "ü".encode(), head + text)
    assert damaged != vocabulary
    with pytest.raises(ValueError):
        UnigramPieces(damaged, False)


@pytest.mark.parametrize(
    "more",
    [
        b"\x0a\x0f\x0a\x02qq\xf8" + b"\xff" * 8 + b"\x01\x07",  # field -1
        b"\x0a\x06\x0a\x02qq\x00\x07",  # field 0
        b"\x0a\x02\x0a\x08nmt_nfkc",  # a field that is longer than its part
        b"\x1a\x0a\x0a\x08nmt_nfkc",  # rules a second time: protobuf merges them
        b"\x23\x24",  # a group
    ],
    ids=repr,
)
def test_protobuf_that_is_not_usual(vocabulary: bytes, more: bytes) -> None:
    with pytest.raises(ValueError):
        UnigramPieces(vocabulary + more, False)


def test_a_piece_with_two_scores_is_left_to_sentencepiece(vocabulary: bytes) -> None:
    tokenizer = PieceTokenizer(vocabulary + piece("▁unω", -31.0, -0.5))
    assert tokenizer._fast is None
    assert lists(tokenizer(["unω"])) == reference(tokenizer.processor, ["unω"])


def test_damaged_vocabularies(vocabulary: bytes) -> None:
    rules = vocabulary.index(b"nmt_nfkc") + 20
    damaged = vocabulary[:rules] + bytes(8) + vocabulary[rules + 8 :]
    for content in (damaged, *(vocabulary[:size] for size in range(0, len(vocabulary) - 1, 397))):
        with pytest.raises(ValueError):
            UnigramPieces(content, False)
        try:
            PieceTokenizer(content)
        except ArtifactError as error:
            assert "sp.model: not a SentencePiece model" in str(error)
