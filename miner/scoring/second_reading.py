"""Stage of the second opinion that reads: vectors of the sentences in doubt, each encoded once.

Mining, scoring and alignment choose the sentences; their tasks name them by rows of a text. A
stopped run goes on with the next span of rows, and vectors of an earlier run are used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from miner.config_fields import SettingsError
from miner.encoder.encoder_ref import EncoderRef, lent
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.loading import USUAL, Loading
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, ResourceError
from miner.json_files import read_json
from miner.option_values import SIDES
from miner.progress import silent
from miner.scoring.second_opinion import constants
from miner.tasks.record import record
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints
from miner.text_table import count_of

# Rows of a text whose sentences in doubt are read by one task, whatever the parts of the run.
SPAN = 1 << 14
# Sentences that are encoded between two reports.
TOGETHER = 64


# Encoder of a second opinion: a model, its name, or any object that encodes; None for none.
Second = SentenceEncoder | str | Path | Any | None


@dataclass(frozen=True)
class SecondReader:
    """Second encoder for the text of both sides, and the maximum pairs that it may read.

    ``constants`` of the second opinion are for the fingerprints of tasks.
    """

    models: tuple[EncoderRef, EncoderRef]
    most: int | None = None
    constants: dict[str, Any] = field(default_factory=constants)


@dataclass(frozen=True)
class Asked:
    """Cost of a second opinion: ``sentences`` of ``total`` were read, for ``pairs`` in doubt.

    ``seconds`` of one core were spent on sentences that no earlier run had read.
    """

    pairs: int
    sentences: int
    total: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{count_of(self.pairs, 'pair')} in doubt, {count_of(self.sentences, 'sentence')} read "
            f"({self.sentences / max(self.total, 1):.1%} of all), {self.seconds:,.0f} core-seconds"
        )


class Text(Protocol):
    """Protocol of what a task reads sentences from, by their rows."""

    def sentences(self, rows: np.ndarray) -> Sequence[str]: ...


@dataclass(frozen=True)
class KeptText:
    """Sentences in a JSON file of a task's result: by position, or by its array ``rows``."""

    task: Result
    file: str
    rows: str | None = None

    def sentences(self, rows: np.ndarray) -> Sequence[str]:
        sentences = read_json(self.task.path / self.file)
        places = rows if self.rows is None else np.searchsorted(self.task.array(self.rows), rows)
        return [sentences[position] for position in places.tolist()]


class Doubted(NamedTuple):
    """A text with sentences in doubt, the digest of its content, and the encoder that reads it."""

    text: Text
    digest: str
    model: EncoderRef


@dataclass(frozen=True)
class Share:
    """Rows of a text that one task reads, ``first`` of ``total`` sentences being read before."""

    span: tuple[int, int]
    first: int = field(metadata={"decides": False})
    total: int = field(metadata={"decides": False})


def open_second(
    second: Second,
    threads: int | None = None,
    device: str = "auto",
    loading: Loading = USUAL,
) -> tuple[SentenceEncoder, SentenceEncoder]:
    """Open the encoder of a second opinion for both sides: a model, or an object that encodes.

    Raises ArtifactError, DependencyError, ResourceError, and TypeError for other objects.
    """
    if isinstance(second, str | Path):
        second = open_encoder(second, threads, device, SIDES[0], loading)
    encoder = as_encoder(second)
    return encoder.on_side(SIDES[0]), encoder.on_side(SIDES[1])


@contextmanager
def opened_second(
    second: Second,
    threads: int | None = None,
    note: Callable[[str], None] = silent,
    most: int | None = None,
) -> Iterator[SecondReader | None]:
    """Open the encoder of a second opinion, if there is one, and lend it to the tasks of a block.

    Yields the reader of at most ``most`` pairs. ``note`` takes the encoder's facts, and in the end
    its warnings. Raises SettingsError for ``most`` without an encoder.
    """
    if second is None:
        if most is not None:
            raise SettingsError("the number of pairs is for a second opinion (--second MODEL)")
        yield None
        return
    both = open_second(second, threads)
    for fact in both[0].facts():
        note(fact)
    with lent(*both):
        yield SecondReader((EncoderRef.of(both[0]), EncoderRef.of(both[1])), most)
    for warning in both[0].warnings():
        note(f"warning: {warning}")


def read_all(
    run: Run, doubts: Result, texts: Mapping[str, Doubted], prefix: str = ""
) -> dict[str, list[Result]]:
    """Register the encoding of the sentences in doubt of all texts, by the texts' names.

    The array of a text's name in ``doubts``, which is done, has the rows.
    """
    rows = {name: doubts.array(name) for name in texts}
    total, first = sum(map(len, rows.values())), 0
    results = {}
    for name, (text, digest, model) in texts.items():
        calls = {}
        for number in np.unique(rows[name] // SPAN).tolist():
            span = number * SPAN, (number + 1) * SPAN
            size = int(np.diff(np.searchsorted(rows[name], span))[0])
            share = Share(span, first, total)
            calls[f"{prefix}{name}-{number:04}"] = Call({"share": share}, size)
            first += size
        shared: dict[str, Any] = {"doubts": doubts, "side": name, "text": text}
        results[name] = run.stage("second", read, calls, **shared, of=digest, model=model)
    return results


def seconds_of(vectors: Mapping[str, list[Result]]) -> float:
    """Return the seconds of one core that reading took, without what earlier runs had read."""
    tasks = [task for results in vectors.values() for task in results]
    return float(sum(task.record["core seconds"] for task in tasks if task.value["read"]))


def joined(vectors: Mapping[str, list[Result]]) -> dict[str, np.ndarray]:
    """Return the vectors of all sentences in doubt, ``(n, d) float16``, by text."""
    parts = {name: [task.array("vectors") for task in results] for name, results in vectors.items()}
    width = max([part.shape[1] for results in parts.values() for part in results], default=1)
    empty = np.empty((0, width), np.float16)
    return {name: np.concatenate([empty, *results]) for name, results in parts.items()}


@hints(seconds=0.04, memory=4000)
def read(
    job: Job, doubts: Result, side: str, share: Share, text: Text, of: str, model: EncoderRef
) -> dict[str, Any]:
    """Encode the sentences in doubt of a span of rows; those that are known are not read again.

    ``of`` is a digest of the text.
    """
    rows = doubts.array(side)
    rows = rows[slice(*np.searchsorted(rows, share.span))]
    origin = {"of": of, "model": model.fingerprint, "span": list(share.span)}
    encoder = model.open(job.threads)
    vectors = np.zeros((len(rows), encoder.dimension), dtype=np.float16)
    todo = np.ones(len(rows), dtype=bool)
    for known, before in _before(job, origin):
        positions = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        there = known[positions] == rows
        vectors[there], todo[there] = before[positions[there]], False
    places = np.flatnonzero(todo)
    sentences = text.sentences(rows[places])
    done = share.first + len(rows) - len(places)
    for some, block in encoded(encoder, sentences):
        vectors[places[some]] = block
        done += len(some)
        job.report("second opinion", done, share.total)
    job.save(rows=np.asarray(rows), vectors=vectors)
    return {"made": origin, "read": len(places)}


def encoded(
    encoder: SentenceEncoder, sentences: Sequence[str]
) -> Iterator[tuple[list[int], np.ndarray]]:
    """Yield positions and vectors of sentences, some at a time.

    Raises ResourceError for a faulty encoder: so the results of a run stay.
    """
    # By length: a batch of sentences as long as each other is padded least.
    order = sorted(range(len(sentences)), key=lambda i: (len(sentences[i]), i))
    for start in range(0, len(order), TOGETHER):
        some = order[start : start + TOGETHER]
        try:
            yield some, encoder.encode([sentences[i] for i in some])
        except ArtifactError as error:  # the machine's lack: the results so far stay
            raise ResourceError(f"{error}; the second opinion was not asked for") from None


def _before(job: Job, origin: dict[str, Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows and vectors of an earlier result of the same text and model."""
    if job.before is None:
        return
    earlier = record(job.before.parent, job.before.name)["result"]
    if earlier.get("made") == origin:
        before = Result(str(job.before.parent), job.before.name, "")
        if len(rows := before.array("rows")):
            yield rows, before.array("vectors")
