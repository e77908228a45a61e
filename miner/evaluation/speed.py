"""How many sentences a second become vectors, with and without cutting them into pieces.

The text is the English of the other evaluations in the directory, so that figures of two models on
one machine can be compared; those of two machines cannot. The median of several rounds; loading
and compiling are not counted.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any

from miner.encoder.encoder import Encoder
from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import bucc, sts, tatoeba
from miner.evaluation.results import Figure, Outcome
from miner.evaluation.subject import ENGLISH, Subject, Trained
from miner.progress import Reporter, silent

PLACE = "speed"
# What is encoded, at the most, so often and not longer than this in all; of slow models it is less.
SENTENCES, ROUNDS, SECONDS = 50_000, 5, 20.0
WARMING = 500


def sets(data: Path) -> list[ModuleType]:
    """The evaluations in ``data`` whose text is encoded. Raises CorpusError for none."""
    found = []
    for task in (bucc, tatoeba, sts):
        with suppress(NoTestSetError):
            task.sets(data)
            found.append(task)
    if not found:
        raise NoTestSetError(data, "those of bucc, tatoeba or sts")
    return found


def sample(data: Path) -> list[str]:
    """The first English sentences of the evaluations in ``data``, each once. Raises CorpusError."""
    lots = chain.from_iterable(task.texts(data) for task in sets(data))
    english = chain.from_iterable(lot for language, lot in lots if language == ENGLISH)
    found = list(islice(dict.fromkeys(english), SENTENCES))
    if not found:
        raise CorpusError(f"{data}: no English sentence to encode in bucc*, tatoeba or sts")
    return found


def evaluate(subject: Subject, data: Path, report: Reporter = silent) -> Outcome:
    """Sentences a second on one thread and on all.

    Nothing is found of vectors from elsewhere, whose making nobody can time. Raises CorpusError.
    """
    if not isinstance(subject, Trained):
        gone = f"{subject.name} holds vectors, not what makes them"
        return Outcome(PLACE, (), (), (gone,))
    text = sample(data)
    own = subject.encoder(ENGLISH)
    figures: list[Figure] = []
    more: dict[str, Any] = {"rounds": {}}
    threads = sorted({1, own.threads})
    for done, count in enumerate(threads):
        report(PLACE, done, len(threads))
        encoder = Encoder(own.model, count, own.device, own.side)
        text = text[: within(encoder, text)]
        name = f"{count} thread{'s' * (count > 1)}"
        for metric, work in works(encoder, text).items():
            rates = rounds(work, len(text))
            figures.append(Figure(name, metric, statistics.median(rates), len(text)))
            more["rounds"][f"{name}, {metric}"] = rates
    report(PLACE, len(threads), len(threads))
    words = sum(len(one.split()) for one in text) / len(text)
    notes = (f"English sentences of {words:.1f} words in the mean; the median of {ROUNDS} rounds",)
    more["mean words"] = round(words, 1)
    headline = tuple(figure for figure in figures if figure.metric == TO_VECTORS)
    return Outcome(PLACE, tuple(figures), headline, notes=notes, more=more)


TO_VECTORS = "sentences/s to vectors"


def works(encoder: Encoder, text: list[str]) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    found: dict[str, Callable[[], object]] = {TO_VECTORS: partial(encoder.encode, text)}
    if encoder.averages:
        ids, offsets = encoder.tokenizer(text)
        found["sentences/s pieces to vectors"] = partial(encoder.encode_pieces, ids, offsets, text)
    return found


def within(encoder: Encoder, text: list[str]) -> int:
    """How many sentences all rounds can encode in time; at least as many as warm it up."""
    begun = time.perf_counter()
    encoder.encode(text[:WARMING])  # compiles, too
    begun = time.perf_counter()
    encoder.encode(text[:WARMING])
    rate = len(text[:WARMING]) / (time.perf_counter() - begun)
    return min(len(text), max(WARMING, int(rate * SECONDS / ROUNDS)))


def rounds(work: Callable[[], object], sentences: int) -> list[float]:
    """Sentences a second of each round."""
    found = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        found.append(round(sentences / (time.perf_counter() - begun), 1))
    return found
