"""Plain text, a sentence a line, and BUCC, an id, a tab and a sentence a line."""

from __future__ import annotations

from miner.errors import CorpusError
from miner.text.columns import Parse, is_blank


def plain_parser() -> Parse:
    """Return a parser of plain lines: the line, and no id."""
    return lambda line, text: (text, "")


def bucc_parser(name: str) -> Parse:
    """Return a parser of BUCC lines: the sentence, and its id."""

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
