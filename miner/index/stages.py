"""Stages that turn files of text into an index: read, encode, duplicates, join."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from miner.arrays import temporary_array
from miner.encoder.encoder import CHUNK
from miner.encoder.encoder_ref import EncoderRef
from miner.index.columns import BLOCK, SENTENCES, TextWriter
from miner.index.directory import FLAT, StoredIndex, finish
from miner.index.duplicates import duplicates_of, hashed, partition_of, write_first
from miner.index.parts import join_parts, long_lines, part_texts
from miner.index.sentence_file import SentenceFile
from miner.index.sources import Source, read_corpus
from miner.index.text_files import TextFile
from miner.machine import release_pages
from miner.tasks.task import Job, Result, hints
from miner.text.corpus import Reading


@dataclass(frozen=True)
class EncodedSpan:
    """Vectors of consecutive sentences of a file; ``first`` is the row of the first."""

    task: Result
    first: int


@hints(seconds=7e-6)
def read(job: Job, file: TextFile, reading: Mapping[str, Any]) -> dict[str, Any]:
    """Read one file: its sentences, their origins and the hashes of their plain forms."""
    writer = TextWriter(job.out)
    if file.given and (unknown := reading.keys() - Reading.__annotations__.keys()):
        raise TypeError(f"there is no setting of reading named {min(unknown)!r}")
    settings = {} if file.given else reading
    with file.opened() as local:
        source = read_corpus(writer, local, settings, job.report)
    origin = vars(source) | {"path": file.name}
    if file.stream:
        origin |= {"bytes": None, "sha256": None}
    tables = writer.close_part()
    job.save(**tables)
    texts = SentenceFile(job.out / SENTENCES, tables["offset"])
    longest = long_lines(texts, tables["offset"], tables["line"])
    return {"rows": len(texts), "source": origin, "long": longest}


@hints(seconds=4e-5, gpu=True)
def encode(job: Job, read: Result, start: int, end: int, model: EncoderRef, dtype: str) -> None:
    """Encode a span of a file's sentences."""
    texts = part_texts(read)
    encoder = model.open(job.threads)
    blocks = (texts.slice(i, min(i + CHUNK, end)) for i in range(start, end, CHUNK))

    def vectors() -> Iterator[np.ndarray]:
        done = 0
        for block in encoder.stream(blocks, np.dtype(dtype)):
            yield block
            done += len(block)
            job.report("encoding", done, end - start)

    job.join("vectors", vectors())
    job.save(hashes=hashed(read.array("hash")[start:end]))


@hints(seconds=1e-5, memory=100)
def duplicates(
    job: Job, reads: list[Result], spans: list[EncodedSpan], partition: int, partitions: int
) -> None:
    """Find the duplicates of a text among the sentences with hashes of a partition."""
    arrays = [span.task.array("hashes") for span in spans]
    rows = partition_of(arrays, [span.first for span in spans], partition, partitions)
    firsts = np.cumsum([0, *(read.value["rows"] for read in reads)])

    def sentence(row: int) -> str:
        # Several files may start at this row; only the last has sentences.
        number = int(np.searchsorted(firsts, row, side="right")) - 1
        return _part_texts(reads[number])[row - int(firsts[number])]

    job.save(**vars(duplicates_of(rows, sentence)))


@hints(seconds=6e-6)
def join(
    job: Job,
    reads: list[Result],
    spans: list[EncodedSpan],
    duplicates: list[Result],
    model: EncoderRef,
    dimension: int,
    factory: str,
    old: str | None = None,
    digest: str | None = None,
) -> dict[str, Any]:
    """Join files and spans to an index, after the rows of the index ``old``, if any.

    ``duplicates`` are the results of all partitions; empty with an old index, whose sentences are
    compared too. ``digest`` is that of the old index, which must be unchanged.
    """
    parts = [(read, Source(**read.value["source"])) for read in reads]
    before = None if old is None else StoredIndex.open(old).verify()

    def vectors() -> Iterator[np.ndarray]:
        done, total = 0, spans[-1].first + len(spans[-1].task.array("vectors")) if spans else 0
        for span in spans:
            whole = span.task.array("vectors")
            for start in range(0, len(whole), BLOCK):
                yield whole[start : start + BLOCK]
                release_pages(whole)
                done += len(whole[start : start + BLOCK])
                job.report("joining", done, total)

    first = None
    rows = sum(read.value["rows"] for read in reads)
    if before is None:
        first = temporary_array(rows, np.int64, job.out)
        columns = ([task.array(name) for task in duplicates] for name in ("row", "first"))
        write_first(first, *columns)
    sources = join_parts(job.out, parts, vectors(), dimension, first, before)
    entry = model.as_dict() if before is None else before.meta["model"]
    # A compressed index is trained on the device of its encoder.
    device = "cpu" if factory == FLAT else getattr(model.open(job.threads), "device", "cpu")
    finish(job.out, entry, sources, factory, job.report, before, device)
    return {"rows": rows}


_part_texts = lru_cache(maxsize=64)(part_texts)
