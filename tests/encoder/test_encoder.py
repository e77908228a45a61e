"""miner.encoder.encoder and its kernel: the vector of a sentence does not depend on the batch."""

from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from support.kernel_references import mean_pool_reference

from miner.encoder import encoder as encoders
from miner.encoder.encoder import Encoder
from miner.encoder.pieces import PieceTokenizer

# Characters without a piece in the small vocabulary.
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
