"""Tasks that turn files of text into the two indexes: read, encode, index."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.encoder import CHUNK, Encoder
from miner.index.embed_corpus import Source, read_corpus
from miner.index.joined import PartWriter, join_parts, part_texts
from miner.index.sentence_file import Texts
from miner.index.store import BLOCK, Store
from miner.mining.verification import prepare_texts
from miner.names import SIDES
from miner.npy import create_npy
from miner.progress import silent
from miner.ragged import offsets_of
from miner.shards.context import TEXT, Context, load, save, save_text


def read(context: Context, out: Path, side: int, number: int) -> dict[str, Any]:
    """Read one file: its sentences, their places and the hashes of their plain forms."""
    context.plan.check_texts()
    writer = PartWriter(out)
    path = context.plan.texts[side][number]
    (source,) = read_corpus(writer, [path], 0, context.plan.reading, silent)
    return {"rows": writer.close_part(), "source": vars(source)}


def encode(context: Context, out: Path, side: int, number: int, start: int, end: int) -> None:
    """Encode a span of a file's sentences, and tokenise them for verification."""
    texts = _Span(part_texts(context.directory(f"read/{SIDES[side]}-{number:04}")), start, end)
    encoder = context.encoder(side)
    blocks = (texts.slice(i, min(i + CHUNK, len(texts))) for i in range(0, len(texts), CHUNK))
    shape, dtype = (len(texts), encoder.dimension), np.dtype(context.plan.dtype)
    vectors = create_npy(out / "vectors.npy", dtype, shape)
    done = 0
    for block in encoder.stream(blocks, dtype):
        vectors[done : done + len(block)] = block
        done += len(block)
    vectors.flush()
    verifying = context.encoder(0)
    if context.plan.verifying and isinstance(verifying, Encoder):
        tokenizer = verifying.tokenizer
        save_text(out, prepare_texts(texts, tokenizer, context.threads, context.memory))


def index(context: Context, out: Path, side: int) -> dict[str, Any]:
    """Join the files and spans of a side to an index, and find duplicates across all of them.

    Memory: 24 bytes a sentence.
    """
    plan, name = context.plan, SIDES[side]
    rows = plan.rows(context.work)[side]
    reads = [f"read/{name}-{number:04}" for number in range(len(rows))]
    spans = [
        f"encode/{name}-{number:04}-{part:04}"
        for number, size in enumerate(rows)
        for part in range(-(-size // plan.shard_lines))
    ]
    sources = [Source(**context.result(task)["source"]) for task in reads]
    parts = [(context.directory(task), source) for task, source in zip(reads, sources, strict=True)]
    empty = np.empty((0, context.encoder(side).dimension), np.float16)

    def blocks() -> Iterator[np.ndarray]:
        for task in spans:
            vectors = context.array(task, "vectors")
            for start in range(0, len(vectors), BLOCK):
                yield vectors[start : start + BLOCK]

    join_parts(out, parts, chain([empty], blocks()), plan.entries[side])
    distinct = Store(out).distinct()
    save(out, rows=distinct)
    if plan.verifying:
        _join_text(out, [context.directory(task) for task in spans])
    return {"rows": sum(rows), "distinct": len(distinct)}


class _Span(Texts):
    """A span of the sentences of a file, as :func:`prepare_texts` reads them."""

    def __init__(self, texts: Texts, start: int, end: int):
        self._texts, self._start, self._end = texts, start, end
        self.size = texts.size

    def __len__(self) -> int:
        return self._end - self._start

    def slice(self, start: int, end: int) -> list[str]:
        return self._texts.slice(self._start + start, self._start + end)

    def release(self) -> None:
        self._texts.release()


def _join_text(out: Path, parts: list[Path]) -> None:
    """Join prepared text. Offsets take 8 bytes a sentence; the rest goes part by part."""
    for name in TEXT:
        file = f"text-{name.replace('_', '-')}.npy"
        found = [load(part / file) for part in parts]
        if name.endswith("offsets"):
            counts = [np.diff(offsets) for offsets in found]
            np.save(out / file, offsets_of(np.concatenate([np.empty(0, np.int64), *counts])))
            continue
        dtype = found[0].dtype if found else np.dtype(np.int64)
        total = sum(map(len, found))
        joined = create_npy(out / file, dtype, (total,))
        done = 0
        for values in found:
            joined[done : done + len(values)] = values
            done += len(values)
        joined.flush()
