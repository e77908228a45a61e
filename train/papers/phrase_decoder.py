"""Phrase-based translation: beam search over a phrase table and a trigram language model.

Hypotheses cover words of the source in any order within a window; hypotheses that cover equally
many words share a stack (Koehn 2004, Pharaoh). Needs no download, for paraphrases by
back-translation; neural systems translate better.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from miner.progress import Reporter, silent
from miner.scoring.trigram_lm import Trigrams
from miner.text.words import tokens
from miner_train.papers.phrase_table import LONGEST, PhraseTable, Words, learn_phrases
from miner_train.papers.translators import Translation

# Log probability of an unknown word being translated as itself.
COPIED = -6.0
# Weights of the log-linear model: of the table in each direction; of language model, distance and
# words.
TABLE, OTHERS = 0.3, 0.5


@dataclass(frozen=True)
class BeamLimits:
    """Limits of the search: hypotheses per stack, and words that a phrase may jump over."""

    beam: int = 20
    jump: int = 4


USUAL_LIMITS = BeamLimits()
# Translation of a span of the source: its end, words, and score without the language model.
Option = tuple[int, Words, float]


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Partial translation: covered words as a bit mask, end of the last phrase, last two word
    ids.
    """

    covered: int
    end: int
    context: tuple[int, int]
    score: float
    words: Words
    before: Hypothesis | None

    def text(self) -> Words:
        """Words from the start of the sentence."""
        phrases: list[Words] = []
        here: Hypothesis | None = self
        while here is not None:
            phrases.append(here.words)
            here = here.before
        return tuple(word for words in reversed(phrases) for word in words)


class PhraseTranslator:
    """Translator by a phrase table and a language model of the target language.

    Text is split into words and lower-cased. The cost of a translation is the negative score of the
    model per word.
    """

    def __init__(self, table: PhraseTable, language: Trigrams, limits: BeamLimits = USUAL_LIMITS):
        self.table, self.limits = table, limits
        self._number = language.numbers.get
        self._log = lru_cache(1 << 20)(_log_of(language))

    @classmethod
    def learn(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        limits: BeamLimits = USUAL_LIMITS,
        report: Reporter = silent,
    ) -> PhraseTranslator:
        """Learn to translate from aligned sentences. Raises CorpusError for none."""
        left, right = ([tokens(text) for text in side] for side in (source, target))
        language = Trigrams.train(right, "the references")
        return cls(learn_phrases(left, right, report), language, limits)

    def translate(self, sentences: Sequence[str], k: int) -> list[list[Translation]]:
        """Return the ``k`` best translations of each sentence, best first."""
        return [self._translate(tokens(sentence), k) for sentence in sentences]

    def _translate(self, source: Sequence[str], k: int) -> list[Translation]:
        if not source:
            return []
        from miner.kernels.ngrams import END, START

        n = len(source)
        options = [list(self._options(source, start)) for start in range(n)]
        future = FutureScores(options, n)
        stacks: list[dict[tuple[int, int, tuple[int, int]], list[Hypothesis]]] = [
            {} for _ in range(n + 1)
        ]
        first = Hypothesis(0, 0, (START, START), 0.0, (), None)
        stacks[0][first.covered, first.end, first.context] = [first]
        whole = (1 << n) - 1
        for count in range(n):
            every = [hypothesis for same in stacks[count].values() for hypothesis in same]
            for here in heapq.nlargest(
                self.limits.beam,
                every,
                key=lambda hypothesis: hypothesis.score + future[hypothesis.covered],
            ):
                for longer in self._longer(here, options, n):
                    stack = stacks[longer.covered.bit_count()]
                    same = stack.setdefault((longer.covered, longer.end, longer.context), [])
                    # k hypotheses with the same future are enough for the k best.
                    if len(same) < k:
                        same.append(longer)
                    else:
                        worst = min(range(k), key=lambda i: same[i].score)
                        if same[worst].score < longer.score:
                            same[worst] = longer
        completed: dict[Words, float] = {}
        for hypothesis in (hypothesis for same in stacks[n].values() for hypothesis in same):
            assert hypothesis.covered == whole
            score = hypothesis.score + OTHERS * self._log(*hypothesis.context, END)
            text = hypothesis.text()
            if text:
                completed[text] = max(score, completed.get(text, score))
        best = sorted(completed.items(), key=lambda item: (-item[1], item[0]))[:k]
        return [Translation(" ".join(words), -score / len(words)) for words, score in best]

    def _options(self, source: Sequence[str], start: int) -> Iterator[Option]:
        """Yield the translations of the phrases that begin at a word."""
        known = False
        for end in range(start + 1, min(len(source), start + LONGEST) + 1):
            for words, forward, backward in self.table.get(tuple(source[start:end]), ()):
                score = TABLE * forward + TABLE * backward
                known |= end == start + 1
                yield end, words, score + OTHERS * len(words)
        if not known:
            yield start + 1, (source[start],), 2 * TABLE * COPIED + OTHERS

    def _longer(
        self, here: Hypothesis, options: Sequence[Sequence[Option]], n: int
    ) -> Iterator[Hypothesis]:
        """Yield the hypotheses that cover one more phrase."""
        gap = 0
        while here.covered >> gap & 1:
            gap += 1
        # No word is left further behind than a jump can reach.
        for start in range(gap, min(n, gap + self.limits.jump + 1)):
            for end, words, score in options[start]:
                span = (1 << end) - (1 << start)
                if here.covered & span:
                    continue
                context, total = here.context, here.score + score
                total -= OTHERS * abs(start - here.end)
                for word in words:
                    number = self._number(word, 0)
                    total += OTHERS * self._log(*context, number)
                    context = (context[1], number)
                yield Hypothesis(here.covered | span, end, context, total, words, here)


def _log_of(language: Trigrams) -> Callable[[int, int, int], float]:
    """Return log P(word | two words before it), by ids."""
    from miner.kernels.ngrams import conditional

    def log(before: int, middle: int, word: int) -> float:
        return float(
            conditional(before, middle, word, language.words, language.pairs, language.triples)
        )

    return log


class FutureScores:
    """Best scores of the words not covered by a hypothesis, by its bit mask."""

    def __init__(self, options: Sequence[Sequence[Option]], n: int):
        # best[i][j]: best score of the whole span from i to j.
        self.best = [[float("-inf")] * (n + 1) for _ in range(n + 1)]
        for start in range(n):
            for end, _, score in options[start]:
                self.best[start][end] = max(self.best[start][end], score)
        for width in range(2, n + 1):
            for start in range(n - width + 1):
                end = start + width
                for middle in range(start + 1, end):
                    both = self.best[start][middle] + self.best[middle][end]
                    self.best[start][end] = max(self.best[start][end], both)
        self.n = n
        self.known: dict[int, float] = {}

    def __getitem__(self, covered: int) -> float:
        score = self.known.get(covered)
        if score is None:
            score, start = 0.0, None
            for position in range(self.n + 1):
                free = position < self.n and not covered >> position & 1
                if free and start is None:
                    start = position
                elif not free and start is not None:
                    score += self.best[start][position]
                    start = None
            self.known[covered] = score
        return score
