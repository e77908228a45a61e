"""`XmlParser`: base of parsers of XML formats, which read a file in parts."""

from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from miner.errors import CorpusError
from miner.text.lines import MOST, decompressed, display_name

_PART = 1 << 16


class XmlParser:
    """Parser of the file ``origin``, whose first element is ``root``. Entities are refused."""

    root: str | None = None

    def __init__(self, origin: str, held: bytes | None = None):
        self.origin, self.held = origin, held
        self.open: list[str] = []
        self.size = 0
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._finish
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self._entity

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def fail(self, reason: str) -> CorpusError:
        """Return an error at the present line."""
        return CorpusError(f"{display_name(self.origin)}, line {self.line}: {reason}")

    def parts(self) -> Iterator[None]:
        """Parse the file; yield after each part. Raises CorpusError for what is no XML."""
        with decompressed(self.origin, self.held, lambda: f"line {self.line}") as file:
            part = None
            while part != b"":
                part = file.read(_PART)
                try:
                    self.parser.Parse(part, not part)
                except (expat.ExpatError, LookupError, ValueError) as error:
                    why = str(error).partition(":")[0]
                    raise self.fail(
                        f"not XML ({why}); mend the line, or fetch the file again if it is cut"
                    ) from None
                yield

    def start(self, tag: str, given: dict[str, str]) -> None:
        """Take the start of an element."""

    def end(self, tag: str) -> None:
        """Take its end."""

    def text(self, text: str) -> None:
        """Take some text."""

    def grow(self, text: str) -> str:
        """Return a part of a text that grows. Raises CorpusError for one that is too long."""
        self.size += len(text)
        if self.size > MOST:
            raise self.fail(f"a segment longer than {MOST >> 20} MiB; check the file")
        return text

    def _begin(self, tag: str, given: dict[str, str]) -> None:
        if not self.open and self.root not in (None, tag):
            raise self.fail(f"begins with <{tag}>, not <{self.root}>; give its format")
        self.open.append(tag)
        self.start(tag, given)

    def _finish(self, tag: str) -> None:
        self.open.pop()
        self.end(tag)

    def _entity(self, entity: str, *_: Any) -> None:
        raise self.fail(f"declares the entity {entity!r}, which is refused; remove it")
