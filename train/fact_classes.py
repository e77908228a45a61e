"""Classes of facts of English sentences, from the tables of ``fact_words.toml``."""

from pathlib import Path

from miner.config_fields import read_toml
from miner.kernels.facts import ADDED
from miner.scoring.facts import FactClass

# Digits that are words: those below this number.
DIGITS = 100


def fact_classes() -> list[FactClass]:
    """Return the classes, each after the tables' order; digits are words of their numbers."""
    tables = read_toml(Path(__file__).with_name("fact_words.toml"))
    classes = [
        FactClass(
            "negation", tables["negation"].split(), again=1, excuses=tables["negative"].split()
        ),
        FactClass("negation", ["a second negation"], tested=ADDED),
    ]
    _exclusive(classes, "number", _with_digits([line.split() for line in tables["numbers"]]))
    for kind, groups in (("person", "persons"), ("time", "times")):
        for group in tables[groups]:
            _exclusive(classes, kind, [line.split() for line in group])
    for line in tables["opposites"].strip().splitlines():
        _exclusive(classes, "opposite", [side.split() for side in line.split("/")])
    return classes


def _exclusive(classes: list[FactClass], kind: str, group: list[list[str]]) -> None:
    """Add classes of one kind that exclude each other."""
    first = len(classes)
    numbers = range(first, first + len(group))
    classes += [
        FactClass(kind, words, [other for other in numbers if other != number])
        for number, words in zip(numbers, group, strict=True)
    ]


def _with_digits(numbers: list[list[str]]) -> list[list[str]]:
    """Add numbers in digits to the words of their parts: 23 to twenty and to three."""
    units, tens = numbers[:19], numbers[19:27]
    for value in range(1, DIGITS):
        if value < 20:
            units[value - 1].append(str(value))
        else:
            tens[value // 10 - 2].append(str(value))
            if value % 10:
                units[value % 10 - 1].append(str(value))
    return numbers
