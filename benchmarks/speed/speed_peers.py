"""Other encoders as functions of sentences, set up as their documentation recommends.

The two averages of embeddings get our table and our vocabulary, as a ``tokenizers`` unigram model
with the same pieces, scores and normalisation. Their vectors equal ours, except where the two
tokenisers disagree (one sentence in 20,000). The other encoders have random weights, and as many
embeddings as those they are named after: pieces of ours beyond that share them.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from miner import Encoder
from miner.encoder.model import load
from miner.encoder.pieces import PieceTokenizer

Encode = Callable[[list[str]], np.ndarray]


def shipped_pieces() -> Any:
    """Return the SentencePiece processor of the shipped model."""
    return PieceTokenizer(load().vocabularies["sp.model"]).processor


def tokenizer_and_table() -> tuple[Any, np.ndarray]:
    """Return the shipped model as a ``tokenizers.Tokenizer`` and a table ``(V, d) float32``.

    Pieces that our encoder ignores (unknown, the bare word-boundary mark) have zero rows.
    """
    from sentencepiece import sentencepiece_model_pb2 as protocol
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    encoder = Encoder.load("default")
    proto = protocol.ModelProto()
    proto.ParseFromString(encoder.model.vocabularies["sp.model"])
    pieces = [(piece.piece, piece.score) for piece in proto.pieces]
    tokenizer = Tokenizer(models.Unigram(pieces, proto.trainer_spec.unk_id, False))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            normalizers.Strip(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    table = encoder.model.parts[0].table().copy()
    table[~encoder.tokenizer.meaningful] = 0
    return tokenizer, table


def static_embedding(threads: int, sample: Path) -> Encode:
    """StaticEmbedding of sentence-transformers. Its default batch of 32 is for transformers."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer, table = tokenizer_and_table()
    module = StaticEmbedding(tokenizer, embedding_weights=table)
    model = SentenceTransformer(modules=[module], device="cpu")
    return lambda texts: model.encode(
        texts, batch_size=2048, show_progress_bar=False, normalize_embeddings=True
    )


def model2vec(threads: int, sample: Path) -> Encode:
    """model2vec with its defaults: batches of 1,024, on all cores above 10,000 sentences."""
    from model2vec import StaticModel

    tokenizer, table = tokenizer_and_table()
    model = StaticModel(vectors=table, tokenizer=tokenizer, normalize=True)
    return lambda texts: model.encode(texts, show_progress_bar=False)


_fasttext: Any = None


def fasttext(threads: int, sample: Path) -> Encode:
    """fastText: 300 dimensions, character n-grams of 3 to 6, 2 million buckets.

    A short training on the text gives it its vocabulary. The library holds Python's lock, so forked
    processes are used in place of threads; their memory does not count.
    """
    import fasttext as library

    global _fasttext  # global, because forked processes inherit it
    _fasttext = library.train_unsupervised(
        str(sample), dim=300, minCount=1, epoch=1, ws=1, neg=1, thread=threads, verbose=0
    )
    pool = multiprocessing.get_context("fork").Pool(threads)

    def encode(texts: list[str]) -> np.ndarray:
        chunks = [texts[start : start + 1000] for start in range(0, len(texts), 1000)]
        return np.concatenate(pool.map(_fasttext_vectors, chunks, chunksize=1))

    return encode


def _fasttext_vectors(texts: list[str]) -> np.ndarray:
    vectors = np.stack([_fasttext.get_sentence_vector(text) for text in texts])
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(norms, 1e-9)


def bilstm(threads: int, sample: Path) -> Encode:
    """BiLSTM of LASER's size: 5 layers of 512 a direction, 50,000 embeddings of 320, max-pooled.

    Batches of up to 12,000 pieces, sorted by length, packed.
    """
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    torch.manual_seed(1)
    embedding = torch.nn.Embedding(50_000, 320)
    lstm = torch.nn.LSTM(320, 512, num_layers=5, bidirectional=True, batch_first=True).eval()

    def forward(ids: Any, lengths: Any) -> Any:
        packed = pack_padded_sequence(embedding(ids), lengths, batch_first=True)
        states = pad_packed_sequence(lstm(packed)[0], batch_first=True, padding_value=-torch.inf)[0]
        return torch.nn.functional.normalize(states.max(dim=1).values)

    size = 1024, embedding.num_embeddings
    return _by_length(forward, size, lambda count, longest: count * longest <= 12_000)


def transformer(threads: int, sample: Path) -> Encode:
    """Transformer of BERT-base's size: 12 layers of 768, 12 heads, 512 positions, mean-pooled.

    Batches of 32 sorted by length, as in sentence-transformers; torch's fused inference path,
    which skips the padding.
    """
    import torch

    torch.manual_seed(1)
    words, places = torch.nn.Embedding(34_000, 768), torch.nn.Embedding(512, 768)
    layer = torch.nn.TransformerEncoderLayer(
        768, 12, 3072, activation="gelu", batch_first=True, layer_norm_eps=1e-12
    )
    encoder = torch.nn.TransformerEncoder(layer, 12).eval()

    def forward(ids: Any, lengths: Any) -> Any:
        position = torch.arange(ids.shape[1])
        padding = position[None, :] >= lengths[:, None]
        states = encoder(words(ids) + places(position), src_key_padding_mask=padding)
        summed = states.masked_fill(padding[:, :, None], 0).sum(dim=1)
        return torch.nn.functional.normalize(summed)

    size = 768, words.num_embeddings
    return _by_length(forward, size, lambda count, longest: count <= 32, most=512)


def _by_length(
    forward: Callable[[Any, Any], Any],
    size: tuple[int, int],
    fits: Callable[[int, int], bool],
    most: int = 10_000,
) -> Encode:
    """Tokenise by SentencePiece on all cores, sort by length, longest first, run in batches.

    ``size``: dimension of the vectors, and embeddings that the encoder has.
    """
    import torch

    processor = shipped_pieces()
    dimension, embeddings = size

    def encode(texts: list[str]) -> np.ndarray:
        ids = [found[:most] or [0] for found in processor.encode(texts, num_threads=-1)]
        out = torch.empty(len(texts), dimension)
        with torch.inference_mode():
            for batch in _batches([len(found) for found in ids], fits):
                chosen = [torch.tensor(ids[row]) % embeddings for row in batch]
                lengths = torch.tensor([len(found) for found in chosen])
                padded = torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True)
                out[batch] = forward(padded, lengths)
        return out.numpy()

    return encode


def _batches(lengths: list[int], fits: Callable[[int, int], bool]) -> Iterator[list[int]]:
    """Yield batches of positions, longest first, for which ``fits(count, longest)``."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if batch and not fits(len(batch) + 1, lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
