"""Lexicons of a model: a table for each direction of translation, and the choice for two languages.

Languages with common training text have a table. Two others are joined by a pivot, a language with
text in common with both: p(y | x) = sum over e of p(y | e) p(e | x), a product of two tables, as in
phrase tables by pivot (Cohn and Lapata 2007). For unknown languages all tables are mixed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from miner.encoder.cached_arrays import cached_arrays, key_of
from miner.encoder.lexicon import Lexicon, Translations
from miner.ragged import offsets_of
from miner.text.language_codes import alike, primary

# Code of text in an unknown language (BCP 47). Both of its directions share one table.
UNKNOWN = "und"
# Minimum probability of a translation in any lexicon.
LEAST = 0.003

# Maximum share of a token in all tokens, so that its logarithm is not 0.
MOST = 0.99

# Arrays of a lexicon.
_ARRAYS = tuple(one.name for one in fields(Lexicon))

# Languages of a table: of the tokens translated, and of their translations.
Direction = tuple[str, str]


@dataclass(frozen=True, eq=False)
class TranslationTable(Translations):
    """Translations in one direction.

    ``count (V,) float32`` >= 0: number of source sentences with each token id.
    """

    count: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = np.isfinite(self.count).all() and (self.count >= 0).all() and self.count.any()
        self.check(len(self.count) == self.size and bool(counts))

    @cached_property
    def share(self) -> np.ndarray:
        """Share of each token id among all tokens, ``(V,) float64``."""
        return self.count / self.count.sum(dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Lexicons:
    """Tables of a model by direction. Raises ValueError for a table without its reverse.

    Text in one language, or in unknown ones, has a single table, its own reverse. ``digest``
    identifies the file of the tables, and is empty without a file. ``size``: number of token ids,
    by default the first table's.
    """

    tables: Mapping[Direction, TranslationTable]
    digest: str = ""
    size: int = 0

    def __post_init__(self) -> None:
        if not self.tables or any(pair[::-1] not in self.tables for pair in self.tables):
            raise ValueError("a table of the lexicon lacks its reverse")
        if not self.size:
            object.__setattr__(self, "size", next(iter(self.tables.values())).size)

    def of(self, source: str | None, target: str | None) -> Lexicon:
        """Return the lexicon for two languages, by their ISO 639 or BCP 47 codes; None if unknown.

        Their order does not matter. Tables are mixed by the frequency of a token in each language.
        """
        a, b = sorted(self._known(language) for language in (source, target))
        key = key_of(self.digest, a, b)
        return Lexicon(**cached_arrays("lexicon", _ARRAYS, key, lambda: vars(self._chosen(a, b))))

    def _chosen(self, a: str, b: str) -> Lexicon:
        if (a, b) in self.tables:
            return _mixed([self.tables[pair] for pair in dict.fromkeys([(a, b), (b, a)])])
        pivot = None if a == b else self.pivot(a, b)
        if pivot is None:
            tables = [self.tables[pair] for pair in sorted(self.tables)]
            return _mixed(tables, [float(table.count.sum(dtype=np.float64)) for table in tables])
        return _mixed([self._through(a, pivot, b), self._through(b, pivot, a)])

    @cached_property
    def languages(self) -> frozenset[str]:
        """Codes of the languages that have a table."""
        return frozenset(language for pair in self.tables for language in pair) - {UNKNOWN}

    def _known(self, language: str | None) -> str:
        """Return the code that the tables use for a language; UNKNOWN if they have none."""
        if language is None:
            return UNKNOWN
        code = primary(language)
        codes = [code] if code in self.languages else sorted(alike(code) & self.languages)
        return codes[0] if codes else UNKNOWN

    def pivot(self, source: str, target: str) -> str | None:
        """Choose the pivot, the language with most text in common with both; None without one."""
        common = sorted(
            middle
            for start, middle in self.tables
            if start == source and (middle, target) in self.tables
        )

        def text(middle: str) -> float:
            first, then = self.tables[source, middle], self.tables[middle, target]
            return float(min(first.count.sum(), then.count.sum()))

        return max(common, key=text, default=None)

    def _through(self, source: str, pivot: str, target: str) -> TranslationTable:
        """Return the table of translations by way of a pivot language."""
        from miner.kernels.compose_lexicons import composed

        first, then = self.tables[source, pivot], self.tables[pivot, target]
        return TranslationTable(*composed(first.entries, then.entries, LEAST), first.count)


def _mixed(tables: Sequence[TranslationTable], text: Sequence[float] | None = None) -> Lexicon:
    """Mix tables into a lexicon: each row is weighted by the share of its token in each table's
    text.

    ``text`` are the amounts of text, equal by default.
    """
    amount = np.ones(len(tables)) if text is None else np.array(text)
    parts = [
        share * table.share for share, table in zip(amount / amount.sum(), tables, strict=True)
    ]
    total = sum(parts[1:], start=parts[0])
    frequency = total.clip(total[total > 0].min() / 2, MOST).astype(np.float32)
    if len(tables) == 1:
        return Lexicon(*tables[0].entries, frequency)
    size = len(total)
    keys, values = [], []
    for table, part in zip(tables, parts, strict=True):
        row = np.repeat(np.arange(size), np.diff(table.offsets))
        keys.append(row * size + table.pieces)
        values.append(table.probability * (part / np.maximum(total, 1e-300))[row])
    key, value = np.concatenate(keys), np.concatenate(values)
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    key, value = key[first], np.add.reduceat(value, first) if len(first) else value
    keep = value >= LEAST
    key, value = key[keep], value[keep]
    offsets = offsets_of(np.bincount(key // size, minlength=size))
    # Rounding may exceed 1 slightly.
    probability = np.minimum(value, 1).astype(np.float32)
    return Lexicon(offsets, (key % size).astype(np.int32), probability, frequency)
