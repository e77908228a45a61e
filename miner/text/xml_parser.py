"""`XmlParser`: base class of parsers of XML formats, which read a file in parts.

Text is decoded before expat sees it, so that a bad byte does not stop the parser: it reaches its
segment as `BROKEN`, and ``on_error`` applies to that segment only.
"""

import codecs
import re
from collections import deque
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from miner.errors import CorpusError, UnreadableError
from miner.expressions import expression
from miner.text.lines import MOST, decompressed, display_name
from miner.text.text_format import RawText
from miner.text_table import count_of

_PART = 1 << 16
# Noncharacter that marks a bad byte within XML, and the lone surrogate that replaces it in cells,
# which readers treat as a byte that is not UTF-8.
BROKEN, UNDECODABLE = "\ufdd0", "\udcff"
# Characters that XML 1.0 cannot hold, noncharacters, and references to either by number.
_NO_XML = expression("[^\t\n\r -\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = expression(_NO_XML.pattern + "|&#(?:x[0-9a-fA-F]{1,9}|[0-9]{1,9});")
# Length of the longest character reference; the end of a part may cut one.
_LONGEST = 13
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    b"<\0": "utf-16-le",
    b"\0<": "utf-16-be",
}
_DECLARED = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)")


class XmlParser:
    """Parser of a file with root element ``root``. Entities are refused.

    resume: pattern of the tags at which parsing resumes after an element that is not XML; None to
        stop there.
    """

    root = ""
    resume: re.Pattern[bytes] | None = None

    def __init__(self, text: RawText):
        self.text, self.origin, self.on_error = text, text.origin, text.on_error
        self.names = _Names()
        # Bytes since the last row; line and kind of each bad character not yet assigned to a row.
        self.size = 0
        self.faults: deque[tuple[int, str]] = deque()
        # Bytes parsed so far; lines before the parser's first byte, and before its next byte.
        self._taken = self._above = self._lines = 0
        # Tags of the elements around those at which parsing resumes, and the fault before one.
        self.heads: list[str] = []
        self._lost: CorpusError | None = None
        self._encoding = "utf-8"
        self._open(self._first)

    def _open(self, start: Any) -> None:
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.UseForeignDTD(True)  # undeclared entities, such as &nbsp;, are skipped
        parser.StartElementHandler = start
        parser.EndElementHandler = self.end
        parser.EntityDeclHandler = self._entity

    @property
    def line(self) -> int:
        return self._above + self.parser.CurrentLineNumber

    def fail(self, reason: str) -> CorpusError:
        """Return an error at the current line."""
        return CorpusError(f"{display_name(self.origin)}, line {self.line}: {reason}")

    def parts(self) -> Iterator[None]:
        """Parse the file, yielding after each part. Raises CorpusError for invalid XML."""
        with decompressed(self.origin, self.text.held, lambda: f"line {self.line}") as file:
            part = file.read(_PART)
            decoder, rest, encoded = self._decoder(part), "", b""
            while True:
                try:
                    text = rest + decoder.decode(part, not part)
                except UnicodeDecodeError as error:
                    raise self.fail(
                        f"not {self._encoding.upper()} ({error.reason}); fetch the file again if "
                        "it is cut, or convert it to UTF-8"
                    ) from None
                cut = text.rfind("&", -_LONGEST) if part else -1
                text, rest = (text, "") if cut < 0 else (text[:cut], text[cut:])
                encoded = self._parse(encoded + self._mended(text).encode(), not part)
                yield
                if not part:
                    return
                self.size += len(part)
                if self.size > MOST:
                    raise self.fail(f"a unit longer than {MOST >> 20} MiB; check the file")
                part = file.read(_PART)

    def start(self, tag: str, given: dict[str, str]) -> None:
        """Handle the start of an element."""

    def end(self, tag: str) -> None:
        """Handle the end of an element."""

    def broken(self, error: CorpusError) -> None:
        """Skip the present element, which is invalid XML, or raise the error."""
        raise error

    def attribute(self, given: dict[str, str], name: str) -> str | None:
        """Return an attribute by its name in lower case, without its namespace."""
        return next((text for key, text in given.items() if self.names[key] == name), None)

    def fault(self, first: int) -> str:
        """Return position and kind of the first bad character from a line on; clear the list."""
        while len(self.faults) > 1 and self.faults[0][0] < first:
            self.faults.popleft()
        line, kind = self.faults[0]
        unit = f", in the unit of line {first}" if line != first else ""
        return f"{display_name(self.origin)}, line {line}{unit}: {kind}"

    def _decoder(self, head: bytes) -> codecs.IncrementalDecoder:
        """Return the decoder of a file by its byte-order mark or declaration."""
        encoding = next((code for mark, code in _MARKS.items() if head.startswith(mark)), None)
        declared = _DECLARED.match(head.lstrip())
        if encoding is None and declared:
            encoding = declared[1].decode().lower()
            try:
                if b"<".decode(encoding) != "<":
                    raise LookupError
            except UnicodeDecodeError:  # declared as UTF-16, but written byte by byte
                encoding = None
            except LookupError:
                raise self.fail(
                    f"declares the encoding {encoding!r}, which is not known; convert it to UTF-8"
                ) from None
        self._encoding = encoding or "utf-8"
        wide = self._encoding.startswith(("utf-16", "utf-32"))
        errors = "surrogatepass" if wide else "surrogateescape"
        return codecs.getincrementaldecoder(self._encoding)(errors)

    def _mended(self, text: str) -> str:
        """Replace characters and references that XML cannot hold by `BROKEN`."""

        def checked(found: re.Match[str]) -> str:
            matched = found[0]
            if len(matched) > 1:
                number = int(matched[3:-1], 16) if matched[2] == "x" else int(matched[2:-1])
                if number < 0x110000 and not _NO_XML.match(chr(number)):
                    return matched
                kind = f"{matched} stands for no character of XML"
            elif "\udc80" <= matched <= "\udcff":
                kind = f"0x{ord(matched) - 0xDC00:02X} is not {self._encoding.upper()}"
            else:
                kind = f"U+{ord(matched):04X} is no character of XML"
            line = self._lines + text.count("\n", 0, found.start()) + 1
            self.faults.append((line, f"{kind}; mend the text, or its declared encoding"))
            return BROKEN

        return (_REFERENCE if "&#" in text else _NO_XML).sub(checked, text)

    def _parse(self, part: bytes, last: bool) -> bytes:
        """Parse a part; return its tail, which must be parsed with the next part."""
        position = 0
        while True:
            if self._lost is not None:
                match = self.resume.search(part, position) if self.resume else None
                if match is None:
                    if last:
                        raise self._lost
                    return self._passed(part, max(position, len(part) - _LONGEST))
                part, position = self._passed(part, match.start()), 0
                self._begin_again(match[0])
            try:
                self.parser.Parse(part[position:], last)
            except expat.ExpatError as error:
                why = str(error).partition(":")[0]
                lost = self.fail(
                    f"not XML ({why}); mend the line, or fetch the file again if it is cut"
                )
                if last:
                    raise lost from None
                self.broken(lost)
                self._lost = lost
                position += max(0, self.parser.ErrorByteIndex - self._taken) + 1
                continue
            self._taken += len(part) - position
            return self._passed(part, len(part))

    def _begin_again(self, tag: bytes) -> None:
        """Open a parser at a tag, inside its enclosing elements."""
        heads = self.heads
        if tag.startswith(b"</"):
            names = [self.names[name] for name in heads]
            heads = heads[: names.index(self.names[tag[2:].decode().rstrip("> \t\r\n")]) + 1]
        self._above, self._lost = self._lines, None
        self._open(self.start)
        head = "".join(f"<{name}>" for name in heads).encode()
        self._taken = len(head)
        self.parser.StartElementHandler = None
        self.parser.Parse(head)
        self.parser.StartElementHandler = self.start

    def _passed(self, part: bytes, place: int) -> bytes:
        self._lines += part.count(b"\n", 0, place)
        return part[place:]

    def _first(self, tag: str, given: dict[str, str]) -> None:
        if self.root and self.names[tag] != self.root.lower():
            raise self.fail(f"begins with <{tag}>, not <{self.root}>; give its format")
        self.parser.StartElementHandler = self.start
        self.start(tag, given)

    def _entity(self, entity: str, *_: Any) -> None:
        raise self.fail(f"declares the entity {entity!r}, which is refused; remove it")


class UnitParser(XmlParser):
    """Parser of a bitext to ``rows`` of named cells, from units that are not lines.

    ``unit`` is the line of the open unit, ``facts`` are its cells besides both texts.
    """

    def __init__(self, text: RawText) -> None:
        self.unit = 0
        self.facts: dict[str, str] = {}
        self.rows: list[dict[str, str]] = []
        # Number of faulty units, and the fault of the first.
        self.faulty, self.first_fault = 0, ""
        super().__init__(text)

    def add(self, row: dict[str, str], fault: str | None = None) -> None:
        """Add the texts of a row. Raises UnreadableError for a faulty row, unless faults are
        skipped.

        ``fault`` describes the fault of the row, by default its first bad character, if any.
        """
        self.size = 0
        row |= self.facts
        if self.faults and fault is None:
            where = self.fault(self.unit)
            fault = where if any(BROKEN in cell for cell in row.values()) else None
        if fault is not None:
            if self.on_error == "fail":
                raise UnreadableError(fault)
            self._count(fault)
            row = {key: cell.replace(BROKEN, UNDECODABLE) for key, cell in row.items()}
        self.rows.append(row)

    def broken(self, error: CorpusError) -> None:
        if self.resume is not None and len(self.heads) < 2:
            raise error
        self.unreadable(str(error))

    def unreadable(self, fault: str) -> None:
        """Count a row that cannot be read. Raises UnreadableError, unless faults are skipped."""
        if self.on_error != "skip":
            raise UnreadableError(fault, "skip")
        self._count(fault)
        self.rows.append({"source": UNDECODABLE, "target": ""} | self.facts)

    def _count(self, fault: str) -> None:
        self.faulty += 1
        self.first_fault = self.first_fault or fault

    def taken(self) -> Iterator[dict[str, str]]:
        """Parse the file and yield its rows; note faulty units, if any."""
        for _ in self.parts():
            yield from self.rows
            self.rows.clear()
        if self.faulty:
            done = {"skip": "left out", "replace": "read with U+FFFD"}[self.on_error]
            units = count_of(self.faulty, "faulty unit")
            self.text.note(f"{units} {done}; the first: {self.first_fault}")


class _Names(dict[str, str]):
    """Names of elements and attributes without their namespace, in lower case."""

    def __missing__(self, name: str) -> str:
        return self.setdefault(name, name.rpartition(":")[2].lower())
