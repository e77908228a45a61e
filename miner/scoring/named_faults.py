"""Names of what is wrong with given pairs, where it is known: a number, a negation, a word."""

import re
from collections.abc import Sequence

import numpy as np

from miner.encoder.pieces import SPACE_MARK, PieceTokenizer
from miner.scoring.explain import sinking
from miner.scoring.pair_features import number_features
from miner.scoring.verifier import Verifier
from miner.text.english_words import NEGATIVE
from miner.text.language_codes import ENGLISH
from miner.text.words import SPACELESS

# Words that negate in English, beside the contractions (don't).
NEGATIONS = NEGATIVE | {"not", "never", "cannot"}
# A token negates if it means an English negation with this probability, and is meant by one.
NEGATES, MEANT = 0.2, 0.005

_WORD = re.compile(rf"[^\W{SPACELESS}]+(?:['’][^\W{SPACELESS}]+)*")


class FaultNames:
    """Names of the faults of pairs in the languages of a verifier that has a comparer."""

    def __init__(self, verifier: Verifier):
        self.verifier, self.tokenizer = verifier, verifier.encoder.tokenizer
        assert isinstance(self.tokenizer, PieceTokenizer)
        # Token ids by what they are: with a letter, a negation.
        words = [piece.strip(SPACE_MARK) for piece in self.tokenizer.spellings()]
        self.lettered = np.array([any(map(str.isalpha, word)) for word in words])
        self.negates = np.array([word in NEGATIONS for word in words])
        if ENGLISH in verifier.languages:
            offsets, pieces, probability = verifier.tokens.lexicon.entries
            token = np.repeat(np.arange(len(words)), np.diff(offsets))
            meant = np.zeros(len(words), dtype=bool)
            meant[pieces[self.negates[token] & (probability >= MEANT)]] = True
            share = np.bincount(token, probability * self.negates[pieces], len(words))
            self.negates |= meant & (share >= NEGATES)

    def __call__(self, source: Sequence[str], target: Sequence[str]) -> list[str]:
        """Name the fault of each pair: ``number``, ``negation``, or the word that sinks it.

        A word of the source is ``missing: "word"``, one of the target ``added: "word"``. The name
        is empty where no fault is known.
        """
        comparer = self.verifier.comparer
        assert comparer is not None
        texts = [self.verifier.prepare(side, 1) for side in (source, target)]
        rows = np.arange(len(texts[0]), dtype=np.int64)
        differ = number_features(texts[0], texts[1], rows, rows)[:, 0] > 0
        surprises = comparer.surprises(texts[0].tokens, texts[1].tokens)
        found = []
        for row, pair in enumerate(zip(source, target, strict=True)):
            both = [
                (own, text.ids[text.offsets[row] :][: len(own)])
                for own, text in zip(surprises[row], texts, strict=True)
            ]
            found.append("number" if differ[row] else self._fault(pair, both))
        return found

    def _fault(self, pair: tuple[str, str], both: list[tuple[np.ndarray, np.ndarray]]) -> str:
        """Name the fault of a pair whose numbers agree.

        ``both`` sides have the surprises of their tokens ``(n,)``, and their ids.
        """
        if sinking([surprise * self.negates[ids] for surprise, ids in both]):
            return "negation"
        place = sinking([surprise * self.lettered[ids] for surprise, ids in both])
        if place is None:
            return ""
        side, at = place
        word = self._word(pair[side], at)
        if word.endswith(("n't", "n’t")):
            return "negation"
        return f'{("missing", "added")[side]}: "{word}"'

    def _word(self, text: str, place: int) -> str:
        """Return the word with a token of a text; ``place`` counts the tokens that are known."""
        parts, ids = self.tokenizer.surfaces(text)
        at = int(np.flatnonzero(self.tokenizer.meaningful[ids])[place])
        before = len("".join(parts[:at]))
        own = parts[at].strip()
        start = before + parts[at].index(own)
        words = (match for match in _WORD.finditer("".join(parts)))
        around = [match.group() for match in words if match.start() <= start < match.end()]
        return around[0] if around else own
