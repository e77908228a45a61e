"""Highlights in the two texts of a pair: words without a counterpart."""

import re

from miner.scoring.explain import Token, match
from miner.scoring.number_agreement import compare
from miner.scoring.verifier import Verifier
from miner.text.numeral import Numeral
from miner.text.numerals import numerals
from miner.text.words import SPACELESS

Spans = list[tuple[int, int]]
_WORD = re.compile(rf"[{SPACELESS}]|[^\W{SPACELESS}]+")


def unmatched(verifier: Verifier, source: str, target: str) -> tuple[Spans, Spans]:
    """Return start and end of the words without a counterpart in each text, in order."""
    return spans_of((source, target), match(verifier, source, target))


def marked(text: str, spans: Spans, opening: str = "[", closing: str = "]") -> str:
    for start, end in reversed(spans):
        text = f"{text[:start]}{opening}{text[start:end]}{closing}{text[end:]}"
    return text


def segments(text: str, spans: Spans) -> list[tuple[str, bool]]:
    """Cut a text at its spans: pieces, with True for pieces to highlight."""
    pieces, end = [], 0
    for first, last in [*spans, (len(text), len(text))]:
        pieces += [(text[end:first], False), (text[first:last], True)]
        end = last
    return [(piece, mark) for piece, mark in pieces if piece]


def spans_of(
    texts: tuple[str, str], tokens: tuple[list[Token], list[Token]]
) -> tuple[Spans, Spans]:
    """Find the words to highlight in both texts: mostly unmatched, or named as the fault.

    Adjacent words are joined. Numbers are highlighted if they contradict those of the other side,
    in any notation.
    """
    comparison = compare(*texts)
    source, target = (
        _spans(text, side_tokens, missing if comparison.contradicts else [])
        for text, side_tokens, missing in zip(texts, tokens, comparison.missing, strict=True)
    )
    return source, target


def _spans(text: str, tokens: list[Token], wrong: list[Numeral]) -> Spans:
    """Find the spans of one text; ``wrong`` numbers contradict those of the other.

    Tokenizers normalise text; a token that does not occur in the text literally is skipped.
    """
    folded = text.lower()
    if len(folded) != len(text):
        return []
    alone = bytearray(len(text))
    end = 0
    for token in tokens:
        word = token.text.strip().lower()
        start = folded.find(word, end) if word else -1
        if start >= 0:
            end = start + len(word)
            alone[start:end] = bytes([token.partner is None or token.usual is not None]) * len(word)
    for mark, numbers in ((0, numerals(text)), (1, wrong)):
        for numeral in numbers:
            alone[numeral.start : numeral.end] = bytes([mark]) * (numeral.end - numeral.start)
    spans: Spans = []
    for start, end in (word.span() for word in _WORD.finditer(text)):
        if 2 * sum(alone[start:end]) <= end - start:
            continue
        if spans and not text[spans[-1][1] : start].strip():
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans
