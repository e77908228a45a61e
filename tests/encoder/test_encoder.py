"""miner.encoder.encoder and its kernel: a unit vector depends on its sentence alone."""

from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import mean_pool_reference

from miner.encoder import encoder as encoders
from miner.encoder.encoder import Encoder
from miner.encoder.model import quantise
from miner.encoder.pieces import PieceTokenizer
from miner.kernels.pool import mean_pool, mean_pool_half, to_half
from miner.ragged import offsets_of

# The small vocabulary has no piece of these.
WITHOUT_PIECES = ["", " ", "\t \u3000", "日本語の文", "привет", "\U0001f600", "▁", "▁ ▁"]


def reference(encoder: Encoder, sentences: list[str]) -> np.ndarray:
    """Compute vectors in float64, over the float32 table of the model."""
    table = encoder.model.parts[0].table()
    ones = np.ones(len(table), dtype=np.float32)
    return mean_pool_reference(table, ones, *encoder.tokenizer(sentences))


def raw(vocabulary: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(vocabulary)
    return processor


def random_table(
    generator: np.random.Generator, size: int, d: int, dtype: type
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a table with some zero rows, and the scales of its rows."""
    table = generator.normal(size=(size, d)).astype(np.float32)
    table[generator.random(size) < 0.1] = 0
    if dtype is np.int8:
        return quantise(table)
    return table, np.ones(size, dtype=np.float32)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.integers(1, 20),
    st.lists(st.integers(0, 12), max_size=12),
    st.sampled_from([np.int8, np.float32]),
)
def test_mean_pool_is_its_reference(seed, d, size, lengths, dtype):
    """Random shapes. Zero lengths are empty sentences, and ids of 20 pieces repeat often."""
    generator = np.random.default_rng(seed)
    table, scales = random_table(generator, size, d, dtype)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    ids = generator.integers(size, size=offsets[-1]).astype(np.int32)
    out = np.full((len(lengths), d), np.nan, dtype=np.float32)
    mean_pool(table, scales, ids, offsets, out)
    expected = mean_pool_reference(table, scales, ids, offsets)
    # Float32 sums of up to 12 terms, each rounded: an error of 13 roundings, against the length of
    # the sum.
    rows = table.astype(np.float64) * scales[:, None]
    total = np.array([np.linalg.norm(rows[ids[a:b]].sum(0)) for a, b in _spans(offsets)])
    size_of_terms = np.array([np.abs(rows[ids[a:b]]).sum() for a, b in _spans(offsets)])
    # If rows cancel out except for rounding, any direction is right.
    allowed = 2.0**-22 * (1 + size_of_terms / np.maximum(total, 1e-30))
    assert (np.abs(out - expected) <= allowed[:, None]).all()
    empty = size_of_terms == 0
    assert not out[empty].any()

    halves = np.ones((len(lengths), d), dtype=np.float16)
    mean_pool_half(table, scales, ids, offsets, halves.view(np.uint16))
    np.testing.assert_array_equal(halves.view(np.uint16), out.astype(np.float16).view(np.uint16))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.integers(0, 40))
def test_an_int8_table_gives_the_bits_of_its_float32_table(seed: int, d: int, n: int) -> None:
    """Products are rounded to float32 before they are added: no fused multiply-add."""
    generator = np.random.default_rng(seed)
    table, scales = random_table(generator, 50, d, np.int8)
    offsets = offsets_of(generator.integers(0, 30, n))
    ids = generator.integers(len(table), size=offsets[-1]).astype(np.int32)
    out, expected = (np.full((n, d), np.nan, dtype=np.float32) for _ in range(2))
    mean_pool(table, scales, ids, offsets, out)
    floats = table.astype(np.float32) * scales[:, None]
    mean_pool(floats, np.ones(len(table), np.float32), ids, offsets, expected)
    np.testing.assert_array_equal(out.view(np.uint32), expected.view(np.uint32))


def test_rounding_to_float16_is_numpys() -> None:
    """Every float16, the adjacent float32 numbers, every tie, and random bits."""
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = np.sort(halves[np.isfinite(halves)])
    ties = (finite[1:] + finite[:-1]) / 2
    large = np.array([65519.99, 65520, -65520, 1e38], dtype=np.float32)
    exact = np.concatenate([halves[~np.isnan(halves)], ties, large])
    around = [np.nextafter(exact, np.float32(side)) for side in (-np.inf, np.inf)]
    bits = np.random.default_rng(3).integers(2**32, size=100_000, dtype=np.uint32)
    values = np.concatenate([exact, *around, bits.view(np.float32)])
    out = np.empty(len(values), dtype=np.uint16)
    to_half(values, out)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = values.astype(np.float16)
    nan = np.isnan(values)
    np.testing.assert_array_equal(out[~nan], expected.view(np.uint16)[~nan])
    assert np.isnan(out.view(np.float16)[nan]).all()


def _spans(offsets: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))


def test_ids_agree_with_sentencepiece(vocabulary, german, english):
    tokenizer, processor = PieceTokenizer(vocabulary), raw(vocabulary)
    sentences = [*german, "", *english, "Straße 日本 x", " two  spaces ", "a\tb\u2028c d"]
    ids, offsets = tokenizer(sentences)
    assert ids.dtype == np.int32 and offsets.dtype == np.int64
    assert len(offsets) == len(sentences) + 1 and offsets[-1] == len(ids)
    bare = processor.piece_to_id("▁")
    for sentence, (start, end) in zip(sentences, _spans(offsets), strict=True):
        own = [i for i in processor.encode(sentence) if i not in (processor.unk_id(), bare)]
        assert ids[start:end].tolist() == own, sentence


def test_unknown_and_bare_boundary_are_dropped(vocabulary: bytes, encoder: Encoder) -> None:
    ids, offsets = PieceTokenizer(vocabulary)(WITHOUT_PIECES)
    assert len(ids) == 0
    assert offsets.tolist() == [0] * (len(WITHOUT_PIECES) + 1)
    known, mixed = encoder.encode(["Der Hund bellt.", "Der 日本 Hund bellt."])
    np.testing.assert_array_equal(known, mixed)
    assert PieceTokenizer(vocabulary)([])[1].tolist() == [0]
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_vectors_are_the_reference_of_table_and_pieces(encoder: Encoder, german: list[str]) -> None:
    expected = reference(encoder, german)
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


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1, 7, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_stream_gives_the_vectors_of_each_block(tiny_model, german, threads, block, dtype):
    encoder = Encoder.load(tiny_model, threads)
    sentences = [*german, *WITHOUT_PIECES]
    blocks = [sentences[start : start + block] for start in range(0, len(sentences), block)]
    vectors = list(encoder.stream(iter(blocks), dtype))
    assert [len(part) for part in vectors] == [len(part) for part in blocks]
    assert {part.dtype for part in vectors} == {np.dtype(dtype)}
    expected = encoder.encode(sentences).astype(dtype)
    np.testing.assert_array_equal(np.concatenate(vectors), expected)
