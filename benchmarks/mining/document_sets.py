"""Collections of documents with known pairs: pieces of laws, and pages of one template."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from miner.text.bitext import read_bitext

FILE = "fr-en.laws.tsv.xz"
Pair = tuple[str, str]
# Lines of a page, and index of a line that is never dropped.
Page = tuple[list[Pair], int]
# Lines of a document; share of the documents on both sides, and on one side alone.
LINES, BOTH, ALONE = 12, 0.6, 0.2
# Templates, pages of each template, and share of a page's lines that are dropped.
TEMPLATES, PAGES, DROPPED = 24, 25, 0.1
_NUMBER = re.compile(r"(?<![\d.,])\d{1,4}(?![\d.,])")


class Collections(NamedTuple):
    """Documents of both sides by their ids, which a document and its translation share."""

    source: dict[str, list[str]]
    target: dict[str, list[str]]

    @property
    def shared(self) -> int:
        return len(self.source.keys() & self.target.keys())

    def write(self, place: Path) -> list[Path]:
        """Write both sides as JSONL; return the files."""
        files = [place / "source.jsonl", place / "target.jsonl"]
        for path, documents in zip(files, self, strict=True):
            with open(path, "w", encoding="utf-8") as file:
                for name, lines in documents.items():
                    file.write(json.dumps({"id": name, "text": "\n".join(lines)}) + "\n")
        return files


def laws(data: Path, split: int) -> list[list[Pair]]:
    """Return pieces of ``LINES`` lines of half of the laws; ``split`` is 0 to tune on, else 1."""
    bitext = read_bitext(data / "heldout" / FILE, more=[3])
    by_law: dict[str, list[Pair]] = {}
    for source, target, (law,) in zip(bitext.source, bitext.target, bitext.more, strict=True):
        if zlib.crc32(law.encode()) % 2 == split:
            by_law.setdefault(law, []).append((source, target))
    return [
        lines[start : start + LINES]
        for _, lines in sorted(by_law.items())
        for start in range(0, len(lines) - LINES + 1, LINES)
    ]


def noisy_laws(pieces: Sequence[list[Pair]], noise: float, seed: int) -> Collections:
    """Drop a share of the lines of each document on each side, and add as many foreign ones."""
    random = Random(seed)
    foreign = [pair for piece in pieces for pair in piece]

    def noisy(piece: list[Pair], side: int) -> list[str]:
        dropped = round(noise * len(piece))
        kept = sorted(random.sample(range(len(piece)), len(piece) - dropped))
        lines = [piece[place][side] for place in kept]
        for _ in range(dropped):
            lines.insert(random.randint(0, len(lines)), random.choice(foreign)[side])
        return lines

    return _divided(pieces, noisy, random)


def numbered_pages(pieces: Sequence[list[Pair]], seed: int) -> Collections:
    """Make pages of templates that differ in one number, which both sides have."""
    random = Random(seed)
    pages: list[Page] = []
    for piece in random.sample(pieces, len(pieces)):
        place = next((place for place, pair in enumerate(piece) if _has_one_number(pair)), None)
        if place is None:
            continue
        for number in random.sample(range(1, 10_000), PAGES):
            source, target = (_NUMBER.sub(str(number), text) for text in piece[place])
            pages.append(([*piece[:place], (source, target), *piece[place + 1 :]], place))
        if len(pages) == TEMPLATES * PAGES:
            break
    return _divided(pages, partial(_shortened, random), random)


def boilerplate_pages(pieces: Sequence[list[Pair]], seed: int) -> Collections:
    """Make pages that share eight of twelve lines with all pages of a site."""
    random = Random(seed)
    chosen = random.sample(pieces, len(pieces))
    frames, lines = chosen[:TEMPLATES], [pair for piece in chosen[TEMPLATES:] for pair in piece]
    pages: list[Page] = []
    for number in range(TEMPLATES * PAGES):
        frame, own = frames[number // PAGES], lines[4 * number : 4 * number + 4]
        pages.append(([*frame[:4], *own, *frame[4:8]], 4))
    return _divided(pages, partial(_shortened, random), random)


def _shortened(random: Random, page: Page, side: int) -> list[str]:
    """Drop some lines of a page on one side, except the one at its fixed index."""
    lines, place = page
    kept = (pair for at, pair in enumerate(lines) if at == place or random.random() >= DROPPED)
    return [pair[side] for pair in kept]


def _has_one_number(pair: Pair) -> bool:
    source, target = (_NUMBER.findall(text) for text in pair)
    return len(source) == 1 and source == target


def _divided(
    documents: Sequence[Any], made: Callable[[Any, int], list[str]], random: Random
) -> Collections:
    """Put documents on both sides or on one; ``made(document, side)`` returns its lines."""
    order = random.sample(range(len(documents)), len(documents))
    both, alone = round(BOTH * len(order)), round(ALONE * len(order))
    sides = order[: both + alone], order[:both] + order[both + alone : both + 2 * alone]
    found = []
    for side, own in enumerate(sides):
        names = random.sample(own, len(own))
        found.append({str(name): made(documents[name], side) for name in names})
    return Collections(*found)
