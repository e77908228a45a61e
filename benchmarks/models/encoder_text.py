"""The text that the encoders train on: a draw of translations, and paraphrases by pivoting."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from miner import MinerError
from miner.text.bitext import read_bitext
from miner.text.output import open_output
from miner_train.data import fingerprint

SEED = 1
PAIRS = 100_000
# P17 cut there too. Longer ones are laws for the most part, and recurrent encoders take a step for
# every word.
LONGEST = 30
BILINGUAL = "fr-en"
PIVOTS = ("de-en", "fr-en", "es-en")

Pair = tuple[str, str]


@dataclass(frozen=True)
class Text:
    """Training text on disk, and what the results say of it."""

    name: str
    path: Path
    described: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        return str(self.described["fingerprint"])


def prepare(name: str, data: Path, work: Path, most: int = PAIRS) -> Text:
    """Draw the text ``fr-en`` or ``english`` into ``work``, unless the draw lies there already."""
    path = work / f"{name}.{most}.tsv"
    if not path.exists():
        found = bilingual(data) if name == BILINGUAL else paraphrases(data)
        drawn = draw(found, most)
        print(f"{name}: {len(drawn):,} of {len(found):,} pairs drawn into {path}", flush=True)
        work.mkdir(parents=True, exist_ok=True)
        with open_output(path) as file:
            file.writelines(f"{source}\t{target}\n" for source, target in drawn)
    bitext = read_bitext(path)
    words = [sum(len(one.split()) for one in side) for side in (bitext.source, bitext.target)]
    described = {
        "pairs": len(bitext),
        "mean words": [round(count / max(1, len(bitext)), 1) for count in words],
        "longest, words": LONGEST,
        "seed": SEED,
        "fingerprint": fingerprint(bitext.source, bitext.target),
    }
    return Text(name, path, described)


def draw(pairs: list[Pair], most: int) -> list[Pair]:
    """At most ``most`` of ``pairs``, in an order that the seed and their order decide."""
    order = np.random.default_rng(SEED).permutation(len(pairs))
    return [pairs[place] for place in order[:most].tolist()]


def bilingual(data: Path) -> list[Pair]:
    """All distinct pairs of French and English that are short enough on both sides."""
    files = sorted((data / "train" / BILINGUAL).glob("*.tsv*"))
    if not files:
        raise MinerError(f"{data / 'train' / BILINGUAL}: no training text (*.tsv, or compressed)")
    return list(dict.fromkeys(pair for file in files for pair in _pairs(file) if short(pair)))


def paraphrases(data: Path) -> list[Pair]:
    """Distinct pairs of English sentences that translate one and the same foreign sentence."""
    found: dict[Pair, None] = {}
    for languages in PIVOTS:
        for file in sorted((data / "train" / languages).glob("tatoeba.tsv*")):
            found.update(dict.fromkeys(pair for pair in pivot(_pairs(file)) if short(pair)))
    if not found:
        raise MinerError(f"{data / 'train'}: no foreign sentence of tatoeba.tsv has two meanings")
    return list(found)


def pivot(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Every two translations of one source sentence, in the order of the alphabet.

    Translations that differ in case, spaces or punctuation alone are one.
    """
    translations: dict[str, dict[str, str]] = defaultdict(dict)
    for source, target in pairs:
        folded = "".join(filter(str.isalnum, target.casefold()))
        translations[source].setdefault(folded, target)
    for distinct in translations.values():
        yield from combinations(sorted(distinct.values()), 2)


def short(pair: Pair) -> bool:
    return all(len(side.split()) <= LONGEST for side in pair)


def _pairs(file: Path) -> Iterator[Pair]:
    bitext = read_bitext(file)
    return zip(bitext.source, bitext.target, strict=True)
