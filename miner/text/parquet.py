"""Parquet, and Arrow files of Hugging Face: named columns, read in batches of rows.

Each key of a nested column, such as `translation`, is a column: `translation.de`.
"""

import io
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from miner.errors import CorpusError, reason
from miner.libraries import library
from miner.option_values import SIDES
from miner.text.compression import codec
from miner.text.lines import MOST, display_name, opened
from miner.text.output import StrPath, open_output
from miner.text.text_format import Column, Columns, Languages, NamedRows, RawText, Tables, even

# Rows written at a time.
BATCH = 8192


class Parquet(Tables):
    """Tables of named columns. Cells are read as bytes, so that errors name their row."""

    name = "parquet"
    suffixes = (".parquet",)
    sides = ("source", "target")
    text, id = "text", "id"

    def records(self, text: RawText, columns: Columns) -> Iterator[Any]:
        return _rows(self, text, columns)

    def opened(self, name: str, raw: Any) -> tuple[Any, Callable[[list[str] | None], Any]]:
        """Return the schema of an open file, and a function that yields batches of the chosen
        columns.
        """
        parquet = library("pyarrow.parquet", f"{name}: reading Parquet", "parquet")
        # Parquet has its index at the end: a stream that cannot seek is read into memory.
        file = parquet.ParquetFile(raw if raw.seekable() else io.BytesIO(raw.read()))
        _refuse_giants(name, file.metadata)
        return file.schema_arrow, lambda names: file.iter_batches(BATCH, columns=names)

    def rows(self, text: RawText, columns: Columns) -> NamedRows:
        for batch in _batches(self, text, columns, every=True):
            yield from batch.to_pylist()

    def write(
        self, rows: NamedRows, path: StrPath, languages: Languages = (None, None), **how: Any
    ) -> None:
        """Write a table; the first rows decide the types of columns."""
        pa, pq = (
            library(module, f"{path}: writing Parquet", "parquet")
            for module in ("pyarrow", "pyarrow.parquet")
        )
        text, rest = pa.string(), even(rows)
        some = list(islice(rest, BATCH))
        schema = (
            pa.Table.from_pylist(some).schema if some else pa.schema(dict.fromkeys(SIDES, text))
        )
        schema = pa.schema(
            [field.with_type(text) if pa.types.is_null(field.type) else field for field in schema]
        )
        with (
            open_output(path, binary=True, **how) as file,
            pq.ParquetWriter(file, schema) as writer,
        ):
            while some:
                try:
                    writer.write_table(pa.Table.from_pylist(some, schema))
                except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                    raise CorpusError(
                        f"{path}: a column changes its type ({error}); write .jsonl"
                    ) from None
                some = list(islice(rest, BATCH))


class Arrow(Parquet):
    """Stream of Arrow record batches, as Hugging Face keeps data sets on disk."""

    name = "arrow"
    suffixes = (".arrow",)
    written = False

    def opened(self, name: str, raw: Any) -> tuple[Any, Callable[[list[str] | None], Any]]:
        reader = library("pyarrow", f"{name}: reading Arrow", "parquet").ipc.open_stream(raw)
        return reader.schema, lambda names: reader


def _rows(format: Parquet, text: RawText, columns: Columns) -> Iterator[tuple[bytes, ...]]:
    """Yield the bytes of the requested ``columns`` of each row; null is empty.

    Raises CorpusError (damage, columns) and DependencyError (pyarrow).
    """
    name = display_name(text.origin)
    pa = library("pyarrow", f"{name}: reading Parquet", "parquet")
    for batch in _batches(format, text, columns):
        cells = [
            _bytes(pa, name, column.key, batch.column(column.key), column)
            if column.key in batch.column_names
            else [None] * len(batch)
            for column in columns
        ]
        for row in zip(*cells, strict=True):
            yield tuple([value or b"" for value in row])


def _batches(
    format: Parquet, text: RawText, columns: Columns, *, every: bool = False
) -> Iterator[Any]:
    """Yield batches of the requested ``columns``, or of all columns with ``every``."""
    name = display_name(text.origin)
    pa = library("pyarrow", f"{name}: reading Parquet", "parquet")
    if any(isinstance(column.key, int) for column in columns):
        raise CorpusError(f"{name}: Parquet columns have names; give those and not numbers")
    if codec(text.origin):
        raise CorpusError(f"{name}: Parquet is compressed within; decompress the file first")
    done = 0
    with opened(text.origin, text.held) as raw:
        try:
            schema, batches = format.opened(name, raw)
            names = [
                f"{field.name}.{child.name}" if pa.types.is_struct(field.type) else field.name
                for field in schema
                for child in (field.type if pa.types.is_struct(field.type) else [field])
            ]
            for column in columns:
                if column.key not in names and column.required and column.key is not None:
                    raise CorpusError(
                        f"{name}: no column {column.key!r}; there are: {', '.join(names)}"
                    )
            chosen = dict.fromkeys(str(wanted.key) for wanted in columns if wanted.key in names)
            for batch in batches(None if every else list(chosen)):
                if len(names) > len(schema.names):
                    batch = pa.Table.from_batches([batch]).flatten().combine_chunks()
                yield batch
                done += len(batch)
        # ValueError: a column name that is not UTF-8.
        except (pa.ArrowException, OSError, ValueError) as error:
            why = reason(error).split(". ")[0]
            raise CorpusError(
                f"{name}: damaged after record {done} ({why}); not Parquet, or "
                "an incomplete download: fetch it again"
            ) from error


def _refuse_giants(name: str, metadata: Any) -> None:
    """Raise CorpusError, before reading, for cells that are longer on average than a line may be.

    Sizes of whole row groups are compared, because pyarrow crashes on damaged metadata of a single
    column.
    """
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        if group.total_byte_size > MOST * max(group.num_rows, 1) * group.num_columns:
            raise CorpusError(
                f"{name}: has cells longer than {MOST >> 20} MiB; not lines of text, or damaged: "
                "check the file"
            )


def _bytes(pa: Any, name: str, key: Any, values: Any, column: Column) -> list[bytes | None]:
    """Return the values of a batch as bytes. Raises CorpusError for a type that is not text."""
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
