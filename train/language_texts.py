"""Training text by pair of languages, because real mining has one pair; and its record."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.encoder.known_languages import KnownLanguage
from miner.encoder.lexicons import UNKNOWN as UNKNOWN_CODE
from miner.encoder.lexicons import Direction
from miner.encoder.model import Model
from miner.scoring.pair_features import TokenTable
from miner.text.language_codes import primary
from miner_train import data
from miner_train.data import SplitPairs


@dataclass(frozen=True)
class LanguageText:
    """Sentences in two languages, translations by position.

    ``languages`` are the ISO 639 codes of source and target. ``held``: source and target sentences
    that the encoder was not trained on; ``training``: some or all of the others.
    """

    languages: Direction
    held: tuple[list[str], list[str]]
    training: tuple[list[str], list[str]]


def rows_by_languages(split: SplitPairs, rows: np.ndarray) -> dict[Direction, np.ndarray]:
    """Group ``rows`` by the codes of source and target, "und" for unnamed ones."""
    groups: dict[Direction, list[np.ndarray]] = {}
    for name, places in split.by_language(rows).items():
        groups.setdefault(codes(name), []).append(rows[places])
    unknown = rows[split.pairs.language[rows] == data.UNKNOWN]
    if len(unknown):
        groups[UNKNOWN_CODE, UNKNOWN_CODE] = [unknown]
    return {pair: np.sort(np.concatenate(parts)) for pair, parts in sorted(groups.items())}


def token_tables(model: Model, texts: Sequence[LanguageText]) -> list[TokenTable]:
    """Return the token tables of a model with lexicons, one for each text's languages."""
    assert model.verifying is not None and model.lexicons is not None
    lexicons = [model.lexicons.of(*text.languages) for text in texts]
    if not lexicons:
        return []
    first = TokenTable(model.verifying, lexicons[0])
    return [first, *map(first.with_lexicon, lexicons[1:])]


def texts_by_languages(split: SplitPairs) -> list[LanguageText]:
    """Return the held-out pairs, and the translations among the others, of each pair of languages.

    Pairs of languages without held-out text are omitted.
    """
    held, training = (rows_by_languages(split, rows) for rows in (split.held, split.translations))
    return [
        LanguageText(pair, split.text(rows), split.text(training.get(pair, split.held[:0])))
        for pair, rows in held.items()
    ]


def codes(pair: str) -> tuple[str, str]:
    """Return the ISO 639 codes of source and target in a language pair (``de-en``)."""
    source, target = map(primary, pair.split("-"))
    return source, target


def recorded_languages(
    pairs: SplitPairs, counts: Sequence[Mapping[str, Any]]
) -> dict[str, KnownLanguage]:
    """Count the training pairs of every named language, in total and by text.

    ``counts`` are the records of the files, with their language pair if known. The name of a text
    is its file name without suffixes; texts with the same name are summed.
    """
    total: Counter[str] = Counter()
    for name, places in pairs.by_language(pairs.training).items():
        total.update(dict.fromkeys(codes(name), len(places)))
    text: dict[str, Counter[str]] = defaultdict(Counter)
    for record in counts:
        for code in (
            codes(record["languages"]) if "languages" in record and "held out" not in record else ()
        ):
            text[code][record["name"].split(".")[0]] += record["pairs"]
    return {code: KnownLanguage(count, dict(text[code])) for code, count in sorted(total.items())}
