"""Sentences of the test sets of ``miner evaluate``, which the recipes are not trained on."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from miner.errors import NoTestSetError
from miner.evaluation.evaluated_model import SENTENCES, write_sentences
from miner.evaluation.suite import TASKS, sentences
from miner_train import selection


def every_sentence(data: Path) -> Iterator[str]:
    """Yield the sentences of all test sets that are there, repeats included."""
    for name, task in TASKS.items():
        if name != "speed":  # it has the text of the others
            with suppress(NoTestSetError):
                yield from sentences(data, [task])


@cache
def written(data: Path, directory: Path) -> tuple[Path, int]:
    """Write them to a file in ``directory`` for ``miner train --exclude``.

    Returns the file and the number of distinct folded sentences.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / SENTENCES
    write_sentences(every_sentence(data), path)
    return path, len(selection.read_excluded(str(path)))
