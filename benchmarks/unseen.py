"""What no benchmark is to train on: the sentences of the test sets of ``miner evaluate``."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from miner.errors import NoTestSetError
from miner.tasks.subject import SENTENCES, write_sentences
from miner.tasks.table import TASKS, sentences
from train import select

Pair = tuple[str, str]


def test_sentences(data: Path) -> Iterator[str]:
    """All sentences of all test sets that are there, as often as they stand there."""
    for name, task in TASKS.items():
        if name != "speed":  # it has the text of the others
            with suppress(NoTestSetError):
                yield from sentences(data, [task])


@cache
def excluded(data: Path) -> frozenset[str]:
    """What is :func:`~train.select.folded` of them."""
    return frozenset(map(select.folded, test_sentences(data))) - {""}


@cache
def written(data: Path, directory: Path) -> tuple[Path, int]:
    """A file of them in ``directory``, for ``miner train --exclude``; how many differ, folded."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / SENTENCES
    write_sentences(test_sentences(data), path)
    return path, len(select.read_excluded(str(path)))


def unseen(pairs: Sequence[Pair], data: Path) -> list[Pair]:
    """The pairs of which neither side is a test sentence, in their order."""
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    known = select.seen(sides, excluded(data)).tolist()
    return [pair for pair, gone in zip(pairs, known, strict=True) if not gone]
