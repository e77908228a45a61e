"""miner.encoder and its kernel: unit vectors that depend on the sentence and on nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from miner import encoder as encoders
from miner.encoder import Encoder, Tokenizer
from miner.kernels.pool import mean_pool, mean_pool_reference

# Nothing in these that the small vocabulary knows.
WITHOUT_PIECES = ["", " ", "\t \u3000", "日本語の文", "привет", "\U0001f600", "▁", "▁ ▁"]


def raw(vocabulary: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(vocabulary)
    return processor


# --- the kernel ---------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 20),
    st.lists(st.integers(0, 12), max_size=12),
)
def test_mean_pool_is_its_reference(seed: int, d: int, size: int, lengths: list[int]) -> None:
    """Random shapes; zero lengths are empty sentences, and 20 pieces at most repeat often."""
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(size, d)).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    ids = generator.integers(size, size=offsets[-1]).astype(np.int32)
    out = np.full((len(lengths), d), np.nan, dtype=np.float32)
    mean_pool(table, ids, offsets, out)
    expected = mean_pool_reference(table, ids, offsets)
    # Float32 sums of up to 12 terms: an error of 12 roundings, against the length of the sum.
    total = np.array([np.linalg.norm(table[ids[a:b]].sum(0)) for a, b in _spans(offsets)])
    size_of_terms = np.array([np.abs(table[ids[a:b]]).sum() for a, b in _spans(offsets)])
    allowed = 2.0**-22 * (1 + size_of_terms / np.maximum(total, 1e-30))
    assert (np.abs(out - expected) <= allowed[:, None]).all()
    np.testing.assert_array_equal(out.any(axis=1), np.array(lengths, dtype=bool))


def _spans(offsets: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))


def test_rows_that_cancel_out_give_the_zero_row() -> None:
    table = np.array([[1, -2], [-1, 2]], dtype=np.float32)
    out = np.ones((1, 2), dtype=np.float32)
    mean_pool(table, np.array([0, 1], np.int32), np.array([0, 2]), out)
    assert not out.any()


def test_repeated_pieces_count_each_time() -> None:
    table = np.eye(2, dtype=np.float32)
    out = np.empty((1, 2), dtype=np.float32)
    mean_pool(table, np.array([0, 0, 0, 1, 1, 1, 1], np.int32), np.array([0, 7]), out)
    np.testing.assert_allclose(out, [[0.6, 0.8]], rtol=1e-6)


# --- pieces -------------------------------------------------------------------------------------


def test_ids_are_those_of_sentencepiece(
    vocabulary: bytes, german: list[str], english: list[str]
) -> None:
    tokenizer, processor = Tokenizer(vocabulary), raw(vocabulary)
    sentences = [*german, "", *english, "Straße 日本 x", " two  spaces ", "a\tb\u2028c\0d"]
    ids, offsets = tokenizer(sentences)
    assert ids.dtype == np.int32 and offsets.dtype == np.int64
    assert len(offsets) == len(sentences) + 1 and offsets[-1] == len(ids)
    bare = processor.piece_to_id("▁")
    for sentence, (start, end) in zip(sentences, _spans(offsets), strict=True):
        own = [i for i in processor.encode(sentence) if i not in (processor.unk_id(), bare)]
        assert ids[start:end].tolist() == own, sentence


def test_the_vocabulary_puts_a_bare_boundary_before_what_it_does_not_know(
    vocabulary: bytes,
) -> None:
    """Else the test above and the next say less than they seem to."""
    processor = raw(vocabulary)
    assert processor.encode("日本", out_type=str) == ["▁", "日本"]
    assert processor.piece_to_id("▁") != processor.unk_id()


def test_unknown_and_bare_boundary_are_dropped(vocabulary: bytes, encoder: Encoder) -> None:
    ids, offsets = Tokenizer(vocabulary)(WITHOUT_PIECES)
    assert len(ids) == 0
    assert offsets.tolist() == [0] * (len(WITHOUT_PIECES) + 1)
    known, mixed = encoder.encode(["Der Hund bellt.", "Der 日本 Hund bellt."])
    np.testing.assert_array_equal(known, mixed)


def test_no_sentences(vocabulary: bytes, encoder: Encoder) -> None:
    ids, offsets = Tokenizer(vocabulary)([])
    assert len(ids) == 0 and offsets.tolist() == [0]
    assert encoder.encode([]).shape == (0, encoder.dimension)


# --- vectors ------------------------------------------------------------------------------------


def test_vectors_are_of_unit_length_or_zero(
    encoder: Encoder, german: list[str], english: list[str]
) -> None:
    vectors = encoder.encode([*german, *WITHOUT_PIECES, *english])
    assert vectors.dtype == np.float32 and vectors.flags.c_contiguous
    length = np.linalg.norm(vectors.astype(np.float64), axis=1)
    n = len(german)
    np.testing.assert_array_equal(length[n : n + len(WITHOUT_PIECES)], 0)
    np.testing.assert_allclose(np.delete(length, range(n, n + len(WITHOUT_PIECES))), 1, atol=1e-6)
    np.testing.assert_array_equal(np.signbit(vectors[n : n + len(WITHOUT_PIECES)]), False)


def test_vectors_are_the_reference_of_table_and_pieces(encoder: Encoder, german: list[str]) -> None:
    expected = mean_pool_reference(encoder.model.table(), *encoder.tokenizer(german))
    np.testing.assert_allclose(encoder.encode(german), expected, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("chunk", [1, 7, 2000])
def test_vectors_do_not_depend_on_threads_or_chunks(
    tiny_model: Path,
    german: list[str],
    english: list[str],
    threads: int,
    chunk: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentences = [*german, *WITHOUT_PIECES, *english] * 3
    one_by_one = np.concatenate([Encoder.load(tiny_model, 1).encode([s]) for s in sentences[:128]])
    monkeypatch.setattr(encoders, "CHUNK", chunk)
    vectors = Encoder.load(tiny_model, threads).encode(sentences)
    np.testing.assert_array_equal(vectors[:128].view(np.uint32), one_by_one.view(np.uint32))
    np.testing.assert_array_equal(vectors[:128], vectors[128:256])


def test_vectors_do_not_depend_on_what_else_is_encoded(
    encoder: Encoder, german: list[str], english: list[str]
) -> None:
    mixed = encoder.encode([text for pair in zip(german, english, strict=True) for text in pair])
    np.testing.assert_array_equal(mixed[::2], encoder.encode(german))
    np.testing.assert_array_equal(mixed[1::2], encoder.encode(english))


def test_a_line_of_a_megabyte(encoder: Encoder, german: list[str]) -> None:
    line = " ".join(german)
    line = " ".join([line] * (1_000_000 // len(line) + 1))
    assert len(line) >= 1_000_000
    started = time.perf_counter()
    vectors = encoder.encode([line, german[0]])
    assert time.perf_counter() - started < 20
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(vectors[1], encoder.encode([german[0]])[0])
    ids, offsets = encoder.tokenizer([line])
    expected = mean_pool_reference(encoder.model.table(), ids, offsets)[0]
    np.testing.assert_allclose(vectors[0], expected, atol=1e-3)


def test_translations_are_close_in_the_small_model(
    encoder: Encoder, german: list[str], english: list[str]
) -> None:
    """What the tests of mining rest on."""
    nearest = (encoder.encode(german) @ encoder.encode(english).T).argmax(axis=1)
    assert (nearest == np.arange(len(german))).mean() > 0.9
