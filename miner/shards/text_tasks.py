"""Tasks that turn files of text into the two indexes: read, encode, duplicates, index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import create_npy, temporary_array
from miner.encoder.encoder import CHUNK, Encoder
from miner.index.embed_corpus import Source, read_corpus
from miner.index.joined import PartWriter, join_parts, part_hashes, part_texts
from miner.index.sentence_file import Texts
from miner.index.store import BLOCK
from miner.machine import release_pages
from miner.mining.verification import prepare_texts
from miner.names import SIDES
from miner.progress import silent
from miner.ragged import offsets_of
from miner.shards.context import TEXT, Context, load, save, save_text
from miner.shards.duplicate_sentences import (
    duplicates_of,
    hashed,
    partition_of,
    write_distinct,
    write_first,
)
from miner.text.remote import is_remote, local_copy


def read(context: Context, out: Path, side: int, number: int) -> dict[str, Any]:
    """Read one file: its sentences, their places and the hashes of their plain forms.

    A file in an object store is copied to the directory of temporary files meanwhile.
    """
    path = context.plan.texts[side][number]
    context.plan.check_text(side, number)
    writer = PartWriter(out)
    with local_copy(path) if is_remote(path) else nullcontext(path) as local:
        (source,) = read_corpus(writer, [local], 0, context.plan.reading, silent)
    return {"rows": writer.close_part(), "source": vars(source) | {"path": path}}


def encode(context: Context, out: Path, side: int, number: int, start: int, end: int) -> None:
    """Encode a span of a file's sentences, and tokenise them for verification."""
    texts = _Span(part_texts(context.directory(f"read/{SIDES[side]}-{number:04}")), start, end)
    encoder = context.encoder(side)
    blocks = (texts.slice(i, min(i + CHUNK, len(texts))) for i in range(0, len(texts), CHUNK))
    shape, dtype = (len(texts), encoder.dimension), np.dtype(context.plan.dtype)
    vectors = create_npy(out / "vectors.npy", dtype, shape)
    known = np.zeros(len(texts), dtype=bool)
    done = 0
    for block in encoder.stream(blocks, dtype):
        vectors[done : done + len(block)] = block
        known[done : done + len(block)] = block.any(axis=1)
        done += len(block)
        release_pages(vectors)  # they go to disk, and count no longer as this process's
    vectors.flush()
    hashes = part_hashes(context.directory(f"read/{SIDES[side]}-{number:04}"))[start:end]
    save(out, hashes=hashed(hashes, known))
    verifying = context.encoder(0)
    if context.plan.verifying and isinstance(verifying, Encoder):
        tokenizer = verifying.tokenizer
        save_text(out, prepare_texts(texts, tokenizer, context.threads, context.memory))


def duplicates(
    context: Context, out: Path, side: int, partition: int, partitions: int
) -> dict[str, Any]:
    """Find the duplicates of a side among the sentences with hashes of a partition."""
    spans = context.spans(side)
    arrays = [context.array(span.task, "hashes") for span in spans]
    found = duplicates_of(
        partition_of(arrays, [span.first for span in spans], partition, partitions),
        context.sentence_of(side),
    )
    save(out, **vars(found))
    return {"distinct": found.distinct}


def index(context: Context, out: Path, side: int, partitions: int) -> dict[str, Any]:
    """Join the files and spans of a side to an index, with the duplicates of all partitions."""
    plan, name = context.plan, SIDES[side]
    rows = plan.rows(context.work)[side]
    spans = context.spans(side)
    sources, parts = [], []
    for number in range(len(rows)):
        task = f"read/{name}-{number:04}"
        sources.append(Source(**context.result(task)["source"]))
        parts.append((context.directory(task), sources[-1]))
    empty = np.empty((0, context.encoder(side).dimension), np.float16)

    def blocks() -> Iterator[np.ndarray]:
        for span in spans:
            vectors = context.array(span.task, "vectors")
            for start in range(0, len(vectors), BLOCK):
                yield vectors[start : start + BLOCK]
                release_pages(vectors)

    tasks = [f"duplicates/{name}-{number:04}" for number in range(partitions)]
    row, firsts, dropped = (
        [context.array(task, one) for task in tasks] for one in ("row", "first", "dropped")
    )
    total, distinct = sum(rows), sum(int(context.result(task)["distinct"]) for task in tasks)
    first = temporary_array(total, np.int64, out)
    write_first(first, row, firsts)
    join_parts(out, parts, chain([empty], blocks()), plan.entries[side], first)
    del first  # and its space on the disk
    write_distinct(create_npy(out / "rows.npy", np.int64, (distinct,)), dropped)
    if plan.verifying:
        _join_text(out, [context.directory(span.task) for span in spans])
    return {"rows": total, "distinct": distinct}


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
            release_pages(values)
            release_pages(joined)
        joined.flush()
