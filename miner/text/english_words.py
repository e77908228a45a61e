"""Tables of English words that corruptions exchange, from ``english_words.toml``."""

from pathlib import Path

from miner.config_fields import read_toml

_TABLES = read_toml(Path(__file__).with_suffix(".toml"))


def _words(name: str) -> tuple[str, ...]:
    return tuple(_TABLES[name].split())


def _pairs(name: str) -> list[tuple[str, str]]:
    """Return the pairs of a table of ``a/b``."""
    return [(first, second) for first, second in (pair.split("/") for pair in _words(name))]


def _both_ways(name: str) -> dict[str, str]:
    """Return the exchange in both directions; the first pair with a word has priority."""
    table: dict[str, str] = {}
    for first, second in _pairs(name):
        table.setdefault(first, second)
        table.setdefault(second, first)
    return table


ANTONYMS = _both_ways("opposites") | dict(_pairs("opposites_one_way"))
NUMBER_WORDS = tuple(tuple(row.split()) for row in _TABLES["number_words"])
MONTHS, WEEKDAYS = _words("months"), _words("weekdays")
GENDERS = _both_ways("genders")
AFTER_OBJECT = frozenset(_words("after_object"))
TENSES = _both_ways("tenses") | dict(_pairs("tenses_one_way"))
AUXILIARIES = frozenset(_words("auxiliaries"))
CONTRACTIONS = dict(_pairs("contractions"))
NEGATIVE = frozenset(_words("negative"))
MODIFIERS = _words("modifiers")
DETERMINERS = frozenset(_words("determiners"))
NO_NOUN = frozenset(_words("no_noun"))
NO_NAMES = frozenset((*_words("no_names"), *MONTHS, *WEEKDAYS))
OPENERS = DETERMINERS | frozenset(_words("openers"))
