"""Text to vectors: this engine against sentencepiece alone, and against other static encoders.

    python -m benchmarks.encoding --data DIR [--threads N] [--sentences N]

The German side of the de-en training text, shuffled, with the model that ships. *sentencepiece
alone* cuts the same chunks into pieces with as many threads and does nothing with them: no encoder
on top of it can be faster. model2vec and sentence-transformers' StaticEmbedding, where they are
installed, get a table of the same size and the same pieces in a Hugging Face tokenizer, and threads
as they like. All alternate in one run, so that a machine that slows down slows all; the figures are
medians, and medians of the ratios within a round.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

from benchmarks import report
from miner import Encoder
from miner.corpus import read_bitext
from miner.encoder import CHUNK
from miner.vectors import encode_corpus

ROUNDS = 5
ALONE = "sentencepiece alone"


def text(data: Path, count: int) -> list[str]:
    files = sorted((data / "train" / "de-en").glob("*.tsv.xz"))
    sentences = [sentence for path in files for sentence in read_bitext(path).source]
    order = np.random.default_rng(0).permutation(len(sentences))[:count]
    return [sentences[row] for row in order]


def chunks(sentences: list[str]) -> Iterator[list[str]]:
    return (sentences[start : start + CHUNK] for start in range(0, len(sentences), CHUNK))


def exhaust(items: Any) -> None:
    for _ in items:
        pass


def alone(encoder: Encoder) -> Callable[[Sequence[str]], object]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(encoder.model.vocabulary)

    def cut(chunk: list[str]) -> None:
        processor.encode(chunk, num_threads=1)

    def work(sentences: Sequence[str]) -> None:
        with ThreadPoolExecutor(encoder.threads) as pool:
            exhaust(pool.map(cut, chunks(list(sentences))))

    return work


def others(encoder: Encoder) -> dict[str, Callable[[Sequence[str]], object]]:
    """Other static encoders that are installed, with our table and our pieces."""
    try:
        import tokenizers
    except ImportError:
        return {}
    processor = encoder.tokenizer.processor
    size = encoder.tokenizer.size
    vocabulary = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(size)]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.Unigram(vocabulary, unk_id=processor.unk_id(), byte_fallback=False)
    )
    tokenizer.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.NFKC(), tokenizers.normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    table = encoder.model.table()
    found: dict[str, Callable[[Sequence[str]], object]] = {}
    try:
        from model2vec import StaticModel

        model = StaticModel(table, tokenizer, normalize=True)
        found["model2vec"] = lambda sentences: model.encode(list(sentences), max_length=None)
    except ImportError:
        pass
    try:
        from sentence_transformers import SentenceTransformer
        from sentence_transformers.models import StaticEmbedding

        static = StaticEmbedding(tokenizer, embedding_weights=table)
        transformer = SentenceTransformer(modules=[static], device="cpu")
        found["StaticEmbedding"] = lambda sentences: transformer.encode(
            list(sentences), batch_size=CHUNK, normalize_embeddings=True
        )
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--json", type=Path, default=report.RESULTS / "encoding.json")
    arguments = parser.parse_args()
    encoder = Encoder.load("default", arguments.threads)
    sentences = text(arguments.data, arguments.sentences)
    with tempfile.TemporaryDirectory(prefix="encoding-") as place:
        corpus, output = Path(place) / "text", Path(place) / "vectors.npy"
        corpus.write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
        works: dict[str, Callable[[Sequence[str]], object]] = {
            ALONE: alone(encoder),
            "list to float32": lambda sentences: exhaust(encoder.stream(chunks(list(sentences)))),
            "list to float16": lambda sentences: exhaust(
                encoder.stream(chunks(list(sentences)), np.float16)
            ),
            "list to one array": encoder.encode,
            "file to file": lambda _: encode_corpus(encoder, [corpus], output),
            **others(encoder),
        }
        rates: dict[str, list[float]] = {name: [] for name in works}
        for work in works.values():
            work(sentences[:CHUNK])  # kernels compiled, files read
        for _ in range(ROUNDS):
            for name, work in works.items():
                begun = time.perf_counter()
                work(sentences)
                rates[name].append(len(sentences) / (time.perf_counter() - begun))
    result = {
        "sentences": len(sentences),
        "threads": encoder.threads,
        "sentences a second": {
            name: round(statistics.median(values)) for name, values in rates.items()
        },
        "share of sentencepiece alone": {
            name: round(
                statistics.median(
                    ours / most for ours, most in zip(values, rates[ALONE], strict=True)
                ),
                3,
            )
            for name, values in rates.items()
        },
    }
    report.write(arguments.json, "benchmarks.encoding", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    report.run(main)
