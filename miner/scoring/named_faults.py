"""Names of what is wrong with given pairs, where it is known: a number, a negation, a word."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from miner.encoder.pieces import SPACE_MARK, PieceTokenizer
from miner.expressions import expression
from miner.scoring.explain import sinking, usual_counterparts
from miner.scoring.facts import Contradiction
from miner.scoring.number_agreement import compare
from miner.scoring.verifier import Verifier
from miner.text.language_codes import ENGLISH
from miner.text.words import JOINERS, MARKS, SPACELESS

# Words that negate in English, beside the contractions (don't).
NEGATIONS = frozenset({"not", "never", "cannot"})
# A token negates if it means an English negation with this probability, and is meant by one.
NEGATES, MEANT = 0.2, 0.005
# Share of the names of a word that the other side spells (TRANSLITERATED), from which a word
# that the model cannot translate is no fault. Names that are not there have .12 to .2.
SPELLED = 0.2
# Word of a side that lacks a fact.
LACKING = "–"
# Share of all tokens from which a token is too common to say what a pair lacks: function words.
COMMON = 0.004


class Fault(NamedTuple):
    """Fault of a pair: its name, and the word that shows it on one side, if any.

    ``usual``: the word's usual counterparts.
    """

    name: str = ""
    side: int = 0
    word: str = ""
    usual: tuple[str, ...] = ()


_LETTERS = rf"[^\W{SPACELESS}]"
_WORD = expression(rf"{_LETTERS}+(?:[{MARKS}{JOINERS}]+{_LETTERS}*|['’]{_LETTERS}+)*")


class FaultNames:
    """Names of the faults of pairs in the languages of a verifier that has a comparer."""

    def __init__(self, verifier: Verifier):
        from miner.text.english_words import NEGATIVE  # a large table to read

        tokenizer = verifier.encoder.tokenizer
        assert isinstance(tokenizer, PieceTokenizer)
        self.verifier, self.tokenizer = verifier, tokenizer
        # Token ids by what they are: words that tell, negations.
        words = [piece.strip(SPACE_MARK) for piece in self.tokenizer.spellings()]
        lettered = np.array([any(map(str.isalpha, word)) for word in words])
        self.telling = lettered & (verifier.tokens.lexicon.frequency < COMMON)
        self.negates = np.array([word in NEGATIONS or word in NEGATIVE for word in words])
        if ENGLISH in verifier.languages:
            offsets, pieces, probability = verifier.tokens.lexicon.entries
            token = np.repeat(np.arange(len(words)), np.diff(offsets))
            meant = np.zeros(len(words), dtype=bool)
            meant[pieces[self.negates[token] & (probability >= MEANT)]] = True
            share = np.bincount(token, probability * self.negates[pieces], len(words))
            self.negates |= meant & (share >= NEGATES)

    def __call__(self, source: Sequence[str], target: Sequence[str]) -> list[Fault]:
        """Name the fault of each pair: ``number``, a fact as ``negation: nicht | –``, ``negation``,
        or the word that sinks it.

        A word of the source is ``missing: "word"``, one of the target ``added: "word"``. The name
        is empty where no fault is known.
        """
        comparer = self.verifier.comparer
        assert comparer is not None
        texts = [self.verifier.tokenize_text(side, 1) for side in (source, target)]
        tokens = texts[0].tokens, texts[1].tokens
        surprises = comparer.surprises(*tokens)
        facts = self.verifier.facts
        contradicted: Sequence[Contradiction | None] = [None] * len(source)
        if facts is not None:
            contradicted = facts.contradictions((source, target), tokens)
        faults = []
        for row, pair in enumerate(zip(source, target, strict=True)):
            both = [
                (values, text.ids[text.offsets[row] :][: len(values)])
                for values, text in zip(surprises[row], texts, strict=True)
            ]
            faults.append(
                _number(pair)
                or self._contradiction(pair, contradicted[row])
                or self._fault(pair, both)
            )
        return faults

    def _contradiction(
        self, pair: tuple[str, str], contradiction: Contradiction | None
    ) -> Fault | None:
        """Return the fault of a fact, with its words on both sides: ``negation: nicht | –``."""
        if contradiction is None or self.verifier.facts is None:
            return None
        english = self.verifier.facts.side
        words = ["", ""]
        words[english] = contradiction.word
        if contradiction.token >= 0:
            words[1 - english] = self._word(pair[1 - english], contradiction.token)
        if not any(words):
            return None
        side = 1 - english if words[1 - english] else english
        shown = " | ".join(word or LACKING for word in words)
        return Fault(f"{contradiction.kind}: {shown}", side, words[side])

    def _fault(self, pair: tuple[str, str], both: list[tuple[np.ndarray, np.ndarray]]) -> Fault:
        """Name the fault of a pair whose numbers agree.

        ``both``: surprise ``(n,)`` and ids of the tokens of each side.
        """
        negation = sinking([surprise * self.negates[ids] for surprise, ids in both])
        telling = [surprise * self.telling[ids] for surprise, ids in both]
        while (sink := negation or sinking(telling)) is not None:
            side, at = sink
            word = self._word(pair[side], at)
            usual = usual_counterparts(self.verifier, int(both[side][1][at]))
            if negation or word.endswith(("n't", "n’t")):
                return Fault("negation", side, word, usual)
            name = not usual or usual[0] == word  # a name is spelled alike in both languages
            if not (name and self._spelled(word, pair[1 - side])):
                return Fault(f'{("missing", "added")[side]}: "{word}"', side, word, usual)
            telling[side][at] = 0
        return Fault()

    def _spelled(self, word: str, text: str) -> bool:
        """Tell whether a text spells a word in another script, as טום does Tom."""
        if self.verifier.names is None:
            return False
        word_tokens, text_tokens = (
            self.verifier.tokenize_text([sentence], 1).tokens for sentence in (word, text)
        )
        row = np.zeros(1, dtype=np.int64)
        return float(self.verifier.names.share(word_tokens, text_tokens, row, row)[0]) >= SPELLED

    def _word(self, text: str, place: int) -> str:
        """Return the word with a token of a text; ``place`` counts the tokens that are known."""
        parts, ids = self.tokenizer.surfaces(text)
        at = int(np.flatnonzero(self.tokenizer.meaningful[ids])[place])
        before = len("".join(parts[:at]))
        piece = parts[at].strip()
        start = before + parts[at].index(piece)
        words = (match for match in _WORD.finditer("".join(parts)))
        around = [match.group() for match in words if match.start() <= start < match.end()]
        return around[0] if around else piece


def _number(pair: tuple[str, str]) -> Fault | None:
    """Return the fault of a pair whose numbers differ, with the first one that the other lacks."""
    comparison = compare(*pair)
    for side, missing in enumerate(comparison.missing):
        for numeral in missing:
            return Fault("number", side, pair[side][numeral.start : numeral.end])
    return Fault("number") if comparison.contradicts else None
