"""`Review`: questions about pairs, one after the other, saved answers, and a summary.

>>> with Review.open(origin_of("pairs.tsv"), "pairs.tsv.review.jsonl", "anna") as review:
...     while question := review.next():
...         review.answer(question, "yes")
...     print(review.summary().precision)

The terminal, the page and programs use it alike.
"""

import getpass
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from miner.errors import CorpusError, ResourceError
from miner.review.estimate import EstimatedShare, Judged, share
from miner.review.population import Origin, Population
from miner.review.sample import asking_order, is_probability, strata
from miner.text.answers import UNDO, Answer, Answers
from miner.text.locks import lock
from miner.text.output import StrPath
from miner.text.sheet import read_sheet, write_sheet

# Suffix of the answers' file, beside the pairs.
SUFFIX = ".review.jsonl"
# Minimum number of answers for estimates, and number of further answers that a summary looks ahead.
FEWEST, MORE = 30, 50
# Thresholds of a summary if scores are probabilities; else shares of the pairs.
THRESHOLDS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.1, 0.03)
SHARES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
# An answer is doubtful if the other answers predict the opposite with at least this probability.
DOUBTFUL = 0.95
# Texts read at a time.
AHEAD = 200


@dataclass(frozen=True)
class Question:
    """Pair to judge; ``drawn`` is its probability of being sampled.

    ``score`` is None without scores, ``reason`` the filter that rejected the pair, or "".
    """

    row: int
    source: str
    target: str
    drawn: float
    score: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Line:
    """Row of a summary: pairs with a score of at least ``threshold``, ``kept`` of them.

    ``estimate``: their precision from their scores alone, None if scores are not probabilities;
    ``later``: their precision if further answers agree.
    """

    threshold: float
    kept: int
    precision: EstimatedShare
    recall: EstimatedShare
    later: EstimatedShare
    estimate: float | None = None


@dataclass(frozen=True)
class ReviewSummary:
    """Summary of a review: counts, and estimates once there are enough answers.

    ``answered``: pairs with an answer; ``elsewhere``: answers about other pairs. ``rejected``: for
    each reason its name, its rows, the rows answered, and the share that is right. ``errors``:
    kinds of errors, with the judged pairs and the estimate for all pairs. ``agreement``: two
    judges, their common pairs and kappa. ``doubtful``: pairs that can be asked again.
    """

    pairs: int
    answered: int
    skipped: int
    elsewhere: int
    lines: tuple[Line, ...]
    rejected: tuple[tuple[str, int, int, EstimatedShare], ...]
    errors: tuple[tuple[str, int, int], ...]
    agreement: tuple[tuple[str, str, int, float], ...]
    doubtful: int
    ahead: int = MORE

    @property
    def missing(self) -> int:
        """Number of further answers that an estimate needs."""
        return max(min(FEWEST, self.pairs) - self.answered, 0)


class Review:
    """Review of pairs by one judge, opened by :meth:`open`."""

    def __init__(self, pairs: Population, answers: Answers, judge: str = "", again: bool = False):
        """``again``: ask about pairs that have an answer: doubtful ones, then other judges'
        pairs.
        """
        self.pairs, self.answers, self.again = pairs, answers, again
        self.judge = judge or _user()
        self._stratum = strata(pairs.score)
        count = int(self._stratum.max(initial=-1)) + 1
        # Each reason is a stratum.
        self._every = np.concatenate([self._stratum, pairs.reason + count])
        self._size = np.bincount(self._every)
        self._row = {key: row for row, key in enumerate(pairs.key.tolist())}
        middle = np.bincount(self._stratum, pairs.score, minlength=count)
        away = np.abs(middle / np.maximum(self._size[:count], 1) - 0.5)
        order = np.argsort(away, kind="stable") if is_probability(pairs.score) else np.arange(count)
        self._first = np.concatenate([order, np.arange(count, len(self._size))])
        self._texts: dict[int, tuple[str, str]] = {}
        self._done: list[int] = []
        self._queue: Iterator[int] = iter(())
        self._pending: list[int] = []
        self._restart()

    @classmethod
    @contextmanager
    def open(
        cls,
        kept: Origin,
        answers: StrPath | None = None,
        judge: str = "",
        rejected: Origin | None = None,
        again: bool = False,
    ) -> Iterator["Review"]:
        """Open a review, continuing with the answers in the file ``answers``.

        Raises CorpusError for pairs or answers that cannot be read, and ResourceError if another
        process holds the answers.
        """
        path = Path(f"{kept.source}{SUFFIX}" if answers is None else answers)
        if answers is None and not os.access(path.parent, os.W_OK):
            raise ResourceError(
                f"{path}: answers are kept beside the pairs, where nothing can be written; name a "
                "file elsewhere by --answers"
            )
        with lock(path, "wait until that review ends, or give this one other --answers"):
            stored = Answers.read(path)
            stored.mend()
            yield cls(Population.read(kept, rejected), stored, judge, again)

    def next(self) -> Question | None:
        """Return the next pair to judge; None if all were judged."""
        if not self._pending:
            self._pending = [*islice(self._queue, AHEAD)]
            self._texts |= self.pairs.texts(set(self._pending) - self._texts.keys())
        return self._question(self._pending[0]) if self._pending else None

    def questions(self, count: int) -> list[Question]:
        """Return the next ``count`` pairs to judge, or fewer; they remain next until answered."""
        rows = [*self._pending, *self._queue]
        self._restart()
        rows = rows[:count]
        self._texts |= self.pairs.texts(set(rows) - self._texts.keys())
        return [self._question(row) for row in rows]

    def answer(self, question: Question, answer: str, kind: str = "") -> None:
        """Save an answer about a pair: yes, partly, no or skip. Raises ResourceError."""
        self._add([(question, answer, kind, self.judge)])
        self._done.append(question.row)
        if question.row in self._pending:
            self._pending.remove(question.row)

    def undo(self) -> Question | None:
        """Undo the last answer of this session; its pair is asked next."""
        if not self._done:
            return None
        row = self._done.pop()
        question = self._question(row)
        self._add([(question, UNDO, "", self.judge)])
        self._pending.insert(0, row)
        return question

    def read_sheet(self, path: StrPath) -> tuple[int, int]:
        """Add the answers of a sheet; return how many were new, and how many were about other
        pairs.

        Raises CorpusError if none is about these pairs.
        """
        answers = read_sheet(path, self.judge)
        rows = [self._row.get(key) for key, _ in answers]
        known = [row for row in rows if row is not None]
        if answers and not known:
            raise CorpusError(
                f"{path}: none of its {len(answers)} answers is about a pair of these"
            )
        self._texts |= self.pairs.texts(set(known) - self._texts.keys())
        new = []
        for row, (_, answer) in zip(rows, answers, strict=True):
            if row is None:
                continue
            key = int(self.pairs.key[row])
            before = self.answers.standing.get(key, {}).get(answer.judge)
            if before is None or (before.answer, before.kind) != (answer.answer, answer.kind):
                new.append((self._question(row), answer.answer, answer.kind, answer.judge))
        self._add(new)
        self._restart()
        return len(new), len(answers) - len(known)

    def write_sheet(self, path: StrPath, count: int) -> int:
        """Write the next ``count`` questions as a sheet; return how many there were."""
        asked = self.questions(count)
        write_sheet(path, ((question.source, question.target) for question in asked))
        return len(asked)

    def summary(self) -> ReviewSummary:
        """Summarise the answers of all judges."""
        votes = {
            row: self.answers.right(key)
            for key in self.answers.standing
            if (row := self._row.get(key)) is not None
        }
        right = {row: value for row, value in sorted(votes.items()) if value is not None}
        kept = len(self.pairs.score)
        kept_rows = np.array([row for row in right if row < kept], dtype=np.int64)
        judged = self._judged(kept_rows, np.array([right[row] for row in kept_rows.tolist()]))
        reasons = []
        for number, name in enumerate(self.pairs.reasons):
            places = kept + np.flatnonzero(self.pairs.reason == number)
            known = [right[row] for row in places.tolist() if row in right]
            reasons.append((name, len(places), len(known), share(sum(known), len(known))))
        asked = np.bincount(self._every[[*right]], minlength=len(self._size))
        errors: Counter[str] = Counter()
        about: Counter[str] = Counter()
        for row, stratum in zip(right, self._every[[*right]].tolist(), strict=True):
            for kind in self.answers.kinds(int(self.pairs.key[row])) if right[row] != 1 else ():
                errors[kind] += 1
                about[kind] += self._size[stratum] / asked[stratum]
        return ReviewSummary(
            len(self.pairs),
            len(right),
            len(self.answers.skipped & self._row.keys()),
            len(self.answers.standing) - len(votes),
            tuple(self._lines(judged)) if len(kept_rows) >= min(FEWEST, kept) else (),
            tuple(reasons),
            tuple((kind, count, round(about[kind])) for kind, count in errors.most_common()),
            tuple(self.answers.agreement()),
            len(self._doubtful()),
        )

    @cached_property
    def thresholds(self) -> list[float]:
        """Thresholds of a summary, descending; the last keeps all pairs."""
        score = self.pairs.score
        if not len(score):
            return []
        wanted = (
            [*THRESHOLDS] if is_probability(score) else np.quantile(score, 1 - np.array(SHARES))
        )
        by_count: dict[int, float] = {}
        for threshold in [*map(float, wanted), float(score.min())]:
            by_count.setdefault(int(np.count_nonzero(score >= threshold)), threshold)
        return [threshold for kept, threshold in sorted(by_count.items()) if kept]

    def _lines(self, judged: Judged) -> Iterator[Line]:
        score = self.pairs.score
        for threshold in self.thresholds:
            kept = score >= threshold
            yield Line(
                threshold,
                int(kept.sum()),
                judged.precision(threshold),
                judged.recall(threshold),
                judged.precision(threshold, MORE),
                float(score[kept].mean()) if is_probability(score) else None,
            )

    def _judged(self, rows: np.ndarray, right: np.ndarray) -> Judged:
        return Judged(self.pairs.score, self._stratum, rows, right)

    def _question(self, row: int) -> Question:
        kept = len(self.pairs.score)
        rank = np.count_nonzero(
            (self._every == self._every[row]) & (self.pairs.key <= self.pairs.key[row])
        )
        drawn = float(rank / self._size[self._every[row]])
        score = float(self.pairs.score[row]) if row < kept else None
        reason = "" if row < kept else self.pairs.reasons[self.pairs.reason[row - kept]]
        return Question(row, *self._texts[row], drawn, score, reason)

    def _add(self, given: Iterable[tuple[Question, str, str, str]]) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        self.answers.add(
            *(
                Answer(q.source, q.target, answer, judge, now, kind, round(q.drawn, 9), q.score)
                for q, answer, kind, judge in given
            )
        )

    def _restart(self) -> None:
        """Recompute the order of questions, without the pairs that were judged."""
        self._pending = []
        self._queue = self._again() if self.again else self._fresh()

    def _fresh(self) -> Iterator[int]:
        """Yield the rows without an answer in the order of asking."""
        for row in asking_order(self.pairs.key, self._every, self._first):
            if not self.answers.standing.get(int(self.pairs.key[row])):
                yield row

    def _again(self) -> Iterator[int]:
        """Yield doubtful rows, then others that this judge has not seen."""
        doubtful = self._doubtful()
        yield from doubtful
        for row in asking_order(self.pairs.key, self._every, self._first):
            by_judge = self.answers.standing.get(int(self.pairs.key[row]))
            if by_judge and self.judge not in by_judge and row not in doubtful:
                yield row

    def _doubtful(self) -> list[int]:
        """Return pairs whose judges disagree, or whose answer the other answers and the score
        contradict.

        An answer that its judge has confirmed is not doubtful.
        """
        kept, answered, doubtful = len(self.pairs.score), [], []
        for key, by_judge in self.answers.standing.items():
            row, votes = self._row.get(key), self.answers.votes(key)
            if row is None or not votes:
                continue
            if len(set(votes)) > 1 and self.answers.right(key) == 0.5:
                doubtful.append(row)
            elif row < kept and sum(self.answers.times(key, judge) for judge in by_judge) == 1:
                answered.append((row, votes[0]))
        if len(answered) >= FEWEST:
            rows, right = (np.array(column) for column in zip(*answered, strict=True))
            predicted = self._judged(rows, right).predicted[rows]
            doubtful += rows[np.abs(predicted - right) > DOUBTFUL].tolist()
        return doubtful


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name
        return "judge"
