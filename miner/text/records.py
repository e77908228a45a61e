"""Records of a file in any format: the texts of the wanted columns, every fault with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from miner.errors import CorpusError, UnreadableError
from miner.text import jsonl, parquet, plain, tsv
from miner.text.columns import Column, Parse, RawRecord
from miner.text.lines import display_name, read_lines

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# The line, the text of each wanted column (None: undecodable), and whether bytes were replaced.
Record = tuple[int, tuple[str, ...] | None, bool]


def raw_records(
    origin: str, format: str, columns: Sequence[Column] = (), held: bytes | None = None
) -> Iterator[RawRecord]:
    """Yield the undecoded bytes of each record: of a text format its line, of Parquet ``columns``.

    ``held`` is the content of a file that was read before (:func:`miner.text.lines.hold`).
    """
    if format == "parquet":
        return parquet.raw_rows(origin, columns, held)
    return ((line,) for line in read_lines(origin, held))


def read_records(
    origin: str, format: str, columns: Sequence[Column], header: bool, on_error: str
) -> Iterator[Record]:
    """Yield every record of a file; with ``header`` the first line of a tsv names its columns."""
    name = display_name(origin)
    refuse_columns(name, format, columns, header)
    numbered = enumerate(raw_records(origin, format, columns), 1)
    names = None
    if header and format == "tsv":
        first = next(numbered, None)
        if first is None:
            return
        names = column_names(name, first[1][0], on_error)
    parse = parser(name, format, columns, names)
    for line, raw in numbered:
        yield line, *decode(name, format, line, raw, parse, on_error)


def read_plain(
    origin: str, columns: Sequence[Column], header: bool, on_error: str, size: int
) -> Iterator[tuple[list[str | None], int]]:
    """Yield the lines of a plain file as :func:`read_records` does, ``size`` at a time.

    A block is the text of each line (None: undecodable), and the number of lines in which bytes
    were replaced. Decoding many lines at once takes a quarter of the time.
    """
    name = display_name(origin)
    refuse_columns(name, "plain", columns, header)
    parse = plain.plain_parser()
    lines, first = read_lines(origin), 1
    while batch := list(islice(lines, size)):
        texts: list[str | None] = []
        count = 0
        try:
            texts += b"\n".join(batch).decode().split("\n")
        except UnicodeDecodeError:
            for number, line in enumerate(batch, first):
                fields, replaced = decode(name, "plain", number, (line,), parse, on_error)
                texts.append(None if fields is None else fields[0])
                count += replaced
        yield texts, count
        first += len(batch)


def parser(
    name: str, format: str, columns: Sequence[Column], header: Sequence[str] | None
) -> Parse:
    """Return the function that takes a line's number and text to the texts of ``columns``.

    ``header`` are the names of a tsv's columns, if it has any. Raises CorpusError for a column
    that the file ``name`` cannot have.
    """
    if format == "tsv":
        return tsv.parser(name, columns, header)
    if format == "jsonl":
        return jsonl.parser(name, columns)
    if format == "parquet":
        return parquet.parser()
    return plain.bucc_parser(name) if format == "bucc" else plain.plain_parser()


def decode(
    name: str, format: str, line: int, raw: RawRecord, parse: Parse, on_error: str
) -> tuple[tuple[str, ...] | None, bool]:
    """Return the texts of a raw record (None: undecodable), and whether bytes were replaced."""
    try:
        fields = parse(line, *[part.decode() for part in raw])
        if format == "jsonl":  # an escape can spell half a character, which no file can hold
            "".join(fields).encode()
        return fields, False
    except UnicodeError as error:
        if on_error == "fail":
            raise UnreadableError(_undecodable(name, line, error)) from None
        if on_error == "skip":
            return None, False
    fields = parse(line, *[part.decode("utf-8", "replace") for part in raw])
    return tuple(_LONE_SURROGATE.sub("\ufffd", text) for text in fields), True


def column_names(name: str, line: bytes, on_error: str) -> list[str]:
    """Return the names in the first line of a tsv."""
    try:
        text = line.decode("utf-8", "strict" if on_error == "fail" else "replace")
    except UnicodeDecodeError as error:
        raise UnreadableError(_undecodable(name, 1, error)) from None
    return text.split("\t")


def refuse_columns(name: str, format: str, columns: Sequence[Column], header: bool) -> None:
    """Raise CorpusError for columns or a header of a format that has neither."""
    if format in ("plain", "bucc") and (header or any(one.key is not None for one in columns)):
        raise CorpusError(
            f"{name}: a {format} file has no columns and no header; "
            "give its format: tsv, jsonl or parquet"
        )


def _undecodable(name: str, line: int, error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        what = f"byte offset {error.start}: 0x{error.object[error.start]:02X} is not UTF-8"
    else:
        what = "an escape spells half a surrogate pair, which is not a character"
    return f"{name}, line {line}, {what}; convert the file with iconv -f ENCODING -t UTF-8"
