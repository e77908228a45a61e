"""Corpus whose half is noise, and the sets that test its translators.

Clean text is that of sources that may not ship, so that no model of ours, nor its bounds, saw it.
Test sentences are dropped from it. The shares of the kinds of noise follow the reading of raw
ParaCrawl by Khayrallah and Koehn (2018): misaligned pairs are the most, then text of one language
on both sides. Kinds of `noise.py` stand for theirs; boilerplate and text without words are missing.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.filtering.noise import KINDS, Pair
from benchmarks.filtering.noisy_text import Mixture, mix, one, whole
from benchmarks.mining.precision_reached import bucc_style
from miner.text.bitext import read_bitext
from miner.text.corpus import read

SOURCES = {
    "de-en": (
        *("multi30k", "wesnoth", "andors-trail", "pixel-dungeon", "colobot", "freeciv"),
        *("wmt-sample", "acquis", "emea", "kde4", "javascript-info", "progit1", "progit2"),
    ),
    "cs-en": (
        *("multi30k", "wesnoth", "andors-trail", "pixel-dungeon", "colobot", "freeciv"),
        *("newstest", "wmt21-23", "javascript-info", "progit1"),
    ),
}
# Shares of the noise in hundredths.
SHARES = {
    "misaligned": 18,
    "misaligned, equal length": 12,
    "next pair's target": 18,
    "copied": 20,
    "wrong language": 6,
    "truncated": 8,
    "over-translated": 5,
    "under-translated": 5,
    "words shuffled": 4,
    "number changed": 2,
    "name swapped": 2,
}
# Most words of a side of a pair, and most pairs of a test set.
WORDS, TEST = 40, 500


def test_sets(data: Path, languages: str) -> dict[str, list[Pair]]:
    """Return test sets by name; none is in the training text of a model of ours."""
    train = data / "train" / languages
    if languages == "de-en":
        sides, gold = bucc_style(data / "bucc-style", languages, "test")
        captions = one(data / "heldout", "de-en.multi30k-test_2016_flickr.tsv")
        return {
            "captions": _pairs(captions)[:TEST],
            "news": [(sides[0][n], sides[1][m]) for n, m in sorted(gold)][:TEST],
            "talks": _pairs(one(train, "iwslt.tsv"))[:TEST],
        }
    return {
        "captions": _pairs(one(train, "multi30k.tsv"))[-TEST:],
        "news": _pairs(one(train, "wmt24.tsv"))[:TEST],
    }


def noisy_corpus(
    data: Path, languages: str, tests: Sequence[Pair], sources: Sequence[str]
) -> Mixture:
    """Return the clean text of ``sources`` with one half corrupted."""
    held = {_key(side) for pair in tests for side in pair}
    pairs, documents = [], []
    for name in sources:
        for pair in _pairs(one(data / "train" / languages, f"{name}.tsv")):
            words = [len(side.split()) for side in pair]
            if max(words) <= WORDS and not held.intersection(map(_key, pair)):
                pairs.append(pair)
                documents.append(name)
    third = read(one(data / "bucc-style", "fr-en/fr-en.training.fr"), format="bucc").sentences
    return mix([whole(pairs, documents, third)], KINDS, weights=SHARES)


def _pairs(path: Path) -> list[Pair]:
    bitext = read_bitext(path)
    return list(zip(bitext.source, bitext.target, strict=True))


def _key(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
