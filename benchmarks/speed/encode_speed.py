"""Measure the throughput of encoders, text to vectors, on the same text with the same threads.

Ours and the two other averages of embeddings have the same vocabulary and table, those of the model
that ships. All make unit vectors. SentencePiece alone, on the same chunks and threads, is the limit
for ours: tokenisation without averaging. Slow systems encode fewer sentences of the same text.
Loading and a tenth of the sentences to warm up do not count.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import speed_peers, speed_text
from benchmarks.speed.process import Job, Meter, alternate, rows
from miner import Encoder
from miner.encoder.encoder import CHUNK

OURS = "ours"
SENTENCES = 200_000
# Sentences whose vectors are compared with ours, for systems that should agree.
COMPARED = 2000
SAME = "sentence-transformers StaticEmbedding", "model2vec"


def ours(threads: int, sample: Path) -> speed_peers.Encode:
    return Encoder.load("default", threads).encode


def in_blocks(threads: int, sample: Path) -> speed_peers.Encode:
    """Return a function that encodes like the building of an index: in blocks, as float16,
    discarded.
    """
    encoder = Encoder.load("default", threads)

    def encode(texts: list[str]) -> np.ndarray:
        blocks = (texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK))
        return np.array([len(block) for block in encoder.stream(blocks, np.float16)])

    return encode


def sentencepiece(threads: int, sample: Path) -> speed_peers.Encode:
    """Return a function that only tokenises; it returns numbers of pieces in place of vectors."""
    processor = speed_peers.shipped_pieces()

    def pieces(chunk: list[str]) -> int:
        return sum(map(len, processor.encode(chunk, num_threads=1)))

    def encode(texts: list[str]) -> np.ndarray:
        chunks = [texts[start : start + CHUNK] for start in range(0, len(texts), CHUNK)]
        with ThreadPoolExecutor(threads) as pool:
            return np.array(list(pool.map(pieces, chunks)))

    return encode


# Each system with the share of the sentences that it encodes.
SYSTEMS = {
    OURS: (ours, 1),
    "ours, by blocks of float16": (in_blocks, 1),
    "(sentencepiece alone)": (sentencepiece, 1),
    SAME[0]: (speed_peers.static_embedding, 1),
    SAME[1]: (speed_peers.model2vec, 1),
    "fastText average, d=300": (speed_peers.fasttext, 1 / 4),
    "BiLSTM of LASER's size": (speed_peers.bilstm, 1 / 200),
    "transformer of BERT-base's size": (speed_peers.transformer, 1 / 400),
}


def job(name: str, path: str, count: int, threads: int) -> dict[str, Any]:
    """Measure one system once."""
    texts = speed_text.read(path, count)
    encode = SYSTEMS[name][0](threads, Path(path))
    encode(texts[: max(1, count // 10)])
    meter = Meter()
    with meter:
        encode(texts)
    found = meter.result(count)
    if name in SAME:
        some = texts[:COMPARED]
        cosine = np.sum(encode(some) * ours(threads, Path(path))(some), axis=1)
        found["mean cosine with ours"] = round(float(cosine.mean()), 5)
    return found


def measure(path: Path, sentences: int, rounds: int, threads: int) -> list[dict[str, Any]]:
    jobs = []
    for name, (_, share) in SYSTEMS.items():
        count = max(8, round(sentences * share))
        arguments = {"name": name, "path": str(path), "count": count, "threads": threads}
        jobs.append(Job(name, "encode_speed:job", arguments))
    found = rows(alternate(jobs, rounds, threads), OURS)
    for row in found:
        # With fewer sentences the memory of the batch would dominate.
        if row.get("sentences") == sentences:
            row["memory, bytes a vector"] = round(row["memory MiB"] * 2**20 / sentences)
    return found
