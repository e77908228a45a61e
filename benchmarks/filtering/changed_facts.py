"""Changes of one fact of a sentence: rules that know nothing of the model's.

English sentences change in a negation, a number word, digits, a word and its opposite, a person or
a time; German, French and Spanish ones in a negation, a number word or a weekday. A rule that finds
nothing to change returns None.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence

Rule = Callable[[str, random.Random], str | None]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_DIGITS = re.compile(r"(?<![\d.,:])\d+(?![\d.,:]*\d)")

_AUXILIARY = r"(?:am|is|are|was|were|can|could|will|would|should|must|may|might)"
# Negations and what stays without them; then places for a new one.
_DROPPED = (
    (r"\bcan(?:not|['’]t)\b", "can"),
    (r"\bwon['’]t\b", "will"),
    (r"\b(is|are|was|were|do|does|did|has|have|had|could|would|should|must)n['’]t\b", r"\1"),
    (r"\b(am|is|are|was|were|be|do|does|did|have|has|had|could|will|would|should|must|may) not\b",
     r"\1"),
    (r"\bnever ", ""),
    (r"\bno one\b", "someone"),
    (r"\bnobody\b", "somebody"),
    (r"\bnothing\b", "something"),
    (r"\bnowhere\b", "somewhere"),
)  # fmt: skip
_ADDED = (
    (rf"(?<=\w )({_AUXILIARY})(?= [a-z])", r"\1 not"),
    (r"\b(I|you|we|they)(?= (?:know|like|want|think|need|have|love|believe|see)\b)", r"\1 don't"),
    (r"\b(he|she|it) (want|like|need|know)s\b", r"\1 doesn't \2"),
)
_NEGATIVE = re.compile(r"\b(?:no|not|never|none|neither|nor|cannot|without|no\w+)\b|n['’]t\b", re.I)

_NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve",
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "hundred thousand million billion",
    "third fourth fifth sixth seventh eighth ninth tenth",
)
_OPPOSITES = (
    "good bad", "better worse", "big small", "bigger smaller", "large small", "high low",
    "higher lower", "long short", "old new", "old young", "hot cold", "warm cool", "fast slow",
    "easy difficult", "early late", "first last", "before after", "above below", "inside outside",
    "open close", "opened closed", "true false", "more less", "many few", "everyone nobody",
    "everything nothing", "buy sell", "bought sold", "give take", "gave took", "come go",
    "came went", "win lose", "won lost", "love hate", "rich poor", "strong weak", "heavy light",
    "full empty", "near far", "war peace", "alive dead", "happy sad", "friend enemy",
    "friends enemies",
    "possible impossible", "remember forget", "right wrong", "safe dangerous", "clean dirty",
    "cheap expensive", "begin end", "began ended", "start stop", "increase decrease", "rose fell",
    "rise fall", "increased decreased", "north south", "east west", "northern southern",
    "eastern western", "always never", "often rarely", "with without", "same different",
    "success failure", "accept reject", "accepted rejected"
)  # fmt: skip
_PERSONS = (
    "he she", "man woman", "men women", "boy girl", "boys girls", "father mother", "son daughter",
    "brother sister", "brothers sisters", "husband wife", "king queen", "uncle aunt",
    "my your", "we they", "our their", "us them", "him them", "his their",
)  # fmt: skip
# Exchanged in one direction: the other one depends on the place of the word.
_ONE_WAY = {"i": "you", "me": "you"}
_TIMES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april june july august september october november december",
    "yesterday today tomorrow", "morning evening", "summer winter", "spring autumn",
    "day week month year", "days weeks months years", "hour minute", "hours minutes",
)  # fmt: skip
# Names of months and days have a capital, so that "march" is a verb.
_CAPITALISED = frozenset(" ".join(_TIMES[:2]).split())

FOREIGN_NUMBERS = {
    "de": ("zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
           "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"),
    "fr": ("deux trois quatre cinq six sept huit neuf dix onze douze",
           "vingt trente quarante cinquante soixante"),
    "es": ("dos tres cuatro cinco seis siete ocho nueve diez once doce",
           "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa"),
}  # fmt: skip
FOREIGN_TIMES = {
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
}
FOREIGN_NEGATIONS = {
    "de": (
        (r"\bnicht ", ""),
        (r" nicht\b", ""),
        (r"\bkein(e[mnrs]?)?\b", r"ein\1"),
        (r"\bnie(?:mals)? ", ""),
    ),
    "fr": (
        (r"\bn['’](\w+) (?:pas|jamais|plus)\b", r"\1"),
        (r"\bne (\w+) (?:pas|jamais|plus)\b", r"\1"),
    ),
    "es": ((r"\bno (?=\w)", ""), (r"\bnunca ", "")),
}


def _replaced(text: str, start: int, end: int, word: str) -> str:
    capital = text[start].isupper() and (text[start:end] != "I" or start == 0)
    return text[:start] + (word.capitalize() if capital else word) + text[end:]


def _exchange(rows: Sequence[str], one_way: Mapping[str, str] = {}) -> Rule:
    """Return a rule that replaces a word of a row by another one of it."""
    table = {word: [other] for word, other in one_way.items()}
    for row in rows:
        words = row.split()
        for word in words:
            table.setdefault(word, []).extend(one for one in words if one != word)

    def rule(text: str, generator: random.Random) -> str | None:
        places = [
            match
            for match in _WORD.finditer(text)
            if (low := match[0].lower()) in table and not (low in _CAPITALISED and match[0] == low)
        ]
        if not places:
            return None
        match = generator.choice(places)
        low = match[0].lower()
        new = generator.choice(table[low])
        if low in _CAPITALISED:
            new = new.capitalize()
        return _replaced(text, *match.span(), new)

    return rule


def _substitute(rules: Sequence[tuple[str, str]]) -> Rule:
    """Return a rule that applies the first substitution that changes the text, once."""
    compiled = [(re.compile(pattern, re.IGNORECASE), new) for pattern, new in rules]

    def rule(text: str, generator: random.Random) -> str | None:
        for pattern, new in compiled:
            if pattern.search(text):
                changed = pattern.sub(new, text, count=1)
                return changed[:1].upper() + changed[1:] if text[:1].isupper() else changed
        return None

    return rule


_drop, _add = _substitute(_DROPPED), _substitute(_ADDED)


def _negation(text: str, generator: random.Random) -> str | None:
    """Drop the negation of a sentence with one; negate a statement without."""
    count = len(_NEGATIVE.findall(text))
    if count == 1:
        return _drop(text, generator)
    return None if count or text.rstrip().endswith("?") else _add(text, generator)


def _digits(text: str, generator: random.Random) -> str | None:
    """Change the last digit of a number."""
    places = list(_DIGITS.finditer(text))
    if not places:
        return None
    match = generator.choice(places)
    last = int(text[match.end() - 1])
    new = generator.choice([digit for digit in range(1, 10) if digit != last])
    return f"{text[: match.end() - 1]}{new}{text[match.end() :]}"


ENGLISH: dict[str, Rule] = {
    "negation": _negation,
    "number words": _exchange(_NUMBERS),
    "digits": _digits,
    "opposites": _exchange(_OPPOSITES),
    "persons": _exchange(_PERSONS, _ONE_WAY),
    "times": _exchange(_TIMES),
}
# Rules of the foreign side, by language.
FOREIGN: dict[str, dict[str, Rule]] = {
    code: {
        "negation": _substitute(FOREIGN_NEGATIONS[code]),
        "number words": _exchange(rows),
        "times": _exchange([FOREIGN_TIMES[code]]),
    }
    for code, rows in FOREIGN_NUMBERS.items()
}


def changed(text: str, rule: Rule) -> str | None:
    """Return the text with one fact changed; the choice is determined by the text."""
    found = rule(text, random.Random(text))
    return None if found == text else found
