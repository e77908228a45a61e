"""TMX 1.4, translation memories in XML: units with a text for each language."""

import html
import re
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from miner.errors import CorpusError
from miner.names import VERSION
from miner.text.lines import MOST, decompressed, display_name
from miner.text.output import StrPath, one_line, open_output
from miner.text.text_format import (
    BitextRows,
    Columns,
    Languages,
    Units,
)

# Elements of a segment whose content is code or a text of its own; of others it is text.
_CODE = {"bpt", "ept", "ph", "it", "ut", "sub"}
_PART = 1 << 16
# Characters that XML 1.0 cannot hold.
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Tmx(Units):
    """Units of one text in the source language and any number in the target language.

    Each text in the target language is a row with the first text in the source language. Columns
    are codes of languages, in which ``de`` covers ``de-AT``: by default the source language that
    the file names, and the only other one.
    """

    name = "tmx"
    suffixes = (".tmx",)

    def rows(
        self, origin: str, columns: Columns, held: bytes | None = None
    ) -> Iterator[dict[str, Any]]:
        source, target = (str(column.key) for column in columns[:2])
        return read_units(origin, source, target, held)

    def write(
        self, rows: BitextRows, path: StrPath, languages: Languages = (None, None), **how: Any
    ) -> None:
        """Write units with the texts of both languages; further cells are id and properties."""
        source, target = (quoteattr(code or "und") for code in languages)
        with open_output(path, **how) as file:
            file.write(
                '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header '
                f'creationtool="bitext-miner" creationtoolversion="{VERSION}" segtype="sentence" '
                f'o-tmf="bitext" adminlang="en" srclang={source} datatype="plaintext"/>\n<body>\n'
            )
            for row in rows:
                cells = {
                    key: _NO_XML.sub("\ufffd", one_line(str(cell)))
                    for key, cell in row.items()
                    if cell is not None
                }
                left, right = (escape(cells.pop(side, "")) for side in self.sides)
                number = f" tuid={quoteattr(cells.pop('id'))}" if cells.get("id") else ""
                more = "".join(
                    f"<prop type={quoteattr(key)}>{escape(cell)}</prop>"
                    for key, cell in cells.items()
                )
                file.write(
                    f"<tu{number}>{more}<tuv xml:lang={source}><seg>{left}</seg></tuv>"
                    f"<tuv xml:lang={target}><seg>{right}</seg></tuv></tu>\n"
                )
            file.write("</body>\n</tmx>\n")


def read_units(
    origin: str, source: str, target: str, held: bytes | None = None
) -> Iterator[dict[str, str]]:
    """Yield source, target and further facts of each row: the unit's ``id`` and its properties.

    ``source`` and ``target`` are languages, or these words for the file's own. Raises CorpusError.
    """
    name, reader = display_name(origin), _Units(display_name(origin))
    with decompressed(origin, held, lambda: f"line {reader.parser.CurrentLineNumber}") as file:
        chosen = None if source == "source" else source, None if target == "target" else target
        while part := file.read(_PART):
            reader.feed(part)
            yield from _rows(reader, name, chosen)
        reader.feed(b"", True)


def _rows(
    reader: "_Units", name: str, chosen: tuple[str | None, str | None]
) -> Iterator[dict[str, str]]:
    """Yield the rows of the units that are read, and forget these units."""
    units, reader.units = reader.units, []
    for line, texts, facts in units:
        wanted = chosen[0] or reader.source or next(iter(texts), ("", ""))[0]
        sources = [text for language, text in texts if _is(language, wanted)]
        others = [(language, text) for language, text in texts if not _is(language, wanted)]
        if chosen[1] is None:
            reader.others |= {_base(language) for language, _ in others}
            if len(reader.others) > 1:
                raise CorpusError(
                    f"{name}, line {line}: several target languages "
                    f"({', '.join(sorted(reader.others))}); choose one with --tcol"
                )
        if chosen[1] is None and not others:
            others = [(wanted, text) for text in sources[1:]]
        targets = [text for language, text in others if _is(language, chosen[1] or language)]
        for text in targets or [""]:
            yield {"source": sources[0] if sources else "", "target": text} | facts


class _Units:
    """Parser of a file that comes in parts: units of (line, texts by language, facts)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.units: list[tuple[int, list[tuple[str, str]], dict[str, str]]] = []
        self.source: str | None = None
        self.others: set[str] = set()
        self._texts: list[tuple[str, str]] = []
        self._facts: dict[str, str] = {}
        self._language, self._key = "", ""
        self._open: list[str] = []
        # Parts of the open segment or property; None outside and in its codes.
        self._words: list[str] | None = None
        self._hidden: list[str] = []
        self._size = self._line = 0
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = lambda entity, _: self._text(html.unescape(f"&{entity};"))

    def feed(self, part: bytes, last: bool = False) -> None:
        """Parse a part. Raises CorpusError for what is no TMX."""
        try:
            self.parser.Parse(part, last)
        except (expat.ExpatError, LookupError, ValueError) as error:
            line = self.parser.CurrentLineNumber
            reason = str(error).partition(":")[0]
            raise CorpusError(
                f"{self.name}, line {line}: not XML ({reason}); mend the line, or fetch the file "
                "again if it is not whole"
            ) from None

    def _fail(self, reason: str) -> CorpusError:
        return CorpusError(f"{self.name}, line {self.parser.CurrentLineNumber}: {reason}")

    def _entity(self, entity: str, *_: Any) -> None:
        raise self._fail(f"declares the entity {entity!r}, which a TMX needs not; remove it")

    def _start(self, tag: str, given: dict[str, str]) -> None:
        if not self._open and tag != "tmx":
            raise self._fail(f"begins with <{tag}>, not <tmx>; give its format")
        self._open.append(tag)
        if tag == "header" and given.get("srclang", "*all*").lower() != "*all*":
            self.source = given["srclang"]
        elif tag == "tu":
            self._line, self._texts = self.parser.CurrentLineNumber, []
            self._facts = {"id": given["tuid"]} if "tuid" in given else {}
        elif tag == "tuv":
            self._language = given.get("xml:lang", given.get("lang", ""))
            if not self._language:
                raise self._fail("a <tuv> without xml:lang; add the code of its language")
        elif tag == "seg" or (tag == "prop" and "tuv" not in self._open and "tu" in self._open):
            self._key, self._words, self._size = given.get("type", ""), [], 0
        elif tag in _CODE and self._words is not None:
            self._hidden, self._words = self._words, None

    def _end(self, tag: str) -> None:
        self._open.pop()
        if tag in _CODE and not _CODE.intersection(self._open) and "seg" in self._open:
            self._words = self._hidden
        elif tag in ("seg", "prop") and self._words is not None:
            text = re.sub(r"\s*\n\s*", " ", "".join(self._words)).strip()
            self._words = None
            if tag == "seg":
                self._texts.append((self._language, text))
            elif self._key not in ("", "source", "target"):
                self._facts[self._key] = text
        elif tag == "tu":
            self.units.append((self._line, self._texts, self._facts))

    def _text(self, text: str) -> None:
        if self._words is None:
            return
        self._size += len(text)
        if self._size > MOST:
            raise self._fail(f"a segment longer than {MOST >> 20} MiB; check the file")
        self._words.append(text)


def _is(language: str, wanted: str) -> bool:
    """Tell whether a language is the wanted one, or one of both is a variant of the other."""
    found, code = (f"{one.lower().replace('_', '-')}-" for one in (language, wanted))
    return found.startswith(code) or code.startswith(found)


def _base(language: str) -> str:
    return re.split("[-_]", language.lower())[0]
