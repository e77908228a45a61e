"""Which foreign language makes the best English vectors, and what goes with that (P19, section 5)?

One model for each language, on the same English sentences of the same sources, so that nothing but
the language differs; with vocabularies that are shared, or separate. Five languages are few for a
correlation, so the overlap of pieces is varied alone, too: the source side of English paraphrases
has a part of its word types in a cipher, each letter another one.
"""

import hashlib
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import experiment_text
from benchmarks.models.distances import TABLE
from benchmarks.models.encoder_text import SEED, Pair, draw
from benchmarks.models.experiment_metrics import P19, Bench, Results, Row
from miner import Encoder
from miner.analysis.language_overlap import correlate, overlap, read_distances
from miner_train.config import TrainConfig

# The sources of each group, and the languages that have them.
GROUPS = {
    "interface": (("gnome", "mozilla", "phpmyadmin"), ("cs", "de", "es", "fr", "ru")),
    "manual": (("php",), ("de", "es", "fr", "ru")),
    "captions": (("multi30k",), ("cs", "de", "fr")),
}
VOCABULARIES = ("shared", "separate")
# Shares of the word types that are in the cipher.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
SYNTHETIC = "English in cipher"
OVERLAP = "overlap"
# The figure that languages are compared by.
SCORE = "sts 12-16"
_WORD = re.compile(r"[^\W\d_]+")


def measure(bench: Bench) -> Iterator[Results]:
    rows: list[Row] = []
    for kind in VOCABULARIES:
        config = replace(P19, vocabularies=kind)
        for group, parts in {**aligned(bench), SYNTHETIC: synthetic(bench)}.items():
            for name, pairs in parts.items():
                languages = experiment_text.ENGLISH if group == SYNTHETIC else f"{name}-en"
                row = bench.row(
                    f"{group}, {kind} vocabularies", name, pairs, config, languages, mine=False
                )
                if "figures" in row:
                    row[OVERLAP] = pieces(bench, row, pairs, config)
                rows.append(row)
                yield {"spearman": correlations(rows), "rows": rows}


def aligned(bench: Bench) -> dict[str, dict[str, list[Pair]]]:
    """By group, the same English sentences in each of its languages; the first translation."""
    found = {}
    for group, (names, languages) in GROUPS.items():
        first: dict[str, dict[str, str]] = {}
        for language in languages:
            parts = experiment_text.sources(bench.data, f"{language}-en")
            first[language] = {}
            for pair in experiment_text.together(parts.get(name, []) for name in names):
                first[language].setdefault(pair[1], pair[0])
        common = [one for one in first[languages[0]] if all(one in each for each in first.values())]
        english = draw([(one, one) for one in common], bench.pairs)
        found[group] = {
            language: [(translations[one], one) for one, _ in english]
            for language, translations in first.items()
        }
    return found


def synthetic(bench: Bench) -> dict[str, list[Pair]]:
    """Paraphrases whose first sentence is in the cipher, by the share of word types that are."""
    pairs = draw(experiment_text.paraphrases(bench.data), bench.pairs)
    return {
        f"{share:g}": [(ciphered(source, share), target) for source, target in pairs]
        for share in SHARES
    }


def ciphered(sentence: str, share: float) -> str:
    """The sentence with a share of all word types in a cipher, the same in every sentence.

    Which words are is a matter of their letters alone, whatever their case; and those of a smaller
    share are among those of a larger one.
    """

    def word(match: re.Match[str]) -> str:
        return match[0].translate(_CIPHER) if _number(match[0]) < share else match[0]

    return _WORD.sub(word, sentence)


def _number(word: str) -> float:
    """A number from 0 up to 1 that every word has, as if drawn."""
    digest = hashlib.sha256(word.casefold().encode()).digest()
    return int.from_bytes(digest[:4], "big") / (1 << 32)


def _cipher() -> dict[int, str]:
    """Vowels for vowels and others for others, so that words look like those of a language."""
    generator = np.random.default_rng(SEED)
    table: dict[int, str] = {}
    for letters in ("aeiou", "".join(sorted(set(string.ascii_lowercase) - set("aeiou")))):
        # The letters in a circle: none stands for itself.
        circle = [letters[place] for place in generator.permutation(len(letters))]
        for one, other in zip(circle, circle[1:] + circle[:1], strict=True):
            table |= {ord(one): other, ord(one.upper()): other.upper()}
    return table


_CIPHER = _cipher()


def pieces(bench: Bench, row: Row, pairs: list[Pair], config: TrainConfig) -> dict[str, float]:
    """The overlap of the pieces of both sides, as the row's model cuts them."""
    model: Path = bench.train(f"{row['group']} {row['name']}", pairs, config)[0]
    encoder = Encoder.load(model, side="source")
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    found = overlap(encoder.tokenizer, source, target)
    return {**asdict(found), "share": found.share}


def correlations(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """By group, Spearman's correlation over languages of each column with the score."""
    distances = read_distances(TABLE)
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if "figures" in row:
            groups.setdefault(row["group"], []).append(row)
    return {group: correlation(found, distances) for group, found in groups.items()}


def correlation(rows: list[Row], distances: Mapping[str, dict[str, float]]) -> dict[str, Any]:
    """The same of one group."""
    scores = {row["name"]: row["figures"][SCORE]["value"] for row in rows}
    columns = {OVERLAP: {row["name"]: row[OVERLAP]["share"] for row in rows}, **distances}
    found = correlate(scores, columns)
    return {name: asdict(one) for name, one in found.items() if one.languages}
