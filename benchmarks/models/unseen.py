"""Write the sentences of all test sets, to be excluded from the recipes' training text."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from miner.errors import NoTestSetError
from miner.evaluation.evaluated_model import SENTENCES, write_sentences
from miner.evaluation.suite import TASKS, sentences


def every_sentence(data: Path) -> Iterator[str]:
    """Yield the sentences of all test sets in ``data``, repeats included."""
    for name, task in TASKS.items():
        if name != "speed":  # it reuses the text of other sets
            with suppress(NoTestSetError):
                yield from sentences(data, [task])


@cache
def written(data: Path, directory: Path) -> Path:
    """Write them to a file in ``directory`` for ``miner train --without``, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / SENTENCES
    write_sentences(every_sentence(data), path)
    return path
