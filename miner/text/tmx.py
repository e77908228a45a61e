"""TMX 1.4, translation memories in XML: units with a text per language.

`UnitLanguages` chooses source and targets among the texts of a unit.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from miner.errors import CorpusError
from miner.expressions import expression
from miner.option_values import VERSION
from miner.text.language_codes import closest, primary
from miner.text.lines import display_name
from miner.text.output import StrPath, one_line, open_output
from miner.text.text_format import Columns, Languages, NamedRows, RawText, Units
from miner.text.xml_parser import UnitParser

# Positions of the source and of the targets among the texts of a unit.
Places = tuple[int | None, list[int]]


class UnitLanguages:
    """Choice of source and target in each unit of a file.

    ``source`` and ``target`` are the requested languages. A source of None is the language that the
    unit or the ``file`` declares, or else the language of the first text; if that is the target
    language, it is the unit's other language. A target of None is the only other language.
    """

    def __init__(self, source: str | None, target: str | None):
        self.source, self.target = source, target
        self.file: str | None = None
        self._codes: dict[str, None] = {}  # of all units, in order
        self._others: dict[str, set[str]] = {"source": set(), "target": set()}
        self._met = {"source": False, "target": False}
        self._known: dict[tuple[str | None, tuple[str, ...]], Places] = {}

    def places(self, unit: str | None, codes: tuple[str, ...]) -> Places:
        """Return the positions of source and targets among the texts of a unit, by their ``codes``.

        ``unit`` is the source language that the unit declares. Raises CorpusError if the unit has
        more languages than can be chosen from.
        """
        if (unit, codes) not in self._known:
            if not self._codes.keys() >= set(codes):
                self._known.clear()
                self._codes |= dict.fromkeys(codes)
            self._known[unit, codes] = self._places(unit or self.file, codes)
        return self._known[unit, codes]

    def check(self, name: str) -> None:
        """Raise CorpusError if no unit of the file ``name`` has a source, or none has a target."""
        there = f"there are: {', '.join(sorted(self._codes))}"
        for side, asked in (("source", self.source), ("target", self.target)):
            if self._met[side] or not self._codes:
                continue
            option = f"--{side[0]}col"
            if asked is None and side == "target":
                raise CorpusError(f"{name}: no unit has texts in two languages; {there}")
            if asked is None:
                raise CorpusError(
                    f"{name}: no unit has a text in {self.file!r}, the source language of the "
                    f"file; {there}; choose one with {option}"
                )
            beside = " beside its source" if closest(asked, [*self._codes]) else ""
            raise CorpusError(
                f"{name}: no unit has a text in {asked!r} ({option}){beside}; {there}"
            )

    def _places(self, usual: str | None, codes: tuple[str, ...]) -> Places:
        every = range(len(codes))
        alone = len({*map(primary, self._codes)}) == 1
        if self.source is None and self.target is not None and not alone:
            targets = _closest(self.target, codes, every)
            rest = [position for position in every if position not in targets]
            sources = _closest(usual, codes, rest) if usual else []
            if not sources and (not usual or closest(self.target, [usual])):
                sources = rest
                self._refuse_several("source", [codes[position] for position in rest])
        else:
            if not (self.source or usual) and codes:
                self.file = usual = codes[0]
            wanted = self.source or usual or ""
            sources = _closest(wanted, codes, every)
            rest = [position for position in every if position not in sources[:1]]
            if self.target is not None:
                targets = _closest(self.target, codes, rest)
            elif alone:
                targets = rest
            else:
                targets = [position for position in rest if not closest(wanted, [codes[position]])]
                if sources:
                    self._refuse_several("target", [codes[position] for position in targets])
                else:
                    targets = targets[:1]
        self._met["source"] |= bool(sources)
        self._met["target"] |= bool(targets)
        return sources[0] if sources else None, targets

    def _refuse_several(self, side: str, codes: Iterable[str]) -> None:
        others = self._others[side]
        others.update(map(primary, codes))
        if len(others) > 1:
            raise CorpusError(
                f"several {side} languages ({', '.join(sorted(others))}); choose one with "
                f"--{side[0]}col"
            )


def _closest(wanted: str, codes: tuple[str, ...], places: Iterable[int]) -> list[int]:
    """Return the positions, among ``places``, whose codes match ``wanted`` best."""
    among = [*places]
    return [
        among[position] for position in closest(wanted, [codes[position] for position in among])
    ]


# Controls and other characters that XML 1.0 cannot hold.
_CONTROL = expression("[\x01-\x08\x0e-\x1b]")
_NO_XML = expression("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Inline elements whose content is code or another text; the content of others is text. Placeholders
# separate words, the other elements only format them.
_PLACEHOLDERS = {"ph", "it", "x"}
_CODE = _PLACEHOLDERS | {"bpt", "ept", "ut", "sub", "note", "prop"}
# Stand-in for a placeholder while a segment is read; between two words it becomes a space.
_PLACE = "\0"
_JOINING = expression(r"(?<=[^\s\0])\0+(?=[^\s\0])")
_LINE_END = expression(r"\s*\n\s*")


class Tmx(Units):
    """Format of units with a text in the source language and any number in the target language.

    Each target text is a row with the first source text. Columns are language codes
    (:class:`miner.text.tmx.UnitLanguages`).
    """

    name = "tmx"
    suffixes = (".tmx",)

    def rows(self, text: RawText, columns: Columns) -> Iterator[dict[str, Any]]:
        wanted = zip((str(column.key) for column in columns), self.sides, strict=False)
        source, target = (None if key == usual else key for key, usual in wanted)
        languages = UnitLanguages(source, target)
        yield from TmxUnits(text, languages).taken()
        languages.check(display_name(text.origin))

    def write(
        self, rows: NamedRows, path: StrPath, languages: Languages = (None, None), **how: Any
    ) -> None:
        """Write units with the texts of both languages; further cells are id and properties."""
        # on demand, because it imports an HTTP client
        from xml.sax.saxutils import escape, quoteattr

        source, target = (quoteattr(code or "und") for code in languages)
        with open_output(path, **how) as file:
            file.write(
                '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n<header '
                f'creationtool="bitext-miner" creationtoolversion="{VERSION}" segtype="sentence" '
                f'o-tmf="bitext" adminlang="en" srclang={source} datatype="plaintext"/>\n<body>\n'
            )
            for row in rows:
                cells = {key: _text(str(cell)) for key, cell in row.items() if cell is not None}
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


class TmxUnits(UnitParser):
    """Parser of units to rows with source, target, the unit's ``id`` and its properties."""

    root = "tmx"
    resume = re.compile(rb"<(?:[\w.-]+:)?tu[\s>]|</(?:[\w.-]+:)?(?:tmx|body)\s*>", re.IGNORECASE)

    def __init__(self, text: RawText, languages: UnitLanguages) -> None:
        super().__init__(text)
        self.languages = languages
        self._begin({})

    def _begin(self, given: dict[str, str]) -> None:
        """Begin a unit."""
        self.unit = self.line
        given = {self.names[name]: value for name, value in given.items()}
        self._source = _code(given.get("srclang"))
        self._codes: list[str] = []
        self._texts: list[str] = []
        self.facts = {"id": given["tuid"]} if "tuid" in given else {}
        # Parts of the open text, its language or key, and the depth of open code elements in it.
        self._words: list[str] = []
        self._language = self._key = ""
        self._hidden = 0
        self._has_segment = False
        self._lacking: CorpusError | None = None

    def _open(self, start: Any) -> None:
        super()._open(start)
        self.parser.SkippedEntityHandler = self._entity_named

    def _entity_named(self, name: str, is_parameter: bool) -> None:
        if self.parser.CharacterDataHandler is not None:
            from html import unescape  # its tables are large

            self._words.append(unescape(f"&{name};"))

    def _listen(self) -> None:
        """Begin the text of a unit."""
        self._words.clear()
        self.parser.CharacterDataHandler = self._words.append

    def start(self, tag: str, given: dict[str, str]) -> None:
        name = self.names[tag]
        if self._hidden:
            self._hidden += 1
        elif name == "seg" and self._language:
            self._listen()
        elif name == "tuv":
            self._language = given.get("xml:lang") or self.attribute(given, "lang") or ""
            if not self._language:
                self._lacking = self.fail("a <tuv> without xml:lang; add the code of its language")
            self._has_segment = False
            self._listen()  # some have text outside of <seg>
        elif name == "tu":
            self._begin(given)
        elif self._language:
            if name in _CODE:
                self._words.append(_PLACE * (name in _PLACEHOLDERS))
                self._hidden = 1
                self.parser.CharacterDataHandler = None
        elif name == "prop" and len(self.heads) > 1:
            self._key = self.attribute(given, "type") or ""
            self._listen()
        elif name == "header":
            self.languages.file = _code(self.attribute(given, "srclang"))
        elif name in ("tmx", "body"):
            self.heads.append(tag)

    def end(self, tag: str) -> None:
        name = self.names[tag]
        if self._hidden:
            self._hidden -= 1
            if not self._hidden:
                self.parser.CharacterDataHandler = self._words.append
        elif name == "seg" and self._language:
            self._add(self._text())
            self._has_segment = True
        elif name == "tuv":
            if not self._has_segment and (text := self._text()):
                self._add(text)
            self._language = ""
            self.parser.CharacterDataHandler = None
        elif name == "prop" and self._key:
            if self._key not in ("source", "target"):
                self.facts[self._key] = self._text()
            self._key = ""
        elif name == "tu":
            self._finish()

    def _add(self, text: str) -> None:
        self._codes.append(self._language)
        self._texts.append(text)

    def _text(self) -> str:
        """End a text, and return it."""
        self.parser.CharacterDataHandler = None
        text = "".join(self._words)
        self._words.clear()
        if "\n" in text:
            text = _LINE_END.sub(" ", text)
        if _PLACE in text:
            text = _JOINING.sub(" ", text).replace(_PLACE, "")
        return text.strip()

    def _finish(self) -> None:
        """Make the rows of a unit."""
        if self._lacking:
            return self.unreadable(str(self._lacking))
        try:
            source, targets = self.languages.places(self._source, tuple(self._codes))
        except CorpusError as error:
            raise CorpusError(f"{display_name(self.origin)}, line {self.unit}: {error}") from None
        texts = [self._texts[position] for position in targets] or [""]
        left = "" if source is None else self._texts[source]
        for text in texts:
            self.add({"source": left, "target": text})


def _text(text: str) -> str:
    """Return the text on one line, without characters that XML cannot hold."""
    if text.isprintable():  # the usual case
        return text
    return _NO_XML.sub("\ufffd", _CONTROL.sub("", one_line(text)))


def _code(language: str | None) -> str | None:
    """Return a source language code; None if it is missing or "any"."""
    return None if language in (None, "", "*all*", "*ALL*") else language
