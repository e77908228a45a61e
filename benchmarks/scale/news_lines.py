"""Text of the benchmarks of scale: the German and English lines of the BUCC-style sets."""

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from miner.evaluation.mining_sets import SPLITS
from miner.text.corpus import CorpusReader

LANGUAGES = ("de", "en")


def write_sides(data: Path, place: Path, lines: int) -> list[Path]:
    """Write ``count`` lines of each language to ``place``, the training split first."""
    paths = []
    for language in LANGUAGES:
        found = chain.from_iterable(_sentences(data, split, language) for split in SPLITS)
        paths.append(place / language)
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.writelines(f"{sentence}\n" for sentence in islice(found, lines))
    return paths


def _sentences(data: Path, split: str, language: str) -> Iterator[str]:
    path = data / "bucc-style/de-en" / f"de-en.{split}.{language}.xz"
    for block in CorpusReader(path, format="bucc"):
        yield from block.sentences
