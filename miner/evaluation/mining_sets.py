"""Mining test sets in the format of BUCC 2018: translations hidden in two corpora.

Files ``PAIR.SPLIT.LANGUAGE`` with ``id⇥sentence``, and ``PAIR.SPLIT.gold`` with
``source_id⇥target_id``; plain or compressed.
"""

from dataclasses import dataclass
from pathlib import Path

from miner.errors import CorpusError, NoTestSetError
from miner.evaluation.gold import read_gold
from miner.evaluation.labelled_text import SUFFIXES, find_file, language_pair
from miner.text.patterns import files_below

SPLITS = ("training", "test")


@dataclass(frozen=True, eq=False)
class MiningSet:
    """Language pair of a test set, with the directory of its files."""

    name: str
    directory: Path
    pair: str

    @property
    def languages(self) -> tuple[str, str]:
        return language_pair(self.pair, self.directory)

    @property
    def splits(self) -> list[str]:
        """Splits with text; training is always included."""
        return [
            split
            for split in SPLITS
            if split == SPLITS[0] or self.file(f"{split}.{self.languages[0]}") is not None
        ]

    @property
    def reported(self) -> str:
        """Split that metrics are reported on: test, or training where test has no text or gold."""
        has_test = SPLITS[1] in self.splits and self.file(f"{SPLITS[1]}.gold") is not None
        return SPLITS[has_test]

    def file(self, name: str) -> Path | None:
        """Return ``PAIR.NAME``, compressed or not; None where it is not there."""
        return find_file(self.directory, f"{self.pair}.{name}")

    def need(self, name: str) -> Path:
        """Return ``PAIR.NAME``, compressed or not. Raises CorpusError where it is not there."""
        path = self.file(name)
        if path is None:
            raise CorpusError(f"{self.directory}: no {self.pair}.{name}, plain or compressed")
        return path

    def gold(self, split: str) -> set[tuple[str, str]]:
        """Read the gold pairs of a split. Raises CorpusError if there are none."""
        path = self.need(f"{split}.gold")
        gold = read_gold(path)
        if not gold:
            raise CorpusError(f"{path}: holds no pair; there is nothing to evaluate against")
        return gold


def sets(data: Path) -> list[MiningSet]:
    """Return the sets in the directories ``bucc*`` of ``data``, or else in ``data``, by name.

    Raises CorpusError if there are none, two have the same name, or a pair is not named by two
    languages.
    """
    golds = [
        path
        for folder in sorted(data.glob("bucc*/"))
        for path in files_below(folder)
        if ".training.gold" in path.name
    ]
    if not golds:
        golds = [*sorted(data.glob("*.training.gold*")), *sorted(data.glob("*/*.training.gold*"))]
    by_name: dict[str, MiningSet] = {}
    for path in golds:
        pair = path.name.split(".")[0]
        if path.name.removeprefix(f"{pair}.training.gold") not in SUFFIXES:
            continue
        language_pair(pair, path)
        top = path.relative_to(data).parts[0]
        name = f"{top if top.startswith('bucc') else data.resolve().name} {pair}"
        known = by_name.setdefault(name, MiningSet(name, path.parent, pair))
        if known.directory != path.parent:
            raise CorpusError(f"{path}: {known.directory} has a set of that name; remove one")
    if not by_name:
        raise NoTestSetError(data / "bucc*", "bucc2018/de-en/de-en.training.gold")
    return list(by_name.values())
