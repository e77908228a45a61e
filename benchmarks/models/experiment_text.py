"""The text of the experiments: sources, pools with noise in them, and drawn parts of both.

All of it has at most 30 words a side, as in P17, and no pair twice.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.models.encoder_text import (
    BILINGUAL,
    LONGEST,
    SEED,
    Pair,
    Text,
    draw,
    paraphrases,
    short,
)
from miner import MinerError
from miner.text.bitext import read_bitext
from miner.text.output import open_output
from miner_train.data import fingerprint

ENGLISH = "english"
# Acts and regulations paired by their place in the law, some of them wrongly.
POSITIONAL = "fr-en.laws-positional.tsv*"


def sources(data: Path, languages: str) -> dict[str, list[Pair]]:
    """The short distinct pairs of every source of two languages, by its name."""
    files = sorted((data / "train" / languages).glob("*.tsv*"))
    if not files:
        raise MinerError(f"{data / 'train' / languages}: no training text (*.tsv, or compressed)")
    return {file.name.split(".tsv")[0]: read(file) for file in files}


def read(file: Path) -> list[Pair]:
    """The short distinct pairs of a file, in its order."""
    bitext = read_bitext(file)
    pairs = zip(bitext.source, bitext.target, strict=True)
    return list(dict.fromkeys(pair for pair in pairs if short(pair)))


def together(parts: Iterable[Sequence[Pair]]) -> list[Pair]:
    """The distinct pairs of all parts, in their order."""
    return list(dict.fromkeys(pair for part in parts for pair in part))


def mixed(parts: Mapping[str, Sequence[Pair]], most: int) -> list[Pair]:
    """At most ``most`` pairs, drawn from all parts, from each equally many."""
    share, more = divmod(most, len(parts))
    drawn = [draw(list(part), share + (place < more)) for place, part in enumerate(parts.values())]
    return together(drawn)


def noisy(data: Path) -> list[Pair]:
    """Acts and regulations, real and partly misaligned."""
    files = sorted((data / "noisy").glob(POSITIONAL))
    if not files:
        raise MinerError(f"{data / 'noisy'}: no {POSITIONAL.rstrip('*')}, plain or compressed")
    return read(files[0])


def half_noisy(data: Path) -> list[Pair]:
    """Return the pairs of each source, and as many of all clean sources, shuffled by the seed."""
    laws = noisy(data)
    clean = draw(together(sources(data, BILINGUAL).values()), len(laws))
    return draw(together((laws, clean)), len(laws) + len(clean))


# What there is to choose from: French and English, or paraphrases.
POOLS = {"laws-positional": noisy, "half noisy": half_noisy, ENGLISH: paraphrases}


def written(name: str, pairs: Sequence[Pair], work: Path) -> Text:
    """Put pairs on disk, where training finds them, unless they lie there."""
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
