"""Files of OPUS: zips of Moses files, and XCES alignments with their XML documents."""

import codecs
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, zip_longest
from pathlib import Path, PurePosixPath
from typing import IO, Any

from miner.errors import CorpusError, UnreadableError
from miner.option_values import SIDES
from miner.text.language_codes import closest
from miner.text.lines import MOST, display_name, opened, undecodable
from miner.text.text_format import Columns, RawText, Units
from miner.text.xml_parser import BROKEN, UnitParser, XmlParser

# Corpus.de-en.de, in any folder: stem, both languages, and the language of the file.
_SIDE = re.compile(r"(.*/)?([^/]*\.([^./]+)-([^./]+))\.(\3|\4)")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
# Directories searched for an alignment's documents, relative to its directory.
_FOLDERS = ("", "xml", "raw", "..", "../xml", "../raw")
_END = b"\n"


class OpusZip(Units):
    """Format of OPUS's Moses zips: two aligned files and perhaps their `.ids`.

    The languages are in the order of the name, or chosen by their codes as columns.
    """

    name = "opus"
    suffixes = (".zip",)
    written = False

    def rows(self, text: RawText, columns: Columns) -> Iterator[dict[str, Any]]:
        name, on_error = display_name(text.origin), text.on_error
        with opened(text.origin, text.held) as raw:
            try:
                with zipfile.ZipFile(raw) as file:
                    sides, ids = _members(name, file.namelist(), columns)
                    parts = [_lines(f"{name}, {side}", file.open(side), on_error) for side in sides]
                    more: Iterator[str] = iter(())
                    if ids in file.namelist():
                        more = _lines(f"{name}, {ids}", file.open(ids), on_error)
                    for number, (source, target) in enumerate(zip_longest(*parts), 1):
                        if source is None or target is None:
                            raise CorpusError(
                                f"{name}: {sides[source is None]} has more lines than the other "
                                f"side, which has {number - 1:,}; fetch it again"
                            )
                        cells = next(more, "").split("\t")
                        facts = zip(("document1", "document2", "ids1", "ids2"), cells, strict=False)
                        yield {"source": source, "target": target} | (
                            dict(facts) if len(cells) == 4 else {}
                        )
            except _DAMAGE as error:
                raise CorpusError(f"{name}: not a sound zip ({error}); fetch it again") from None


def _members(name: str, members: Sequence[str], columns: Columns) -> tuple[list[str], str]:
    """Return the names of the files of both sides, and of their ids."""
    # macOS adds a file for each member: __MACOSX/._Corpus.de-en.de
    members = [member for member in members if not re.search(r"(^|/)(__MACOSX/|\._)", member)]
    matches = [match for match in map(_SIDE.fullmatch, members) if match]
    stems = {(match[1] or "") + match[2] for match in matches}
    if len(stems) != 1 or len(matches) != 2:
        raise CorpusError(
            f"{name}: has {len(matches)} files such as Corpus.de-en.de, not the two of a pair; "
            "unpack it and give --source and --target"
        )
    (stem,) = stems
    codes = _ordered(name, (matches[0][3], matches[0][4]), columns)
    return [f"{stem}.{code}" for code in codes], f"{stem}.ids"


def _lines(name: str, file: IO[bytes], on_error: str) -> Iterator[str]:
    """Yield the lines of a member; bytes that are not UTF-8 become lone surrogates."""
    for number in count(1):
        line = file.readline(MOST + 2)
        if not line:
            return
        if len(line) > MOST + 1:
            raise CorpusError(f"{name}, line {number}: longer than {MOST >> 20} MiB; not text")
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield (
                line.removesuffix(_END)
                .removesuffix(b"\r")
                .decode(errors="strict" if on_error == "fail" else "surrogateescape")
            )
        except UnicodeDecodeError as error:
            raise UnreadableError(undecodable(name, number, error)) from None


class Xces(Units):
    """Format of alignments: links between sentences of XML documents, whose paths are relative."""

    name = "xces"
    suffixes = (".xml",)
    written = False

    def rows(self, text: RawText, columns: Columns) -> Iterator[dict[str, Any]]:
        yield from _Links(text, columns).taken()


class _Links(UnitParser):
    """Parser of an alignment's links to rows: the texts of both sides, and their origins."""

    root = "cesAlign"

    def __init__(self, text: RawText, columns: Columns) -> None:
        super().__init__(text)
        self.columns = columns
        self._names: tuple[str, str] = "", ""
        self._documents: dict[str, _Document] = {}

    def start(self, tag: str, given: dict[str, str]) -> None:
        given = {self.names[key]: text for key, text in given.items()}
        if "fromdoc" in given and "todoc" in given:
            self._names = given["fromdoc"], given["todoc"]
        elif self.names[tag] == "link":
            self.unit = self.line
            self._link(given.get("xtargets", ";"), given.get("certainty"))

    def _link(self, targets: str, certainty: str | None) -> None:
        where = f"{display_name(self.origin)}, line {self.unit}"
        if self._documents.keys() != {*self._names}:
            self._documents = {name: _document(self.origin, name) for name in self._names}
        sides = [
            (name, self._documents[name], side.split())
            for name, side in zip(self._names, targets.split(";"), strict=False)
        ]
        if targets.count(";") != 1:
            self.facts = {}
            return self.unreadable(f"{where}: a link without two sides: {targets!r}; mend it")
        codes = [next(iter(PurePosixPath(name).parts), "") for name in self._names]
        if _ordered(display_name(self.origin), codes, self.columns)[0] != codes[0]:
            sides.reverse()
        self.facts = {} if certainty is None else {"certainty": certainty}
        for number, (name, _, ids) in enumerate(sides, 1):
            self.facts |= {f"document{number}": name, f"ids{number}": " ".join(ids)}
        row: dict[str, str] = {}
        fault = None
        for side, (name, document, ids) in zip(SIDES, sides, strict=True):
            lost = document.lost or next(
                (f"no sentence {id!r}; mend it" for id in ids if id not in document.texts),
                None,
            )
            if lost:
                return self.unreadable(f"{where}: {name}: {lost}")
            row[side] = " ".join(document.texts[id] for id in ids)
            fault = fault or next((document.bad[id] for id in ids if id in document.bad), None)
        self.add(row, fault)


@dataclass(frozen=True)
class _Document:
    """Sentences of a document by id, faulty ones with the reason, and the reason if it is
    unreadable.
    """

    texts: dict[str, str]
    bad: dict[str, str]
    lost: str | None = None


class _Sentences(XmlParser):
    """Parser of a document's sentences by id: their words joined by spaces, or their text."""

    def __init__(self, origin: str) -> None:
        super().__init__(RawText(origin))
        self.texts: dict[str, str] = {}
        self.bad: dict[str, str] = {}
        self._id: str | None = None
        self._line = 0
        self._words: list[str] = []
        self._text: list[str] = []

    def start(self, tag: str, given: dict[str, str]) -> None:
        name = self.names[tag]
        if name == "s":
            self._id, self._line = self.attribute(given, "id") or "", self.line
            self._words, self._text = [], []
        elif name == "w":
            self._text = []
        self.parser.CharacterDataHandler = None if self._id is None else self._text.append

    def end(self, tag: str) -> None:
        name = self.names[tag]
        if name == "w":
            self._words.append("".join(self._text).strip())
        elif name == "s" and self._id is not None:
            words = self._words or "".join(self._text).split()
            self.texts[self._id] = text = " ".join(words)
            if BROKEN in text:
                self.bad[self._id] = self.fault(self._line)
            self._id, self.size = None, 0
            self.parser.CharacterDataHandler = None


def _document(origin: str, name: str) -> _Document:
    """Return a document, whose path is relative to a folder near the alignment."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        return _Document({}, {}, "not below the folder of the alignment")
    folder = Path(origin).parent
    stem = name.removesuffix(".gz")
    paths = [folder / near / file for near in _FOLDERS for file in (name, stem, f"{stem}.gz")]
    path = next((str(path) for path in paths if path.is_file()), None)
    if path is None:
        return _Document({}, {}, "not there; unpack the documents beside the alignment")
    reader = _Sentences(path)
    try:
        for _ in reader.parts():
            pass
    except CorpusError as error:
        return _Document({}, {}, str(error))
    return _Document(reader.texts, reader.bad)


def _ordered(name: str, codes: Sequence[str], columns: Columns) -> Sequence[str]:
    """Return both codes in the order of the requested columns."""
    fitting = []
    for column, usual in zip(columns, Units.sides, strict=False):
        wanted = str(column.key)
        fits = closest(wanted, codes) if wanted != usual else [0, 1]
        if not fits:
            raise CorpusError(f"{name}: no language {wanted!r}; there are: {', '.join(codes)}")
        fitting.append(fits)
    source, target = fitting
    if source == target and len(source) == 1:
        raise CorpusError(
            f"{name}: {codes[source[0]]!r} would be both sides; there are: {', '.join(codes)}"
        )
    return codes[::-1] if source == [1] or target == [0] else codes
