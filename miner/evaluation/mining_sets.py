"""Sets in the format of BUCC 2018: translations hidden in two corpora.

Files ``PAIR.SPLIT.LANGUAGE`` with ``id⇥sentence``, and ``PAIR.SPLIT.gold`` with
``source_id⇥target_id``; plain or compressed.
"""

from dataclasses import dataclass
from pathlib import Path

from miner.errors import CorpusError, NoTestSetError
from miner.evaluation.labelled_text import SUFFIXES, find, two_languages
from miner.evaluation.metrics import read_gold

SPLITS = ("training", "test")


@dataclass(frozen=True, eq=False)
class Task:
    """One language pair of one set; ``directory`` holds its files."""

    name: str
    directory: Path
    pair: str

    @property
    def languages(self) -> tuple[str, str]:
        return two_languages(self.pair, self.directory)

    @property
    def splits(self) -> list[str]:
        """The splits whose text is there; training always is one."""
        return [
            split
            for split in SPLITS
            if split == SPLITS[0] or self.file(f"{split}.{self.languages[0]}") is not None
        ]

    @property
    def reported(self) -> str:
        """The split that figures are of: test, or training where test has no text or no gold."""
        there = SPLITS[1] in self.splits and self.file(f"{SPLITS[1]}.gold") is not None
        return SPLITS[there]

    def file(self, name: str) -> Path | None:
        """``PAIR.NAME``, compressed or not; None where it is not there."""
        return find(self.directory, f"{self.pair}.{name}")

    def need(self, name: str) -> Path:
        """The same. Raises CorpusError where it is not there."""
        path = self.file(name)
        if path is None:
            raise CorpusError(f"{self.directory}: no {self.pair}.{name}, plain or compressed")
        return path


def sets(data: Path) -> list[Task]:
    """The sets in all directories ``bucc*`` of ``data``, or else in ``data`` itself, by name.

    Raises CorpusError where there are none, two have one name, or a pair is not named by two
    languages.
    """
    golds = sorted(data.glob("bucc*/**/*.training.gold*"))
    if not golds:
        golds = [*sorted(data.glob("*.training.gold*")), *sorted(data.glob("*/*.training.gold*"))]
    found: dict[str, Task] = {}
    for path in golds:
        pair = path.name.split(".")[0]
        above = path.relative_to(data).parts[0]
        if path.name.removeprefix(f"{pair}.training.gold") in SUFFIXES:
            two_languages(pair, path)
            where = above if above.startswith("bucc") else data.resolve().name
            name = f"{where} {pair}"
            task = found.setdefault(name, Task(name, path.parent, pair))
            if task.directory != path.parent:
                raise CorpusError(f"{path}: {task.directory} has a set of that name; remove one")
    if not found:
        raise NoTestSetError(data / "bucc*", "bucc2018/de-en/de-en.training.gold")
    return list(found.values())


def read_gold_of(task: Task, split: str) -> set[tuple[str, str]]:
    """The gold pairs of a split. Raises CorpusError where there are none."""
    path = task.need(f"{split}.gold")
    gold = read_gold(path)
    if not gold:
        raise CorpusError(f"{path}: holds no pair; there is nothing to evaluate against")
    return gold
