"""Classes of facts of English sentences, from the tables of ``fact_words.toml``."""

from pathlib import Path

from miner.config_fields import read_toml
from miner.kernels.facts import NUMBERS
from miner.scoring.fact_reader import FactClass
from miner.text.english_words import MONTHS

# First words of the classes of pronouns that are objects only.
OBJECTS = ("me", "him", "us", "them")
# Numbers of the words of the table: one to nineteen, twenty to ninety, hundred, first to tenth.
_UNITS, _TENS, _HUNDRED, _ORDINALS = slice(0, 19), slice(19, 27), 27, slice(31, 41)
_MONTHS = {month.lower(): number for number, month in enumerate(MONTHS, 1)}


def fact_classes() -> list[FactClass]:
    """Return the classes, each after the tables' order; digits are words of their numbers."""
    tables = read_toml(Path(__file__).with_name("fact_words.toml"))
    classes = [
        FactClass(
            "negation", tables["negation"].split(), again=1, excuses=tables["negative"].split()
        ),
        FactClass("negation", ["a second negation"], tested=0),
    ]
    numbers = [line.split() for line in tables["numbers"]]
    _exclusive(classes, "number", _with_digits(numbers), _parts(numbers))
    pronouns, objects, *persons = ([line.split() for line in one] for one in tables["persons"])
    _pronouns(classes, pronouns, objects)
    for kind, groups in (
        ("person", persons),
        ("time", ([line.split() for line in one] for one in tables["times"])),
    ):
        for group in groups:
            _exclusive(classes, kind, group)
    for line in tables["opposites"].strip().splitlines():
        _exclusive(classes, "opposite", [side.split() for side in line.split("/")])
    return classes


def _exclusive(
    classes: list[FactClass], kind: str, group: list[list[str]], numbers: dict[str, int] = _MONTHS
) -> None:
    """Add classes of one kind that exclude each other. ``numbers``: of their first words."""
    first = len(classes)
    places = range(first, first + len(group))
    for place, words in zip(places, group, strict=True):
        others = [other for other in places if other != place]
        classes.append(FactClass(kind, words, others, number=numbers.get(words[0], -1)))


def _pronouns(classes: list[FactClass], subjects: list[list[str]], others: list[list[str]]) -> None:
    """Add classes of pronouns, each with a class of a second one in a sentence.

    Those of a list exclude each other. "You" is a subject and an object.
    """
    first, k = len(classes), len(subjects) + len(others)
    objects = [row for row, words in enumerate(others, len(subjects)) if words[0] in OBJECTS]
    for row, words in enumerate((*subjects, *others)):
        group = set(range(len(subjects)) if row < len(subjects) else range(len(subjects), k))
        you = subjects.index(next(one for one in subjects if one[0] == "you"))
        group |= {*objects} if row == you else {you} if row in objects else set()
        excluded = [first + one + more for more in (0, k) for one in sorted(group - {row})]
        classes.append(FactClass("person", words, excluded, again=first + k + row))
    for row in range(k):
        one = classes[first + row]
        classes.append(FactClass("person", [f"a second {one.words[0]}"], one.excludes))


def _parts(numbers: list[list[str]]) -> dict[str, int]:
    """Return the numbers of the first words, as parts of a number in digits."""
    known = [
        *enumerate(numbers[_UNITS], 1),
        *((10 * ten, words) for ten, words in enumerate(numbers[_TENS], 2)),
        *enumerate(numbers[_ORDINALS], 1),
        (0, numbers[_HUNDRED]),
    ]
    return {words[0]: NUMBERS + value for value, words in known}


def _with_digits(numbers: list[list[str]]) -> list[list[str]]:
    """Add numbers in digits to the words of their parts: 23 to twenty and to three."""
    units, tens = numbers[_UNITS], numbers[_TENS]
    for value in range(1, NUMBERS):
        if value < 20:
            units[value - 1].append(str(value))
        else:
            tens[value // 10 - 2].append(str(value))
            if value % 10:
                units[value % 10 - 1].append(str(value))
    return numbers
