"""Files of OPUS: zips with Moses files inside, and XCES alignments beside their XML documents."""

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest
from pathlib import Path, PurePosixPath
from typing import IO, Any

from miner.errors import CorpusError
from miner.text.lines import MOST, display_name, opened
from miner.text.text_format import Columns, Units
from miner.text.xml_parser import XmlParser

# Corpus.de-en.de, in any folder: the stem, both languages and its own.
_SIDE = re.compile(r"(.*/)?([^/]*\.([^./]+)-([^./]+))\.(\3|\4)")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
# Folders that hold the documents of an alignment, from its own folder.
_FOLDERS = ("", "xml", "raw", "..", "../xml", "../raw")
_END = b"\n"


class OpusZip(Units):
    """Zip of two aligned files and perhaps their `.ids`, as OPUS has them for Moses.

    The languages are in the order of the name, or chosen by their codes as columns.
    """

    name = "opus"
    suffixes = (".zip",)
    written = False

    def rows(
        self, origin: str, columns: Columns, held: bytes | None = None
    ) -> Iterator[dict[str, Any]]:
        name = display_name(origin)
        with opened(origin, held) as raw:
            try:
                with zipfile.ZipFile(raw) as file:
                    sides, ids = _members(name, file.namelist(), columns)
                    parts = [_lines(name, file.open(one)) for one in sides]
                    more = _lines(name, file.open(ids)) if ids in file.namelist() else iter(())
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
    found = {member: match for member in members if (match := _SIDE.fullmatch(member))}
    stems = {(match[1] or "") + match[2] for match in found.values()}
    if len(stems) != 1 or len(found) != 2:
        raise CorpusError(
            f"{name}: has {len(found)} files such as Corpus.de-en.de, not the two of a pair; "
            "unpack it and give --source and --target"
        )
    (stem,) = stems
    match = next(iter(found.values()))
    codes = _ordered(name, (match[3], match[4]), columns)
    return [f"{stem}.{code}" for code in codes], f"{stem}.ids"


def _lines(name: str, file: IO[bytes]) -> Iterator[str]:
    for number in count(1):
        line = file.readline(MOST + 2)
        if not line:
            return
        if len(line) > MOST + 1:
            raise CorpusError(f"{name}, line {number}: longer than {MOST >> 20} MiB; not text")
        try:
            yield line.removesuffix(_END).removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise CorpusError(
                f"{name}, line {number}: not UTF-8; unpack it and convert the file"
            ) from None


class Xces(Units):
    """Alignment by links between sentences of XML documents, whose paths begin near the file."""

    name = "xces"
    suffixes = (".xml",)
    written = False

    def rows(
        self, origin: str, columns: Columns, held: bytes | None = None
    ) -> Iterator[dict[str, Any]]:
        name, reader = display_name(origin), _Links(origin, held)
        texts: dict[str, dict[str, str]] = {}
        for _ in reader.parts():
            links, reader.links = reader.links, []
            for documents, given in links:
                if texts.keys() != set(documents):
                    texts = {one: _document(origin, one) for one in documents}
                ids = [side.split() for side in given.get("xtargets", ";").split(";")]
                if len(ids) != 2:
                    raise CorpusError(f"{name}: a link without two sides: {given}")
                sides = list(zip(documents, ids, strict=True))
                codes = tuple(PurePosixPath(one).parts[0] for one in documents)
                if _ordered(name, codes, columns)[0] != codes[0]:
                    sides.reverse()
                more = {"certainty": given["certainty"]} if "certainty" in given else {}
                yield _row(name, sides, texts) | more


def _row(
    name: str, sides: Sequence[tuple[str, list[str]]], texts: dict[str, dict[str, str]]
) -> dict[str, Any]:
    """Return the texts of both sides of a link, and where they come from."""
    row: dict[str, Any] = {}
    for side, (document, ids) in zip(("source", "target"), sides, strict=True):
        if missing := [one for one in ids if one not in texts[document]]:
            raise CorpusError(f"{name}: {document} has no sentence {missing[0]!r}")
        row[side] = " ".join(texts[document][one] for one in ids)
    for number, (document, ids) in enumerate(sides, 1):
        row |= {f"document{number}": document, f"ids{number}": " ".join(ids)}
    return row


def _ordered(name: str, codes: Sequence[str], columns: Columns) -> Sequence[str]:
    """Return both codes in the order that the columns ask for."""
    wanted = [str(column.key) for column in columns[:2]]
    asked = [one for one, usual in zip(wanted, Units.sides, strict=True) if one != usual]
    if unknown := [one for one in asked if one not in codes]:
        raise CorpusError(f"{name}: no language {unknown[0]!r}; there are: {', '.join(codes)}")
    swap = wanted[0] == codes[1] or wanted[1] == codes[0]
    return codes[::-1] if swap and codes[0] != codes[1] else codes


class _Links(XmlParser):
    """Links of an alignment: documents of both sides, and the attributes of a link."""

    root = "cesAlign"

    def __init__(self, origin: str, held: bytes | None) -> None:
        super().__init__(origin, held)
        self.links: list[tuple[tuple[str, str], dict[str, str]]] = []
        self._documents = "", ""

    def start(self, tag: str, given: dict[str, str]) -> None:
        if "fromDoc" in given and "toDoc" in given:
            self._documents = given["fromDoc"], given["toDoc"]
        elif tag == "link":
            self.links.append((self._documents, given))


class _Sentences(XmlParser):
    """Sentences of a document by id: their words with spaces between, or their text."""

    def __init__(self, origin: str) -> None:
        super().__init__(origin)
        self.texts: dict[str, str] = {}
        self._id: str | None = None
        self._words: list[str] = []
        self._text: list[str] = []

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "s":
            self._id, self._words, self._text, self.size = given.get("id", ""), [], [], 0
        elif tag == "w":
            self._text = []

    def text(self, text: str) -> None:
        if self._id is not None:
            self._text.append(self.grow(text))

    def end(self, tag: str) -> None:
        if tag == "w":
            self._words.append("".join(self._text).strip())
        elif tag == "s" and self._id is not None:
            words = self._words or "".join(self._text).split()
            self.texts[self._id], self._id = " ".join(words), None


def _document(origin: str, document: str) -> dict[str, str]:
    """Return the sentences of a document by id; its path begins at a folder near the alignment."""
    name, place = display_name(origin), PurePosixPath(document)
    if place.is_absolute() or ".." in place.parts:
        raise CorpusError(f"{name}: the document {document!r} is not below the folder")
    folder = Path(origin).parent
    names = (document, document.removesuffix(".gz"), f"{document.removesuffix('.gz')}.gz")
    found = [folder / near / one for near in _FOLDERS for one in names]
    path = next((str(path) for path in found if path.is_file()), None)
    if path is None:
        raise CorpusError(f"{name}: {document} is not there; unpack the documents beside it")
    reader = _Sentences(path)
    for _ in reader.parts():
        pass
    return reader.texts
