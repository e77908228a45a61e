"""Indexes and vectors of text files: the pipeline read → encode → duplicates → join."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from miner.encoder.encoder_ref import EncoderRef, lent
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.index.directory import FLAT, StoredIndex
from miner.index.sources import Source
from miner.index.stages import EncodedSpan, duplicates, encode, join, read
from miner.index.text_files import TextFile, known_as, stamps, text_files
from miner.index.vectors import SUFFIXES, Encoded, write_vectors
from miner.option_values import SIDES
from miner.progress import Reporter, silent
from miner.tasks.run import Call, Run, RunOptions, open_run
from miner.tasks.task import Result
from miner.tasks.workers import Workers
from miner.text.corpus import CorpusReader, Reading
from miner.text.in_memory import Name
from miner.text.words import LONGEST

if TYPE_CHECKING:
    from typing_extensions import Unpack

Span = tuple[int, int]
# Sentences of a span by default: a stopped run repeats less than a minute of work.
LINES = 1 << 17
# Lines of a file whose vectors are collected at a time.
BLOCK = 16_384


@dataclass(frozen=True)
class SideText:
    """Side to index: its files, and the reference and the dimension of its encoder."""

    name: str
    files: list[TextFile]
    model: EncoderRef
    dimension: int

    @classmethod
    def of(cls, run: Run, side: int, names: Sequence[Name], encoder: SentenceEncoder) -> SideText:
        """Return the side. Streams and texts in memory are copied to the work directory."""
        files = text_files(names, run.work / "streams" / SIDES[side])
        return cls(SIDES[side], files, EncoderRef.of(encoder), encoder.dimension)


@dataclass(frozen=True)
class EncodedText:
    """Results of the tasks that read and encode a side."""

    reads: list[Result]
    spans: list[EncodedSpan]

    @property
    def rows(self) -> int:
        return sum(task.value["rows"] for task in self.reads)


def encode_texts(
    run: Run,
    texts: Sequence[SideText],
    reading: Mapping[str, Any],
    dtype: str = "float16",
) -> list[EncodedText]:
    """Read and encode the files of all sides, in spans.

    ``reading``: keywords of :class:`~miner.text.corpus.CorpusReader`. Waits until all are read.
    """
    reads = [
        run.stage(
            "read",
            read,
            {
                f"{text.name}-{number:04}": Call({"file": file}, file.stamp[0] / 10)
                for number, file in enumerate(text.files)
            },
            reading=dict(reading),
        )
        for text in texts
    ]
    run.wait()
    for text, side_reads in zip(texts, reads, strict=True):
        for file, result in zip(text.files, side_reads, strict=True):
            count, line, size = result.value["long"]
            if count:
                others = f", and {count - 1:,} other long lines" if count > 1 else ""
                run.note(
                    f"warning: {file.name}, line {line}: {size:,} characters{others}; a sentence "
                    f"is compared by its first {LONGEST:,}: split such text into sentences"
                )
    return [
        EncodedText(side_reads, encode_reads(run, text, side_reads, dtype))
        for text, side_reads in zip(texts, reads, strict=True)
    ]


def encode_reads(
    run: Run, text: SideText, reads: Sequence[Result], dtype: str = "float16"
) -> list[EncodedSpan]:
    """Register the tasks that encode the sentences of finished reads of one side, in spans."""
    spans = []
    row = 0
    for number, result in enumerate(reads):
        size = result.value["rows"]
        for part, (start, end) in enumerate(cut(size, run.lines or LINES)):
            task = run.task(
                "encode",
                encode,
                f"{text.name}-{number:04}-{part:04}",
                units=end - start,
                read=result,
                start=start,
                end=end,
                model=text.model,
                dtype=dtype,
            )
            spans.append(EncodedSpan(task, row + start))
        row += size
    return spans


def index_texts(
    run: Run,
    texts: Sequence[SideText],
    reading: Mapping[str, Any],
    factory: str = FLAT,
    old: StoredIndex | None = None,
) -> list[Result]:
    """Register the tasks that build the indexes of these sides, after the rows of ``old``, if
    any.
    """
    tasks = []
    for text, encoded in zip(texts, encode_texts(run, texts, reading), strict=True):
        partitions = 0 if old is not None else max(1, -(-encoded.rows // (run.lines or LINES)))
        repeats = run.stage(
            "duplicates",
            duplicates,
            {
                f"{text.name}-{number:04}": Call({"partition": number}, encoded.rows / partitions)
                for number in range(partitions)
            },
            reads=encoded.reads,
            spans=encoded.spans,
            partitions=partitions,
        )
        joined = run.task(
            "index",
            join,
            text.name,
            units=encoded.rows,
            reads=encoded.reads,
            spans=encoded.spans,
            duplicates=repeats,
            model=text.model,
            dimension=text.dimension,
            factory=factory,
            old=None if old is None else str(old.path.absolute()),
            digest=None if old is None else old.meta["digest"],
        )
        tasks.append(joined)
    return tasks


@contextmanager
def indexing(
    encoder: SentenceEncoder,
    names: Sequence[Name],
    reading: Mapping[str, Any],
    options: RunOptions,
) -> Iterator[tuple[Run, SideText]]:
    """Open a run that indexes one text; yield the run and the text."""
    side = SIDES.index(encoder.side or SIDES[0])
    for_what = identity([names, ()], [encoder], reading, options.workers.shard_lines)
    with lent(encoder), open_run(options, "indexing", for_what, stamps([names])) as run:
        yield run, SideText.of(run, side, names, encoder)


def encode_files(
    encoder: SentenceEncoder,
    names: Sequence[Name],
    path: str | Path,
    *,
    dtype: Any = np.float16,
    work: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
    **reading: Unpack[Reading],
) -> Encoded:
    """Write a vector for every record of the files, in order, to the file ``path``.

    Vectors are float16 or float32, of unit length, and zero for a record without a sentence:
    :meth:`miner.index.index.Index.build_from_vectors` can read the file. It is ``.npy``, or, for
    ``.h5`` and ``.hdf5``, an HDF5 dataset ``embeddings``; both open by memory map. The file appears
    when it is complete. ``reading``: keywords of :class:`miner.text.corpus.CorpusReader`.

    Raises ValueError for another suffix, CorpusError, DependencyError, ResourceError.
    """
    path, kind = Path(path), np.dtype(dtype)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: not one of {', '.join(SUFFIXES)}")
    options = RunOptions(work, path, workers, report, note)
    with indexing(encoder, names, reading, options) as (run, text):
        [encoded] = encode_texts(run, [text], reading, kind.name)
        run.wait(last=True)
        sources = [Source(**result.value["source"]) for result in encoded.reads]
        tally = Encoded(
            *(
                sum(getattr(source, name) for source in sources)
                for name in ("records", "empty", "undecodable", "replaced")
            )
        )
        shape = text.dimension, kind

        def blocks() -> Iterator[np.ndarray]:
            zero, row = 0, 0
            for file, result, source in zip(text.files, encoded.reads, sources, strict=True):
                size = result.value["rows"]
                spans = [span for span in encoded.spans if row <= span.first < row + size]
                for block in _records(file, result, spans, row, source.records, *shape, reading):
                    # Comparing bits is many times as fast as comparing float16.
                    bits = block.view(f"u{block.itemsize}")
                    zero += len(block) - int(np.count_nonzero(bits.any(axis=1)))
                    yield block
                row += size
            tally.unknown = zero - tally.empty - tally.undecodable

        write_vectors(path, blocks(), text.dimension, kind, tally.records)
        return tally


def cut(size: int, lines: int) -> list[Span]:
    """Cut ``size`` rows into spans (start, end) of ``lines`` rows; the last may be shorter."""
    return [(start, min(size, start + lines)) for start in range(0, size, lines)]


def identity(
    names: Sequence[Sequence[Name]],
    encoders: Sequence[SentenceEncoder],
    reading: Mapping[str, Any],
    lines: int | None,
) -> dict[str, Any]:
    """Return the identity of a work directory: files, models, and settings of reading."""
    return {
        **{
            f"{side} files": [*map(known_as, side_names)]
            for side, side_names in zip(SIDES, names, strict=True)
        },
        "models": [EncoderRef.of(encoder).as_dict() for encoder in encoders],
        "settings of reading": dict(reading),
        "--shard-lines": lines,
    }


def _records(
    file: TextFile,
    read: Result,
    spans: Sequence[EncodedSpan],
    row: int,
    records: int,
    dimension: int,
    dtype: np.dtype,
    reading: Mapping[str, Any],
) -> Iterator[np.ndarray]:
    """Yield the vectors of all records of a file, zero for a record without a sentence.

    ``row`` is the row of the file's first sentence.
    """
    lines = read.array("line")
    # Record i is line i + 1; a header is a line but no record.
    places = lines - 1 - CorpusReader(file.path, **reading).head
    vectors = [(span.first - row, span.task.array("vectors")) for span in spans]
    for start in range(0, records, BLOCK):
        block = np.zeros((min(BLOCK, records - start), dimension), dtype=dtype)
        first, last = np.searchsorted(places, [start, start + BLOCK]).tolist()
        for begin, part in vectors:
            low, high = max(first, begin), min(last, begin + len(part))
            if low < high:
                block[places[low:high] - start] = part[low - begin : high - begin]
        yield block
