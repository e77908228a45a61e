"""Answers of judges about pairs: an append-only file of JSON lines, and the judges' agreement."""

import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import combinations
from pathlib import Path

from miner.errors import CorpusError, writing
from miner.json_files import parsed

# Answers, and the probability that the pair is right. A partly right pair counts as wrong.
RIGHT = {"yes": 1.0, "partly": 0.0, "no": 0.0}
SKIP, UNDO = "skip", "undo"
# Kinds of errors that an answer "no" may name.
KINDS = ("other number", "other name", "machine-translated", "wrong language")
# Minimum number of pairs that two judges share, for their agreement to be computed.
COMMON = 5


def key_of(source: str, target: str) -> int:
    """Return the 64-bit number of a pair of texts; white space does not matter."""
    text = f"{' '.join(source.split())}\t{' '.join(target.split())}"
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class Answer:
    """Answer of one judge about one pair.

    ``answer`` is a key of `RIGHT`, `SKIP`, or `UNDO`, which cancels the judge's last answer about
    the pair. ``kind`` is one of `KINDS` or free text. ``drawn`` is the probability that the pair
    was sampled; ``score`` its score at that time, or None.
    """

    source: str
    target: str
    answer: str
    judge: str = ""
    time: str = ""
    kind: str = ""
    drawn: float | None = None
    score: float | None = None

    @property
    def key(self) -> int:
        """Return the 64-bit number of the pair."""
        return key_of(self.source, self.target)


@dataclass(eq=False)
class Answers:
    """Answers of all judges; ``given`` in the order of the file, ``path`` None if there is no file.

    ``standing``: the valid answers by pair and judge, that is the last of each judge.
    """

    path: Path | None = None
    given: list[Answer] = field(default_factory=list)
    standing: dict[int, dict[str, Answer]] = field(default_factory=dict)
    _before: dict[tuple[int, str], list[Answer]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Answers":
        """Read the answers of a file, which may be missing.

        An incomplete last line, left by a killed process, is ignored. Raises CorpusError for any
        other line that cannot be parsed.
        """
        answers = cls(path)
        try:
            lines = path.read_bytes().removeprefix(BOM_UTF8).split(b"\n")
        except FileNotFoundError:
            return answers
        except OSError as error:
            raise CorpusError(f"{path}: cannot be read: {error.strerror}") from None
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            answer = _parsed(line)
            if answer is not None:
                answers._take(answer)
            elif number < len(lines):
                raise CorpusError(
                    f"{path}, line {number}: no answer of a review; restore the line or remove it"
                )
        return answers

    def add(self, *answers: Answer) -> None:
        """Add answers in memory and append them to the file, synced."""
        if self.path is not None:
            lines = []
            for answer in answers:
                cells = {
                    name: cell for name, cell in asdict(answer).items() if cell not in ("", None)
                }
                lines.append(json.dumps(cells, ensure_ascii=False) + "\n")
            with writing(self.path), open(self.path, "ab") as file:
                file.write("".join(lines).encode())
                file.flush()
                os.fsync(file.fileno())
        for answer in answers:
            self._take(answer)

    def mend(self) -> None:
        """Remove an incomplete last line of the file, or end a complete one."""
        assert self.path is not None
        if not self.path.exists():
            return
        with writing(self.path), open(self.path, "r+b") as file:
            content = file.read()
            tail = content[content.rfind(b"\n") + 1 :]
            if _parsed(tail.removeprefix(BOM_UTF8)) is not None:
                file.write(b"\n")
            elif tail:
                file.truncate(len(content) - len(tail))

    def _take(self, answer: Answer) -> None:
        self.given.append(answer)
        key, judge = answer.key, answer.judge
        before = self._before.setdefault((key, judge), [])
        if answer.answer != UNDO:
            before.append(answer)
        elif before:
            before.pop()
        by_judge = self.standing.setdefault(key, {})
        by_judge.pop(judge, None)
        if before:
            by_judge[judge] = before[-1]

    def votes(self, key: int) -> list[float]:
        """Return the answers of all judges about a pair: 1 or 0 each."""
        answers = self.standing.get(key, {}).values()
        return [RIGHT[answer.answer] for answer in answers if answer.answer in RIGHT]

    def right(self, key: int) -> float | None:
        """Return the majority vote on a pair: 1, 0, or 0.5 for a tie; None without answers."""
        votes = self.votes(key)
        if not votes:
            return None
        mean = sum(votes) / len(votes)
        return 0.5 if mean == 0.5 else float(mean > 0.5)

    @property
    def skipped(self) -> set[int]:
        """Pairs that all of their judges skipped."""
        return {key for key, by_judge in self.standing.items() if by_judge and not self.votes(key)}

    def times(self, key: int, judge: str) -> int:
        """Count a judge's answers about a pair."""
        return len(self._before.get((key, judge), ()))

    def labels(self) -> dict[tuple[str, str], float]:
        """Return the majority vote on each judged pair, by its texts."""
        labels = {}
        for key, by_judge in self.standing.items():
            right = self.right(key)
            if right is not None:
                answer = next(iter(by_judge.values()))
                labels[answer.source, answer.target] = right
        return labels

    def kinds(self, key: int) -> set[str]:
        """Return the kinds of errors that judges named for a pair."""
        answers = self.standing.get(key, {}).values()
        return {
            answer.kind or answer.answer
            for answer in answers
            if answer.kind or answer.answer == "partly"
        }

    def agreement(self) -> list[tuple[str, str, int, float]]:
        """Return each two judges with common pairs, the number of these, and Cohen's kappa
        (1960).
        """
        by_judge: dict[str, dict[int, float]] = {}
        for key, judged in self.standing.items():
            for judge, answer in judged.items():
                if answer.answer in RIGHT:
                    by_judge.setdefault(judge, {})[key] = RIGHT[answer.answer]
        agreements = []
        for left, right in combinations(sorted(by_judge), 2):
            common = by_judge[left].keys() & by_judge[right].keys()
            if len(common) >= COMMON:
                pairs = [(by_judge[left][key], by_judge[right][key]) for key in common]
                agreements.append((left, right, len(common), kappa(pairs)))
        return agreements


def kappa(pairs: Iterable[tuple[float, float]]) -> float:
    """Return Cohen's kappa of two judges' answers; 1 if both gave one and the same answer
    throughout.
    """
    both = [*pairs]
    same = sum(first == second for first, second in both) / len(both)
    shares = [sum(pair[side] for pair in both) / len(both) for side in (0, 1)]
    chance = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return 1.0 if chance == 1 else (same - chance) / (1 - chance)


def _parsed(line: bytes) -> Answer | None:
    """Parse a line; return None if it is no answer."""
    try:
        answer = Answer(**parsed(line))
    except (ValueError, TypeError):
        return None
    texts = (answer.source, answer.target, answer.answer, answer.judge, answer.kind)
    if not all(isinstance(text, str) for text in texts):
        return None
    return answer if answer.answer in (*RIGHT, SKIP, UNDO) else None
