"""Parquet: named columns, read a batch of rows at a time."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from miner.errors import CorpusError, reason
from miner.libraries import library
from miner.text.compression import codec
from miner.text.lines import MOST, display_name, opened
from miner.text.text_format import Cells, Column, Columns, Parse, TextFormat


class Parquet(TextFormat):
    """Tables of named columns. Cells are read as bytes, so that faulty ones have a line number."""

    name = "parquet"
    suffixes = (".parquet",)
    sides = ("source", "target")
    text, id = "text", "id"
    of_lines = False

    def records(self, origin: str, columns: Columns, held: bytes | None = None) -> Iterator[Any]:
        return _rows(origin, columns, held)

    def parser(self, name: str, columns: Columns) -> Parse:
        return lambda line, *texts: texts

    def columns(self, cells: Cells, first: int, parse: Parse) -> list[Sequence[str]]:
        return [[cell.decode() for cell in column] for column in cells]


def _rows(origin: str, columns: Columns, held: bytes | None) -> Iterator[tuple[bytes, ...]]:
    """Yield the bytes of the wanted ``columns`` of each row; null is empty.

    Raises CorpusError (damage, columns) and DependencyError (pyarrow).
    """
    name = display_name(origin)
    pa, pq = (
        library(one, f"{name}: reading Parquet", "parquet")
        for one in ("pyarrow", "pyarrow.parquet")
    )
    if any(isinstance(column.key, int) for column in columns):
        raise CorpusError(f"{name}: Parquet columns have names; give those and not numbers")
    if codec(origin):
        raise CorpusError(f"{name}: Parquet is compressed within; decompress the file first")
    done = 0
    with opened(origin, held) as raw:
        try:
            # Parquet has its directory at the end: a stream that cannot seek is held in memory.
            file = pq.ParquetFile(raw if raw.seekable() else io.BytesIO(raw.read()))
            names = file.schema_arrow.names
            for column in columns:
                if column.key not in names and column.required and column.key is not None:
                    raise CorpusError(
                        f"{name}: no column {column.key!r}; there are: {', '.join(names)}"
                    )
            keys = [column.key if column.key in names else None for column in columns]
            chosen = list(dict.fromkeys(key for key in keys if key is not None))
            _refuse_giants(name, file.metadata)
            for batch in file.iter_batches(8192, columns=chosen):
                found = [
                    [None] * len(batch)
                    if key is None
                    else _bytes(pa, name, key, batch.column(key), column)
                    for key, column in zip(keys, columns, strict=True)
                ]
                for row in zip(*found, strict=True):
                    done += 1
                    yield tuple([value or b"" for value in row])
        # ValueError: of a name of a column that is not UTF-8.
        except (pa.ArrowException, OSError, ValueError) as error:
            why = reason(error).split(". ")[0]
            raise CorpusError(
                f"{name}: damaged after record {done} ({why}); not Parquet, or "
                "an incomplete download: fetch it again"
            ) from error


def _refuse_giants(name: str, metadata: Any) -> None:
    """Raise CorpusError for cells as long, on average, as no line may be: nothing is read yet.

    Sizes of whole row groups are compared. pyarrow ends the process, without an exception, where
    the metadata of a single column are damaged.
    """
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        if group.total_byte_size > MOST * max(group.num_rows, 1) * group.num_columns:
            raise CorpusError(
                f"{name}: has cells longer than {MOST >> 20} MiB; not lines of text, or damaged: "
                "check the file"
            )


def _bytes(pa: Any, name: str, key: Any, values: Any, column: Column) -> list[bytes | None]:
    """Return the values of one batch as bytes. Raises CorpusError for a type that is no text."""
    if column.is_annotation and pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if number if column.is_annotation else column.is_id and pa.types.is_integer(values.type):
        values = values.cast(pa.string())
    try:
        return list(values.cast(pa.large_binary()).to_pylist())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise CorpusError(
            f"{name}: column {key!r} is {values.type}, not text; choose another"
        ) from None
