"""Compare foreign languages by the English vectors that they train (P19, section 4.2).

One model is trained for each language, on translations of the same English sentences of the same
sources, with shared and with separate vocabularies. Metrics are correlated with the distances of
languages and the overlap of pieces. Five languages are few for a correlation, so the overlap is
also varied alone: part of the word types on the source side of English paraphrases are enciphered.
"""

import csv
import hashlib
import re
import string
from collections.abc import Iterator
from dataclasses import asdict, replace

import numpy as np

from benchmarks.models import training_text
from benchmarks.models.bench import Results, Row
from benchmarks.models.distances import TABLE
from benchmarks.models.experiment_metrics import P19, ExperimentBench
from benchmarks.models.training_text import SEED, Pair, draw
from miner import Encoder
from miner.encoder.tokenizer import MarkedTokenizer
from miner.option_values import SIDES
from miner_train.config import TrainConfig
from miner_train.papers.language_overlap import (
    OVERLAP,
    Correlation,
    correlate,
    correlate_apart,
    overlap,
)

# Sources of each group, and their languages.
GROUPS = {
    "interface": (("gnome", "mozilla", "phpmyadmin"), ("cs", "de", "es", "fr", "ru")),
    "manual": (("php",), ("de", "es", "fr", "ru")),
    "captions": (("multi30k",), ("cs", "de", "fr")),
}
VOCABULARIES = ("shared", "separate")
# P19's study of all languages cuts the columns apart; then equal pieces are shared, or nothing is.
EVERY_VOCABULARIES = ("shared", "alike", "separate")
# Shares of the word types that are enciphered.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
SYNTHETIC = "English in cipher"
EVERY = "every language"
# Source of the text of every language; P19 has subtitles alone.
SOURCE = "tatoeba"
# Other definition of overlap: share of English pieces that the other side uses, too.
ENGLISH_SHARED = "share of English pieces"
# Metric by which languages are compared.
SCORE = "sts 12-16"
_WORD = re.compile(r"[^\W\d_]+")


def measure(bench: ExperimentBench) -> Iterator[Results]:
    rows: list[Row] = []
    for kind in VOCABULARIES:
        config = replace(P19, vocabularies=kind)
        for group, parts in {**aligned(bench), SYNTHETIC: synthetic(bench)}.items():
            for name, pairs in parts.items():
                languages = training_text.ENGLISH if group == SYNTHETIC else f"{name}-en"
                row = bench.row(
                    f"{group}, {kind} vocabularies", name, pairs, config, languages, mine=False
                )
                if "figures" in row:
                    row[OVERLAP] = pieces(bench, row, pairs, config)
                rows.append(row)
                yield {"rows": rows}


def measure_every(bench: ExperimentBench) -> Iterator[Results]:
    """Measure each language that has enough text of Tatoeba, by each kind of vocabulary."""
    rows: list[Row] = []
    for language in sorted(distances()["syntactic"]):
        files = (bench.data / "train" / f"{language}-en").glob(f"{SOURCE}*.tsv*")
        pairs = training_text.together(map(training_text.read_short, sorted(files)))
        if len(pairs) < bench.pairs:
            continue
        pairs = draw(pairs, bench.pairs)
        for kind in EVERY_VOCABULARIES:
            config = replace(P19, vocabularies=kind)
            group = f"{EVERY}, {kind} vocabularies"
            row = bench.row(group, language, pairs, config, training_text.ENGLISH, mine=False)
            if "figures" in row:
                row[OVERLAP] = pieces(bench, row, pairs, config)
            rows.append(row)
            yield {"rows": rows, "spearman": spearman(rows)}


def spearman(rows: list[Row]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the correlations of `correlations` by group and part."""
    return {
        group: {
            part or "all": {name: one.value for name, one in columns.items()}
            for part, columns in correlations(
                group, [row for row in rows if row["group"] == group]
            ).items()
        }
        for group in dict.fromkeys(row["group"] for row in rows)
    }


def aligned(bench: ExperimentBench) -> dict[str, dict[str, list[Pair]]]:
    """Return by group and language the translations of the same English sentences.

    A sentence with several translations has the first.
    """
    found = {}
    for group, (names, languages) in GROUPS.items():
        first: dict[str, dict[str, str]] = {}
        for language in languages:
            parts = training_text.sources(bench.data, f"{language}-en")
            first[language] = {}
            for pair in training_text.together(parts.get(name, []) for name in names):
                first[language].setdefault(pair[1], pair[0])
        common = [one for one in first[languages[0]] if all(one in each for each in first.values())]
        english = draw([(one, one) for one in common], bench.pairs)
        found[group] = {
            language: [(translations[one], one) for one, _ in english]
            for language, translations in first.items()
        }
    return found


def synthetic(bench: ExperimentBench) -> dict[str, list[Pair]]:
    """Return paraphrases with an enciphered first sentence, by the share of word types."""
    pairs = draw(training_text.paraphrases(bench.data), bench.pairs)
    return {
        f"{share:g}": [(ciphered(source, share), target) for source, target in pairs]
        for share in SHARES
    }


def ciphered(sentence: str, share: float) -> str:
    """Encipher a share of all word types in a sentence.

    The letters of a word alone decide whether it is enciphered, in lower case. The words of a
    smaller share are among those of a larger one.
    """

    def word(match: re.Match[str]) -> str:
        return match[0].translate(_CIPHER) if _number(match[0]) < share else match[0]

    return _WORD.sub(word, sentence)


def _number(word: str) -> float:
    """Hash a word to a number from 0 to 1, without 1."""
    digest = hashlib.sha256(word.casefold().encode()).digest()
    return int.from_bytes(digest[:4], "big") / (1 << 32)


def _cipher() -> dict[int, str]:
    """Return the table of the cipher, vowels to vowels and consonants to consonants.

    Words then look like words of a language.
    """
    generator = np.random.default_rng(SEED)
    table: dict[int, str] = {}
    for letters in ("aeiou", "".join(sorted(set(string.ascii_lowercase) - set("aeiou")))):
        # The letters are rotated, so no letter maps to itself.
        circle = [letters[place] for place in generator.permutation(len(letters))]
        for one, other in zip(circle, circle[1:] + circle[:1], strict=True):
            table |= {ord(one): other, ord(one.upper()): other.upper()}
    return table


_CIPHER = _cipher()


def pieces(
    bench: ExperimentBench, row: Row, pairs: list[Pair], config: TrainConfig
) -> dict[str, float]:
    """Return the overlap of the pieces of both sides, by the tokenizers of the row's model.

    Of separate vocabularies, pieces with the same spelling count as common.
    """
    model, _ = bench.model(bench.text(row["group"], row["name"], pairs), config)
    first, second = (Encoder.load(model, side=side).tokenizer for side in SIDES)
    if isinstance(first, MarkedTokenizer) and isinstance(second, MarkedTokenizer):
        second = MarkedTokenizer(first.tokenizer, 1, second.tokenizer, alike=True)
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    found = overlap(first, source, target, second)
    return {**asdict(found), "share": found.share}


def distances() -> dict[str, dict[str, float]]:
    """Return each column of the table of distances, by language."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader((one for one in lines if one[0] != "#"), delimiter="\t"))
    names = [name for name in rows[0] if name != "language"]
    return {name: {row["language"]: float(row[name]) for row in rows} for name in names}


def correlations(group: str, rows: list[Row]) -> dict[str, dict[str, Correlation]]:
    """Return Spearman's correlation of each column with the score over the languages of a group.

    Of `EVERY` also, as in P19's table 5, over the half with less and the half with more overlap.
    """
    measured = [row for row in rows if OVERLAP in row]
    if not measured:
        return {}
    scores = {row["name"]: row["figures"][SCORE]["value"] for row in measured}
    columns = {
        OVERLAP: {row["name"]: row[OVERLAP]["share"] for row in measured},
        ENGLISH_SHARED: {
            row["name"]: row[OVERLAP]["both"] / row[OVERLAP]["target"] for row in measured
        },
        **distances(),
    }
    found = {"": correlate(scores, columns)}
    if group.startswith(EVERY):
        median = float(np.median(list(columns[OVERLAP].values())))
        apart = correlate_apart(scores, columns, median).values()
        found |= zip((", less overlap", ", more overlap"), apart, strict=True)
    return found
