"""Training text of the model benchmarks: translations, paraphrases by pivoting, noisy pools.

All text has at most 30 words a side, as in P18, and no pair twice. Samples depend on one seed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# P18's limit. Longer sentences are mostly laws, and recurrent encoders need a step per token.
LONGEST = 30
BILINGUAL, ENGLISH = "fr-en", "english"
PIVOTS = ("de-en", "fr-en", "es-en")
# Acts and regulations paired by their position in the law; some of these pairs are wrong.
POSITIONAL = "fr-en.laws-positional.tsv*"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Text:
    """Training text on disk, and its description for the results."""

    name: str
    path: Path
    described: dict[str, Any]


def sources(data: Path, languages: str) -> dict[str, list[Pair]]:
    """Return the short distinct pairs of every source of two languages, by its name."""
    files = sorted((data / "train" / languages).glob("*.tsv*"))
    if not files:
        raise MinerError(f"{data / 'train' / languages}: no training text (*.tsv, or compressed)")
    return {file.name.split(".tsv")[0]: read_short(file) for file in files}


def bilingual(data: Path) -> list[Pair]:
    """Return the short distinct pairs of all sources of French and English."""
    return together(sources(data, BILINGUAL).values())


def paraphrases(data: Path) -> list[Pair]:
    """Return distinct pairs of English sentences that translate the same foreign sentence."""
    found: dict[Pair, None] = {}
    for languages in PIVOTS:
        for file in sorted((data / "train" / languages).glob("tatoeba.tsv*")):
            found.update(dict.fromkeys(pair for pair in pivot(read_pairs(file)) if short(pair)))
    if not found:
        raise MinerError(f"{data / 'train'}: no foreign sentence of tatoeba.tsv has two meanings")
    return list(found)


def pivot(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield every two translations of one source sentence, in alphabetical order.

    Translations that differ only in case, spaces or punctuation count as one.
    """
    translations: dict[str, dict[str, str]] = defaultdict(dict)
    for source, target in pairs:
        folded = "".join(filter(str.isalnum, target.casefold()))
        translations[source].setdefault(folded, target)
    for distinct in translations.values():
        yield from combinations(sorted(distinct.values()), 2)


def noisy(data: Path) -> list[Pair]:
    """Return the pairs of acts and regulations, some of them misaligned."""
    files = sorted((data / "noisy").glob(POSITIONAL))
    if not files:
        raise MinerError(f"{data / 'noisy'}: no {POSITIONAL.rstrip('*')}, plain or compressed")
    return read_short(files[0])


def half_noisy(data: Path) -> list[Pair]:
    """Return the noisy pairs and as many pairs of all clean sources, shuffled."""
    laws = noisy(data)
    clean = draw(bilingual(data), len(laws))
    return draw(together((laws, clean)), len(laws) + len(clean))


# Pools that filters choose from.
POOLS = {"laws-positional": noisy, "half noisy": half_noisy, ENGLISH: paraphrases}


def read_pairs(file: Path) -> Iterator[Pair]:
    """Return the pairs of a file."""
    bitext = read_bitext(file)
    return zip(bitext.source, bitext.target, strict=True)


def read_short(file: Path) -> list[Pair]:
    """Return the short distinct pairs of a file, in its order."""
    return list(dict.fromkeys(filter(short, read_pairs(file))))


def short(pair: Pair) -> bool:
    return all(len(side.split()) <= LONGEST for side in pair)


def together(parts: Iterable[Sequence[Pair]]) -> list[Pair]:
    """Return the distinct pairs of all parts, in their order."""
    return list(dict.fromkeys(pair for part in parts for pair in part))


def mixed(parts: Mapping[str, Sequence[Pair]], most: int) -> list[Pair]:
    """Sample at most ``most`` pairs, equally many of each part."""
    share, more = divmod(most, len(parts))
    drawn = [draw(part, share + (place < more)) for place, part in enumerate(parts.values())]
    return together(drawn)


def draw(pairs: Sequence[Pair], most: int) -> list[Pair]:
    """Sample at most ``most`` pairs; the seed and the order of ``pairs`` decide which."""
    order = np.random.default_rng(SEED).permutation(len(pairs))
    return [pairs[place] for place in order[:most].tolist()]


def written(name: str, pairs: Sequence[Pair], work: Path) -> Text:
    """Write pairs to a file for training, unless the same file exists."""
    if not pairs:
        raise MinerError(f"{name}: no pair is left to train on")
    source, target = ([pair[side] for pair in pairs] for side in (0, 1))
    mark = fingerprint(source, target)
    plain = re.sub(r"[^\w.-]+", "-", name)
    path = work / f"{plain}.{mark[:12]}.tsv"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        with open_output(path) as file:
            file.writelines(f"{source}\t{target}\n" for source, target in pairs)
    words = [sum(len(text.split()) for text in side) for side in (source, target)]
    described = {
        "pairs": len(pairs),
        "mean words": [round(count / len(pairs), 1) for count in words],
        "longest, words": LONGEST,
        "seed": SEED,
        "fingerprint": mark,
    }
    return Text(path.stem, path, described)
