"""Encoding throughput in sentences/s, from text to vectors and from token ids to vectors.

The text is the English of the other evaluations in the directory, so that two models can be
compared on one machine; figures of two machines cannot be compared. Each value is the median of
several rounds; loading and compiling are not counted.
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

from miner import extensions
from miner.encoder.encoder import Encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import bucc, tatoeba
from miner.evaluation.evaluated_model import EvaluatedModel, MinerModel
from miner.evaluation.results import Metric, TaskResult
from miner.machine import thread_count
from miner.progress import Reporter, counted, silent
from miner.text.language_codes import ENGLISH

TASK = "speed"
# Maximum sentences of a round; rounds; maximum seconds of all rounds, for slow models.
SENTENCES, ROUNDS, SECONDS = 50_000, 5, 20.0
WARM_UP = 500
TEXT_TO_VECTORS = "sentences/s to vectors"
IDS_TO_VECTORS = "sentences/s pieces to vectors"


def further() -> list[ModuleType]:
    """Return the evaluations that other packages add."""
    names = extensions.names(extensions.EVALUATIONS)
    return [extensions.load(extensions.EVALUATIONS, name) for name in names]


def sets(data: Path) -> list[ModuleType]:
    """Return the evaluations in ``data`` whose text is encoded. Raises CorpusError if there are
    none.
    """
    tasks = []
    for task in (bucc, tatoeba, *further()):
        with suppress(NoTestSetError):
            task.sets(data)
            tasks.append(task)
    if not tasks:
        raise NoTestSetError(data, "bucc or tatoeba")
    return tasks


def sample(data: Path) -> list[str]:
    """Return the first distinct English sentences of the evaluations. Raises CorpusError."""
    lots = chain.from_iterable(task.texts(data) for task in sets(data))
    english = chain.from_iterable(lot for language, lot in lots if language == ENGLISH)
    sentences = list(islice(dict.fromkeys(english), SENTENCES))
    if not sentences:
        raise CorpusError(f"{data}: no English sentence to encode in bucc* or tatoeba")
    return sentences


def evaluate(model: EvaluatedModel, data: Path, report: Reporter = silent) -> TaskResult:
    """Measure sentences/s on one thread and on all threads.

    Precomputed vectors have no speed, so their result has no metrics. Raises CorpusError.
    """
    if not isinstance(model, MinerModel):
        return TaskResult(TASK, (), (), (f"{model.name} holds vectors without an encoder to time",))
    text = sample(data)
    opened = model.encoder(ENGLISH)
    metrics: list[Metric] = []
    more: dict[str, Any] = {"rounds": {}}
    # An encoder of another library keeps its number of threads.
    threads = sorted({1, opened.threads}) if isinstance(opened, Encoder) else [thread_count(None)]
    for count in counted(TASK, threads, report):
        encoder: SentenceEncoder = opened
        if isinstance(opened, Encoder):
            encoder = Encoder(opened.model, count, opened.device, opened.side)
        text = text[: sentences_in_time(encoder, text)]
        name = f"{count} thread{'s' * (count > 1)}"
        for metric, work in timed_work(encoder, text).items():
            rates = rates_of(work, len(text))
            metrics.append(Metric(name, metric, statistics.median(rates), len(text)))
            more["rounds"][f"{name}, {metric}"] = rates
    words = sum(len(sentence.split()) for sentence in text) / len(text)
    notes = (f"English sentences of {words:.1f} words in the mean; the median of {ROUNDS} rounds",)
    more["mean words"] = round(words, 1)
    headline = tuple(metric for metric in metrics if metric.name == TEXT_TO_VECTORS)
    return TaskResult(TASK, tuple(metrics), headline, notes=notes, more=more)


def timed_work(encoder: SentenceEncoder, text: list[str]) -> dict[str, Callable[[], object]]:
    """Return the functions to time, by the name of their metric."""
    functions: dict[str, Callable[[], object]] = {TEXT_TO_VECTORS: partial(encoder.encode, text)}
    if isinstance(encoder, Encoder) and encoder.averages:
        ids, offsets = encoder.tokenizer(text)
        functions[IDS_TO_VECTORS] = partial(encoder.encode_pieces, ids, offsets, text)
    return functions


def sentences_in_time(encoder: SentenceEncoder, text: list[str]) -> int:
    """Number of sentences that fit in the time budget (never fewer than the warm-up needs)."""
    encoder.encode(text[:WARM_UP])  # also compiles the loops
    begun = time.perf_counter()
    encoder.encode(text[:WARM_UP])
    rate = len(text[:WARM_UP]) / (time.perf_counter() - begun)
    return min(len(text), max(WARM_UP, int(rate * SECONDS / ROUNDS)))


def rates_of(work: Callable[[], object], sentences: int) -> list[float]:
    """Time every round of ``work`` on ``sentences`` sentences, in sentences/s."""
    rates = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        rates.append(round(sentences / (time.perf_counter() - begun), 1))
    return rates
