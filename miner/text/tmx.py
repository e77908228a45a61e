"""TMX 1.4, translation memories in XML: units with a text for each language."""

import html
import re
from collections.abc import Iterator
from typing import Any

from miner.errors import CorpusError
from miner.names import VERSION
from miner.text.lines import display_name
from miner.text.output import StrPath, one_line, open_output
from miner.text.text_format import BitextRows, Columns, Languages, Units
from miner.text.xml_parser import XmlParser

# Elements of a segment whose content is code or a text of its own; of others it is text.
_CODE = {"bpt", "ept", "ph", "it", "ut", "sub"}
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
        wanted = zip((str(column.key) for column in columns), self.sides, strict=False)
        source, target = (None if key == usual else key for key, usual in wanted)
        reader = _Units(origin, held)
        for _ in reader.parts():
            yield from _rows(reader, display_name(origin), (source, target))

    def write(
        self, rows: BitextRows, path: StrPath, languages: Languages = (None, None), **how: Any
    ) -> None:
        """Write units with the texts of both languages; further cells are id and properties."""
        from xml.sax.saxutils import escape, quoteattr  # it imports an HTTP client

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


def _rows(
    reader: "_Units", name: str, chosen: tuple[str | None, str | None]
) -> Iterator[dict[str, str]]:
    """Yield the rows of the units that are read, and forget these units.

    A row has source, target and further facts: the unit's ``id`` and its properties. ``chosen`` are
    the languages of both sides, None for the file's own.
    """
    units, reader.units = reader.units, []
    for line, texts, facts in units:
        wanted = chosen[0] or reader.source or next(iter(texts), ("", ""))[0]
        sources = [text for language, text in texts if _is(language, wanted)]
        others = [(language, text) for language, text in texts if not _is(language, wanted)]
        if chosen[1] is None:
            reader.others |= {re.split("[-_]", language.lower())[0] for language, _ in others}
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


class _Units(XmlParser):
    """Parser of units of (line, texts by language, facts)."""

    root = "tmx"

    def __init__(self, origin: str, held: bytes | None) -> None:
        super().__init__(origin, held)
        self.units: list[tuple[int, list[tuple[str, str]], dict[str, str]]] = []
        self.source: str | None = None
        self.others: set[str] = set()
        self._texts: list[tuple[str, str]] = []
        self._facts: dict[str, str] = {}
        self._language, self._key = "", ""
        # Parts of the open segment or property; None outside and in its codes.
        self._words: list[str] | None = None
        self._hidden: list[str] = []
        self._line = 0
        self.parser.SkippedEntityHandler = lambda one, _: self.text(html.unescape(f"&{one};"))

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "header" and given.get("srclang", "*all*").lower() != "*all*":
            self.source = given["srclang"]
        elif tag == "tu":
            self._line, self._texts = self.line, []
            self._facts = {"id": given["tuid"]} if "tuid" in given else {}
        elif tag == "tuv":
            self._language = given.get("xml:lang", given.get("lang", ""))
            if not self._language:
                raise self.fail("a <tuv> without xml:lang; add the code of its language")
        elif tag == "seg" or (tag == "prop" and "tuv" not in self.open and "tu" in self.open):
            self._key, self._words, self.size = given.get("type", ""), [], 0
        elif tag in _CODE and self._words is not None:
            self._hidden, self._words = self._words, None

    def end(self, tag: str) -> None:
        if tag in _CODE and not _CODE.intersection(self.open) and "seg" in self.open:
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

    def text(self, text: str) -> None:
        if self._words is not None:
            self._words.append(self.grow(text))


def _is(language: str, wanted: str) -> bool:
    """Tell whether a language is the wanted one, or one of both is a variant of the other."""
    found, code = (f"{one.lower().replace('_', '-')}-" for one in (language, wanted))
    return found.startswith(code) or code.startswith(found)
