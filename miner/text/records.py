"""Files to records: compression, lines, encodings and columns, for every format.

A file is read as bytes and split at ``\\n`` alone, because a sentence may hold U+2028, ``\\x0b``,
``\\x85`` or a lone ``\\r``, and one line too many shifts every alignment after it.
"""

from __future__ import annotations

import codecs
import importlib
import io
import json
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from miner.errors import CorpusError, DependencyError, UnreadableError
from miner.text.output import MAGIC, codec, one_line

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Want(NamedTuple):
    """A column that is asked for; without a key its text is "".

    Of an id whole numbers are taken as their text, and of an annotation any numbers, true and
    false as 1 and 0.
    """

    key: int | str | None
    required: bool = True
    is_id: bool = False
    is_annotation: bool = False


# The line, the text of each wanted column (None: undecodable), and whether bytes were replaced.
Record = tuple[int, tuple[str, ...] | None, bool]
# (the line's number, the texts of a raw record) to the text of each wanted column.
Parse = Callable[..., tuple[str, ...]]


def read_records(
    origin: str,
    format: str,
    wants: Sequence[Want],
    header: bool,
    on_error: str,
    held: bytes | None = None,
) -> Iterator[Record]:
    """Every record of a file."""
    name = display_name(origin)
    refuse_columns(name, format, wants, header)
    numbered = enumerate(raw_records(origin, format, wants, held), 1)
    names = None
    if header and format == "tsv":
        first = next(numbered, None)
        if first is None:
            return
        names = column_names(name, first[1][0], on_error)
    parse = parser(name, format, wants, names)
    yield from _decoded(name, format, numbered, parse, on_error)


def column_names(name: str, line: bytes, on_error: str) -> list[str]:
    """The names in a tsv's first line."""
    try:
        text = line.decode("utf-8", "strict" if on_error == "fail" else "replace")
    except UnicodeDecodeError as error:
        raise UnreadableError(_undecodable(name, 1, error)) from None
    return text.split("\t")


def read_plain(
    origin: str, wants: Sequence[Want], header: bool, on_error: str, size: int
) -> Iterator[tuple[list[str | None], int]]:
    """The lines of a plain file as :func:`read_records` has them, ``size`` at a time.

    The text of each (None: undecodable), and in how many of them bytes were replaced. Decoding
    many at once takes a quarter of the time, and no thread can work on Python objects meanwhile.
    """
    name = display_name(origin)
    refuse_columns(name, "plain", wants, header)
    parse = parser(name, "plain", wants, None)
    lines, first = _lines(origin, None), 1
    while batch := list(islice(lines, size)):
        texts: list[str | None] = []
        count = 0
        try:
            texts += b"\n".join(batch).decode().split("\n")
        except UnicodeDecodeError:
            numbered = enumerate(((line,) for line in batch), first)
            for _, fields, replaced in _decoded(name, "plain", numbered, parse, on_error):
                texts.append(None if fields is None else fields[0])
                count += replaced
        yield texts, count
        first += len(batch)


def refuse_columns(name: str, format: str, wants: Sequence[Want], header: bool) -> None:
    if format in ("plain", "bucc") and (header or any(want.key is not None for want in wants)):
        raise CorpusError(
            f"{name}: a {format} file has no columns and no header; "
            "give its format: tsv, jsonl or parquet"
        )


def _decoded(
    name: str,
    format: str,
    numbered: Iterable[tuple[int, tuple[bytes, ...]]],
    parse: Parse,
    on_error: str,
) -> Iterator[Record]:
    for line, parts in numbered:
        yield line, *decode(name, format, line, parts, parse, on_error)


def decode(
    name: str,
    format: str,
    line: int,
    parts: tuple[bytes, ...],
    parse: Parse,
    on_error: str,
) -> tuple[tuple[str, ...] | None, bool]:
    """The texts of one raw record (None: undecodable), and whether bytes were replaced."""
    try:
        fields = parse(line, *[part.decode() for part in parts])
        if format == "jsonl":  # escapes can spell half a character, which no file can hold
            "".join(fields).encode()
        return fields, False
    except UnicodeError as error:
        if on_error == "fail":
            raise UnreadableError(_undecodable(name, line, error)) from None
        if on_error == "skip":
            return None, False
    fields = parse(line, *[part.decode("utf-8", "replace") for part in parts])
    return tuple(_LONE_SURROGATE.sub("\ufffd", text) for text in fields), True


def parser(name: str, format: str, wants: Sequence[Want], header: list[str] | None) -> Parse:
    """A function of (line, the record's texts) that gives the text of each wanted column."""
    blank = ("",) * len(wants)

    def bucc(line: int, text: str) -> tuple[str, ...]:
        identifier, tab, sentence = text.partition("\t")
        if not tab and not is_blank(text):
            raise CorpusError(
                f"{name}, line {line}: no tab; a bucc line is id, tab, sentence: "
                "mend it, or read the file as plain"
            )
        return (sentence, identifier) if tab else blank

    places = _places(name, wants, header) if format == "tsv" else []

    def tsv(line: int, text: str) -> tuple[str, ...]:
        if is_blank(text):
            return blank
        cells = text.split("\t")
        try:
            return tuple(["" if place is None else cells[place] for place in places])
        except IndexError:
            wanted = 1 + max(place for place in places if place is not None)
            raise CorpusError(
                f"{name}, line {line}: column {wanted} is asked for, {len(cells)} "
                "found; mend the line or choose another column"
            ) from None

    def jsonl(line: int, text: str) -> tuple[str, ...]:
        if is_blank(text):
            return blank
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorpusError(
                f"{name}, line {line}: broken JSON ({str(error).partition(':')[0]} "
                f"at character {getattr(error, 'pos', 0)}); mend the line"
            ) from None
        where = f"{name}, line {line}"
        if not isinstance(record, dict):
            raise CorpusError(f"{where}: not a JSON object; each line must be one")
        return tuple([_json_text(where, record, want) for want in wants])

    return {
        "plain": lambda line, text: (text, ""),
        "bucc": bucc,
        "tsv": tsv,
        "jsonl": jsonl,
        "parquet": lambda line, *texts: texts,
    }[format]


def _places(name: str, wants: Sequence[Want], header: list[str] | None) -> list[int | None]:
    """Where in a tsv row each wanted column is, from 0; numbers may come as text, as from a CLI."""
    places: list[int | None] = []
    for key, *_ in wants:
        if key is None:
            places.append(None)
        elif isinstance(key, str) and header and key in header:
            places.append(header.index(key))
        elif isinstance(key, int) or key.isdecimal():
            if int(key) < 1:
                raise CorpusError(f"{name}: there is no column {key}; columns count from 1")
            places.append(int(key) - 1)
        elif header is None:
            raise CorpusError(
                f"{name}: column {key!r} is a name and nothing names the columns; "
                "pass --header if the first line does, or give a number"
            )
        else:
            raise CorpusError(f"{name}: no column {key!r}; there are: {', '.join(header)}")
    return places


def _json_text(where: str, record: dict[str, Any], want: Want) -> str:
    key, required, is_id, is_annotation = want
    value = record.get(str(key))
    if value is None and not required:
        return ""
    if is_annotation and isinstance(value, int | float):
        return str(int(value) if isinstance(value, bool) else value)
    if is_id and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        found = f"is {type(value).__name__}, not text" if key in record else "is missing"
        raise CorpusError(f"{where}: key {key!r} {found}; there are: {', '.join(record)}")
    return value


def raw_records(
    origin: str, format: str, wants: Sequence[Want], held: bytes | None
) -> Iterator[tuple[bytes, ...]]:
    """The undecoded bytes of each record: of a text format its line, of parquet its columns."""
    if format == "parquet":
        return _parquet(origin, wants, held)
    return ((line,) for line in _lines(origin, held))


@contextmanager
def _opened(origin: str, held: bytes | None) -> Iterator[Any]:
    """The file's bytes as they are stored; bytes ``held`` in memory stand for the file."""
    try:
        if held is not None:
            yield io.BufferedReader(io.BytesIO(held))
        elif origin == "-":
            yield sys.stdin.buffer
        else:
            with open(origin, "rb") as file:
                yield file
    except OSError as error:
        raise CorpusError(
            f"{display_name(origin)}: cannot be read: {error.strerror or error}; "
            "check the path and its permissions"
        ) from error


def _lines(origin: str, held: bytes | None) -> Iterator[bytes]:
    """Each line, decompressed, without its end; a byte-order mark before the first is dropped."""
    name, library, done = display_name(origin), codec(origin), 0
    damage = (
        EOFError,
        zlib.error,
        lzma.LZMAError,
        getattr(library, "ZstdError", EOFError),
        OSError,
    )
    with _opened(origin, held) as raw:
        suffix = os.path.splitext(origin)[1]
        magic = MAGIC[suffix.lower()] if library else b""
        head = raw.peek(1)[: len(magic)] if library else b""
        if not library:
            _refuse_compressed(name, raw)
        elif not head:  # which gzip alone would take for an empty text
            raise CorpusError(
                f"{name}: 0 bytes, not even a {suffix} header; probably an "
                "incomplete download: fetch it again"
            )
        try:
            for line in library.open(raw, "rb") if library else raw:
                if line.endswith(b"\n"):
                    line = line[:-1]
                elif line == codecs.BOM_UTF8 and not done:
                    return  # a file of nothing but the mark has no line
                if not done:
                    line = line.removeprefix(codecs.BOM_UTF8)
                done += 1
                yield line.removesuffix(b"\r")
        except damage as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's doing, not the codec's
            if not magic.startswith(head):
                raise CorpusError(
                    f"{name}: not compressed, although its suffix is {suffix}; rename it"
                ) from error
            raise CorpusError(
                f"{name}: damaged after line {done} ({error}); probably an "
                "incomplete download: fetch it again"
            ) from error


def _refuse_compressed(name: str, raw: Any) -> None:
    """Say what is wrong where a suffix is missing, rather than which byte is not UTF-8."""
    start = raw.peek(10)[:10] if hasattr(raw, "peek") else b""
    for suffix, magic in MAGIC.items():
        # Text may begin with the three letters of bzip2, but hardly with the number after them.
        if start.startswith(magic) and (suffix != ".bz2" or start[4:] == b"1AY&SY"):
            remedy = "decompress it first" if name == display_name("-") else "rename it"
            raise CorpusError(
                f"{name}: compressed, but its name does not end in {suffix}; {remedy}"
            )


def _parquet(origin: str, wants: Sequence[Want], held: bytes | None) -> Iterator[tuple[bytes, ...]]:
    """The wanted columns of each row; null is empty. Text stays bytes until `read_records`."""
    try:
        pa: Any = importlib.import_module("pyarrow")
        pq: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DependencyError(
            f"{display_name(origin)}: reading Parquet needs pyarrow; run: "
            'pip install "bitext-miner[parquet]"'
        ) from None
    name = display_name(origin)
    if any(isinstance(want.key, int) for want in wants):
        raise CorpusError(f"{name}: Parquet columns have names; give those and not numbers")
    if codec(origin):
        raise CorpusError(f"{name}: Parquet is compressed within; decompress the file first")
    done = 0
    with _opened(origin, held) as raw:
        try:
            # Parquet's table of contents is at its end: what cannot be rewound is held in memory.
            file = pq.ParquetFile(raw if raw.seekable() else io.BytesIO(raw.read()))
            names = file.schema_arrow.names
            for want in wants:
                if want.key not in names and want.required and want.key is not None:
                    raise CorpusError(
                        f"{name}: no column {want.key!r}; there are: {', '.join(names)}"
                    )
            keys = [want.key if want.key in names else None for want in wants]
            chosen = list(dict.fromkeys(key for key in keys if key is not None))
            for batch in file.iter_batches(8192, columns=chosen):
                columns = [
                    [None] * len(batch)
                    if key is None
                    else _column_bytes(pa, name, key, batch.column(key), want)
                    for key, want in zip(keys, wants, strict=True)
                ]
                for row in zip(*columns, strict=True):
                    done += 1
                    yield tuple([value or b"" for value in row])
        except (pa.ArrowException, OSError) as error:
            reason = one_line(str(error)).split(". ")[0]
            raise CorpusError(
                f"{name}: damaged after record {done} ({reason}); not Parquet, or "
                "an incomplete download: fetch it again"
            ) from error


def _column_bytes(pa: Any, name: str, key: Any, column: Any, want: Want) -> list[bytes | None]:
    if want.is_annotation and pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if number if want.is_annotation else want.is_id and pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    try:
        return list(column.cast(pa.large_binary()).to_pylist())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise CorpusError(
            f"{name}: column {key!r} is {column.type}, not text; choose another"
        ) from None


def is_blank(text: str) -> bool:
    return not text or text.isspace()


def display_name(origin: str) -> str:
    return "standard input" if origin == "-" else origin


def hold(origin: str) -> bytes | None:
    """The bytes of what can be read only once, standard input or a pipe; None for a file."""
    if origin != "-" and (os.path.isfile(origin) or not os.path.exists(origin)):
        return None
    with _opened(origin, None) as raw:
        return bytes(raw.read())


def _undecodable(name: str, line: int, error: UnicodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        what = f"byte offset {error.start}: 0x{error.object[error.start]:02X} is not UTF-8"
    else:
        what = "an escape spells half a surrogate pair, which is not a character"
    return f"{name}, line {line}, {what}; convert the file with iconv -f ENCODING -t UTF-8"
