"""Plain text (a sentence a line) and BUCC (id, tab, sentence a line)."""

from collections.abc import Sequence
from typing import Any

from miner.errors import CorpusError
from miner.option_values import SIDES
from miner.text.output import one_line
from miner.text.text_format import Cells, Columns, Parse, TextFormat, is_blank


class Plain(TextFormat):
    name = "plain"
    rewritable = True

    def parser(self, name: str, columns: Columns) -> Parse:
        ids = [column.is_id for column in columns]
        return lambda line, text: tuple("" if is_id else text for is_id in ids)

    def columns(self, cells: Cells, first: int, parse: Parse) -> list[Sequence[str]]:
        lines = b"\n".join(cells[0]).decode().split("\n")
        return [lines if of_text else [""] * len(lines) for of_text in parse(first, "text")]

    def cells(self, line: str, columns: Columns, header: Sequence[str]) -> dict[str, Any]:
        return dict.fromkeys(SIDES, line)

    def with_texts(self, line: str, columns: Columns, texts: Sequence[str]) -> str:
        return line if texts[0] == line else one_line(texts[0])


class Bucc(TextFormat):
    """Format of lines with an id and a sentence."""

    name = "bucc"

    def parser(self, name: str, columns: Columns) -> Parse:
        def parse(line: int, text: str) -> tuple[str, str]:
            identifier, tab, sentence = text.partition("\t")
            if tab:
                return sentence, identifier
            if is_blank(text):
                return "", ""
            raise CorpusError(
                f"{name}, line {line}: no tab; a bucc line is id, tab, sentence: "
                "mend it, or read the file as plain"
            )

        return parse
