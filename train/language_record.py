"""Record of the languages of a training, for the model that it makes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from miner.encoder.known_languages import KnownLanguage
from miner.text.language_codes import primary
from miner_train.data import SplitPairs


def codes(pair: str) -> tuple[str, str]:
    """ISO 639 codes of the source and target of a language pair (``de-en``)."""
    source, target = map(primary, pair.split("-"))
    return source, target


def recorded_languages(
    pairs: SplitPairs, counts: Sequence[Mapping[str, Any]]
) -> dict[str, KnownLanguage]:
    """Count the training pairs of every language whose name is known, in all and by text.

    ``counts`` are the records of the files, which name their language pair where it is known. A
    text is named as its file, without suffixes; texts of one name count as one.
    """
    total: Counter[str] = Counter()
    for name, places in pairs.by_language(pairs.training).items():
        total.update(dict.fromkeys(codes(name), len(places)))
    text: dict[str, Counter[str]] = defaultdict(Counter)
    for one in counts:
        for code in codes(one["languages"]) if "languages" in one else ():
            text[code][one["name"].split(".")[0]] += one["pairs"]
    return {code: KnownLanguage(count, dict(text[code])) for code, count in sorted(total.items())}
