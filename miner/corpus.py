"""Text in and text out, streamed: every format of the tool, and files that appear whole or not.

A file is read as bytes and split at ``\\n`` alone, because a sentence may hold U+2028, ``\\x0b``,
``\\x85`` or a lone ``\\r``, and one line too many shifts every alignment after it. Every record
is accounted for: kept, empty, or skipped as undecodable.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import importlib
import io
import json
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from miner.errors import CorpusError, DependencyError, ResourceError

FORMATS = ("plain", "bucc", "tsv", "jsonl", "parquet")
ON_ERROR = ("fail", "replace", "skip")

_SUFFIXES = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ONE_LINE = str.maketrans("\t\r\n", "   ")
_REMEDIES = {
    errno.ENOSPC: "no space left; free some there or write elsewhere",
    errno.EDQUOT: "the disk quota is used up; free some there or write elsewhere",
    errno.ENOENT: "no such directory; create it first with mkdir -p",
    errno.EACCES: "permission denied; choose a place you may write to",
    errno.EISDIR: "it is a directory; give a file's name",
}

Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Corpus:
    """A block of n sentences, none of them empty.

    ids: n texts: the id given in the file (bucc; tsv, jsonl and parquet with an id column), else,
        or where that is empty, the number in ``lines`` as text. Not checked for duplicates.
    sentences: n texts as they stand in the file, spaces at the ends included; valid Unicode
        without lone surrogates. From jsonl and parquet they may hold ``\\n`` (see `one_line`).
    lines: (n,) int64, ascending, >= 1: the line in the file (a header is line 1); for parquet
        the record.
    origin: the file's name as given, ``-`` for standard input.
    """

    ids: list[str]
    sentences: list[str]
    lines: np.ndarray
    origin: str

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True, eq=False)
class Bitext:
    """n aligned rows, neither side empty; records == n + empty + undecodable.

    source, target: n texts each, row by row translations. lines: (n,) int64, >= 1, as in `Corpus`.
    records: rows in the input, a header not counted. empty: rows dropped because a side was empty.
    undecodable: rows dropped under on_error="skip". replaced: rows in which bytes were replaced.
    """

    source: list[str]
    target: list[str]
    lines: np.ndarray
    records: int
    empty: int
    undecodable: int
    replaced: int

    def __len__(self) -> int:
        return len(self.source)


class Reader:
    """A corpus as a stream of `Corpus` blocks of at most ``block`` sentences each.

    format: one of `FORMATS`; None decides by suffix, a compression suffix aside, and takes
        everything else (standard input too) for plain. column: where the sentence is: for tsv a
        number from 1 (default 1) or, with ``header``, a name; for jsonl and parquet a name
        (default "text"). id_column: likewise for the id; jsonl and parquet use "id" if it is there.
    header: the first line of a tsv names the columns; it has a line number but is no record.
    on_error: what bytes that are not UTF-8 do anywhere in a line: "fail" raises, "replace" puts
        U+FFFD, "skip" drops the record. A lone surrogate in JSON (``"\\ud800"``) counts as such.

    When the iteration has ended, `lines` records were seen, of which `empty` were empty or white
    space, `undecodable` were skipped and the rest were kept; in `replaced` bytes were replaced.
    Each iteration reads the file and counts anew; standard input can be read only once.

    Raises ValueError for an unknown format or on_error or a block < 1; while iterating,
    CorpusError (file, compression, bytes, columns) and DependencyError (zstd, pyarrow).
    """

    def __init__(
        self,
        path: Path,
        *,
        format: str | None = None,
        on_error: str = "fail",
        column: int | str | None = None,
        id_column: int | str | None = None,
        header: bool = False,
        block: int = 8192,
    ) -> None:
        self.origin = os.fspath(path)
        self.format = _format(self.origin, format, on_error)
        if block < 1:
            raise ValueError(f"block is {block}; it must be at least 1")
        self.header, self.on_error, self.block = header, on_error, block
        self.lines = self.empty = self.undecodable = self.replaced = 0
        named = self.format in ("jsonl", "parquet")
        if column is None and self.format not in ("plain", "bucc"):
            column = "text" if named else 1
        optional = named and id_column is None
        self._wants = [
            _Want(column),
            _Want("id" if optional else id_column, required=not optional, is_id=True),
        ]

    def __iter__(self) -> Iterator[Corpus]:
        self.lines = self.empty = self.undecodable = self.replaced = 0
        kept: list[tuple[str, str, int]] = []
        for line, fields, replaced in _records(
            self.origin, self.format, self._wants, self.header, self.on_error
        ):
            self.lines += 1
            self.replaced += replaced
            if fields is None:
                self.undecodable += 1
            elif _blank(fields[0]):
                self.empty += 1
            else:
                kept.append((fields[1] or str(line), fields[0], line))
                if len(kept) == self.block:
                    yield _corpus(kept, self.origin)
                    kept = []
        if kept:
            yield _corpus(kept, self.origin)


def read(
    path: Path,
    *,
    format: str | None = None,
    on_error: str = "fail",
    column: int | str | None = None,
    id_column: int | str | None = None,
    header: bool = False,
) -> Corpus:
    """The whole file as one block, of no sentences if it has none; arguments and errors as Reader.

    What was empty or skipped is not reported: use a `Reader` where the tallies matter.
    """
    reader = Reader(
        path,
        format=format,
        on_error=on_error,
        column=column,
        id_column=id_column,
        header=header,
        block=sys.maxsize,
    )
    return next(iter(reader), _corpus([], reader.origin))


def read_bitext(
    source: Path,
    target: Path | None = None,
    *,
    scol: int | str = 1,
    tcol: int | str = 2,
    header: bool = False,
    format: str | None = None,
    on_error: str = "fail",
) -> Bitext:
    """Two aligned files, or (``target`` None) two columns of one tsv, jsonl or parquet file.

    One file whose suffix says nothing, and standard input, are tsv. ``scol`` and ``tcol`` count
    from 1, or are names: for jsonl and parquet, and for tsv with ``header``. With two files they
    are not used: each side is its file's default column, and ``format`` and ``header`` hold for
    both. The records of both files are counted before any are decoded; standard input and pipes
    are held in memory for that. A row is dropped, and counted, when either side is empty or, with
    on_error="skip", undecodable.

    Raises as `Reader` does, and CorpusError with both counts for files of unequal length.
    """
    if target is not None:
        rows = _aligned(
            [
                Reader(path, format=format, on_error=on_error, header=header)
                for path in (source, target)
            ]
        )
    else:
        origin = os.fspath(source)
        kind = _format(origin, format, on_error)
        if kind == "bucc" or format == "plain":
            raise CorpusError(
                f"{_name(origin)}: a {kind} file holds one side of a bitext; "
                "give the other side's file too, or a tsv, jsonl or parquet file"
            )
        rows = _records(
            origin, "tsv" if kind == "plain" else kind, [_Want(scol), _Want(tcol)], header, on_error
        )
    records = empty = undecodable = replaced = 0
    kept: list[tuple[str, str, int]] = []
    for line, fields, was_replaced in rows:
        records += 1
        replaced += was_replaced
        if fields is None:
            undecodable += 1
        elif _blank(fields[0]) or _blank(fields[1]):
            empty += 1
        else:
            kept.append((fields[0], fields[1], line))
    return Bitext(
        [row[0] for row in kept],
        [row[1] for row in kept],
        np.array([row[2] for row in kept], dtype=np.int64),
        records,
        empty,
        undecodable,
        replaced,
    )


@contextmanager
def open_output(path: Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    """A writer whose file appears, whole, when the block ends without an exception, or not at all.

    Text (UTF-8, ``\\n`` untranslated) or, with ``binary``, bytes; compressed by suffix (.gz .bz2
    .xz .zst), with neither time nor name inside. It is written to ``.NAME.PID.partial`` beside the
    file, synced and renamed; on any exception, KeyboardInterrupt too, that is removed and an older
    file stays as it was. ``-`` is standard output: flushed, never closed. A device or a pipe, such
    as /dev/null, is written in place, and a symbolic link stays one.

    Raises ResourceError (no space, no such directory, no permission), also out of the block's own
    writes, and DependencyError (zstd). BrokenPipeError passes unchanged.
    """
    origin = os.fspath(path)
    final = os.path.realpath(origin)
    partial = os.path.join(
        os.path.dirname(final), f".{os.path.basename(final)}.{os.getpid()}.partial"
    )
    if os.path.exists(final) and not os.path.isfile(final):
        partial = final  # renaming a file over /dev/null would destroy it
    try:
        yield from _to_stdout(binary) if origin == "-" else _to_file(origin, final, partial, binary)
    except BrokenPipeError:
        raise
    except OSError as error:
        # A write has no file name; an error that names another file is the block's own affair.
        if error.filename not in (None, partial, final):
            raise
        why = _REMEDIES.get(error.errno or 0, f"{error.strerror or error}; try another place")
        where = "standard output" if origin == "-" else origin
        raise ResourceError(f"{where}: cannot be written: {why}") from error


def one_line(text: str) -> str:
    """``text`` with each tab, line feed and carriage return made a space: a safe TSV cell."""
    return text.translate(_ONE_LINE)


# --- out ------------------------------------------------------------------------------------


def _to_stdout(binary: bool) -> Iterator[IO[Any]]:
    sys.stdout.flush()  # what was printed before comes before
    raw: Any = getattr(sys.stdout, "buffer", sys.stdout)  # a StringIO in its place has none
    # A StreamWriter, since a TextIOWrapper closes what it wraps when it is collected.
    writer: Any = raw if binary or raw is sys.stdout else codecs.getwriter("utf-8")(raw)
    yield writer
    raw.flush()


def _to_file(origin: str, final: str, partial: str, binary: bool) -> Iterator[IO[Any]]:
    codec = _codec(origin)
    with open(partial, "wb", buffering=0) as file:
        # Closing the layers leaves the descriptor itself open, to be synced after the last byte.
        layers: list[Any] = [open(file.fileno(), "wb", closefd=False)]  # noqa: SIM115
        try:
            if codec is gzip:  # neither the time nor the temporary's name belongs in the file
                layers.append(gzip.GzipFile("", "wb", 6, layers[0], mtime=0))
            elif codec is bz2 or codec is lzma:
                layers.append(codec.open(layers[0], "wb"))
            elif codec:
                checksum = {codec.CompressionParameter.checksum_flag: 1}
                layers.append(codec.open(layers[0], "wb", options=checksum))
            if not binary:
                layers.append(io.TextIOWrapper(layers[-1], encoding="utf-8", newline="\n"))
            yield layers[-1]
            for layer in reversed(layers):
                layer.close()
            if partial != final:
                os.fsync(file.fileno())
                os.replace(partial, final)
        finally:  # after a failure the layers may fail again on what they still hold
            for layer in reversed(layers):
                with suppress(Exception):
                    layer.close()
            if partial != final:
                with suppress(OSError):
                    os.unlink(partial)


# --- in: files to records -------------------------------------------------------------------


class _Want(NamedTuple):
    """A column that is asked for; without a key its text is ""."""

    key: int | str | None
    required: bool = True
    is_id: bool = False


# The line, the text of each wanted column (None: undecodable), and whether bytes were replaced.
_Record = tuple[int, tuple[str, ...] | None, bool]


def _records(
    origin: str,
    format: str,
    wants: Sequence[_Want],
    header: bool,
    on_error: str,
    held: bytes | None = None,
) -> Iterator[_Record]:
    """Every record of a file, the only place where bytes become text."""
    name = _name(origin)
    if format in ("plain", "bucc") and (header or any(want.key is not None for want in wants)):
        raise CorpusError(
            f"{name}: a {format} file has no columns and no header; "
            "give its format: tsv, jsonl or parquet"
        )
    numbered = enumerate(_parts(origin, format, wants, held), 1)
    names = None
    if header and format == "tsv":
        first = next(numbered, None)
        if first is None:
            return
        try:
            text = first[1][0].decode("utf-8", "strict" if on_error == "fail" else "replace")
        except UnicodeDecodeError as error:
            raise CorpusError(_undecodable(name, 1, error)) from None
        names = text.split("\t")
    parse = _parser(name, format, wants, names)
    for line, parts in numbered:
        try:
            fields = parse(line, *[part.decode() for part in parts])
            if format == "jsonl":  # escapes can spell half a character, which no file can hold
                "".join(fields).encode()
        except UnicodeError as error:
            if on_error == "fail":
                raise CorpusError(_undecodable(name, line, error)) from None
            if on_error == "skip":
                yield line, None, False
                continue
            fields = parse(line, *[part.decode("utf-8", "replace") for part in parts])
            yield line, tuple(_LONE_SURROGATE.sub("\ufffd", text) for text in fields), True
        else:
            yield line, fields, False


def _aligned(sides: Sequence[Reader]) -> Iterator[_Record]:
    """The records of two files, row by row, once both are known to have equally many."""
    names = [_name(side.origin) for side in sides]
    if sides[0].origin == sides[1].origin == "-":
        raise CorpusError("standard input cannot be both sides; give a file for one of them")
    held = [_hold(side.origin) for side in sides]
    counts = [
        sum(1 for _ in _parts(side.origin, side.format, side._wants, data))
        for side, data in zip(sides, held, strict=True)
    ]
    counts = [
        max(0, count - (side.header and side.format == "tsv"))
        for count, side in zip(counts, sides, strict=True)
    ]
    if counts[0] != counts[1]:
        raise CorpusError(
            f"{names[0]} has {counts[0]} lines but {names[1]} has {counts[1]}; "
            "the two sides of a bitext must be aligned line by line"
        )
    rows = 0
    pairs = zip(
        *(
            _records(side.origin, side.format, side._wants, side.header, side.on_error, data)
            for side, data in zip(sides, held, strict=True)
        ),
        strict=False,
    )
    for (line, source, replaced), (_, target, also) in pairs:
        rows += 1
        both = None if source is None or target is None else (source[0], target[0])
        yield line, both, replaced or also
    if rows != counts[0]:
        raise CorpusError(
            f"{names[0]} or {names[1]} changed while it was read: {counts[0]} lines "
            f"were counted, then {rows} came; run again once both are complete"
        )


def _parser(
    name: str, format: str, wants: Sequence[_Want], header: list[str] | None
) -> Callable[..., tuple[str, ...]]:
    """A function of (line, the record's texts) that gives the text of each wanted column."""
    blank = ("",) * len(wants)

    def bucc(line: int, text: str) -> tuple[str, ...]:
        identifier, tab, sentence = text.partition("\t")
        if not tab and not _blank(text):
            raise CorpusError(
                f"{name}, line {line}: no tab; a bucc line is id, tab, sentence: "
                "mend it, or read the file as plain"
            )
        return (sentence, identifier) if tab else blank

    places = _places(name, wants, header) if format == "tsv" else []

    def tsv(line: int, text: str) -> tuple[str, ...]:
        if _blank(text):
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
        if _blank(text):
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


def _places(name: str, wants: Sequence[_Want], header: list[str] | None) -> list[int | None]:
    """Where in a tsv row each wanted column is, from 0; numbers may come as text, as from a CLI."""
    places: list[int | None] = []
    for key, _, _ in wants:
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


def _json_text(where: str, record: dict[str, Any], want: _Want) -> str:
    key, required, is_id = want
    value = record.get(str(key))
    if value is None and not required:
        return ""
    if is_id and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        found = f"is {type(value).__name__}, not text" if key in record else "is missing"
        raise CorpusError(f"{where}: key {key!r} {found}; there are: {', '.join(record)}")
    return value


# --- in: bytes ------------------------------------------------------------------------------


def _parts(
    origin: str, format: str, wants: Sequence[_Want], held: bytes | None
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
            f"{_name(origin)}: cannot be read: {error.strerror or error}; "
            "check the path and its permissions"
        ) from error


def _lines(origin: str, held: bytes | None) -> Iterator[bytes]:
    """Each line, decompressed, without its end; a byte-order mark before the first is dropped."""
    name, codec, done = _name(origin), _codec(origin), 0
    damage = (EOFError, zlib.error, lzma.LZMAError, getattr(codec, "ZstdError", EOFError), OSError)
    with _opened(origin, held) as raw:
        suffix = os.path.splitext(origin)[1]
        magic = _MAGIC[suffix.lower()] if codec else b""
        head = raw.peek(1)[: len(magic)] if codec else b""
        if codec and not head:  # which gzip alone would take for an empty text
            raise CorpusError(
                f"{name}: 0 bytes, not even a {suffix} header; probably an "
                "incomplete download: fetch it again"
            )
        try:
            for line in codec.open(raw, "rb") if codec else raw:
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


def _parquet(
    origin: str, wants: Sequence[_Want], held: bytes | None
) -> Iterator[tuple[bytes, ...]]:
    """The wanted columns of each row; null is empty. Text stays bytes until `_records`."""
    try:
        pa: Any = importlib.import_module("pyarrow")
        pq: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DependencyError(
            f"{_name(origin)}: reading Parquet needs pyarrow; run: "
            'pip install "bitext-miner[parquet]"'
        ) from None
    name = _name(origin)
    if any(isinstance(want.key, int) for want in wants):
        raise CorpusError(f"{name}: Parquet columns have names; give those and not numbers")
    if _codec(origin):
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
                    else _column_bytes(pa, name, key, batch.column(key), want.is_id)
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


def _column_bytes(pa: Any, name: str, key: Any, column: Any, is_id: bool) -> list[bytes | None]:
    if is_id and pa.types.is_integer(column.type):
        column = column.cast(pa.string())
    try:
        return list(column.cast(pa.large_binary()).to_pylist())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise CorpusError(
            f"{name}: column {key!r} is {column.type}, not text; choose another"
        ) from None


# --- small things ---------------------------------------------------------------------------


def _corpus(kept: list[tuple[str, str, int]], origin: str) -> Corpus:
    return Corpus(
        [row[0] for row in kept],
        [row[1] for row in kept],
        np.array([row[2] for row in kept], dtype=np.int64),
        origin,
    )


def _blank(text: str) -> bool:
    return not text or text.isspace()


def _name(origin: str) -> str:
    return "standard input" if origin == "-" else origin


def _format(origin: str, format: str | None, on_error: str) -> str:
    """The format asked for, or else the one that the suffix under any compression tells."""
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error is {on_error!r}; it must be one of {', '.join(ON_ERROR)}")
    if format is None:
        stem, suffix = os.path.splitext(origin.lower())
        return _SUFFIXES.get(os.path.splitext(stem)[1] if suffix in _MAGIC else suffix, "plain")
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; it must be one of {', '.join(FORMATS)}")
    return format


def _codec(origin: str) -> Any:
    """The module that compresses files of this suffix, or None."""
    suffix = os.path.splitext(origin)[1].lower()
    if suffix != ".zst":
        return {".gz": gzip, ".bz2": bz2, ".xz": lzma}.get(suffix)
    try:
        if sys.version_info >= (3, 14):
            import compression.zstd as zstd
        else:
            import backports.zstd as zstd
    except ImportError:
        raise DependencyError(
            f"{origin}: .zst files need a zstd library; run: pip install backports.zstd"
        ) from None
    return zstd


def _hold(origin: str) -> bytes | None:
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
    return (
        f"{name}, line {line}, {what}; pass --on-error replace or skip, or convert the file "
        "with iconv -f ENCODING -t UTF-8"
    )
