"""TMX 1.4, translation memories in XML: units with a text per language."""

import re
from collections.abc import Iterator
from typing import Any

from miner.names import VERSION
from miner.progress import silent
from miner.text.lines import display_name
from miner.text.output import StrPath, one_line, open_output
from miner.text.text_format import BitextRows, Columns, Languages, Note, Units
from miner.text.tmx_units import TmxUnits
from miner.text.unit_languages import UnitLanguages

# Controls and other characters that XML 1.0 cannot hold.
_CONTROL = re.compile("[\x01-\x08\x0e-\x1b]")
_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Tmx(Units):
    """Format of units with a text in the source language and any number in the target language.

    Each target text is a row with the first source text. Columns are language codes
    (:class:`miner.text.unit_languages.UnitLanguages`).
    """

    name = "tmx"
    suffixes = (".tmx",)

    def rows(
        self,
        origin: str,
        columns: Columns,
        held: bytes | None = None,
        on_error: str = "fail",
        note: Note = silent,
    ) -> Iterator[dict[str, Any]]:
        wanted = zip((str(column.key) for column in columns), self.sides, strict=False)
        source, target = (None if key == usual else key for key, usual in wanted)
        languages = UnitLanguages(source, target)
        reader = TmxUnits(origin, held, on_error, languages)
        yield from reader.taken(note)
        languages.check(display_name(origin))

    def write(
        self, rows: BitextRows, path: StrPath, languages: Languages = (None, None), **how: Any
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


def _text(text: str) -> str:
    """Return the text on one line, without characters that XML cannot hold."""
    if text.isprintable():  # the usual case
        return text
    return _NO_XML.sub("\ufffd", _CONTROL.sub("", one_line(text)))
