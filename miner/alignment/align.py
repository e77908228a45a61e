"""Alignment in one call: pairs of documents to pairs of sentences, in the order of the documents.

Each pair of documents is aligned by a task of its own, small ones by the same task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.alignment.beads import Beads, Weights, decode
from miner.alignment.fine import likely
from miner.alignment.ladder import write_ladder
from miner.alignment.lattice import Lattice, Side
from miner.encoder.entries import Entry, lent
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.index.text_files import stamp
from miner.knn.settings import SearchSettings
from miner.mining.mine import load_encoder, own_means
from miner.progress import Reporter, silent
from miner.scoring.languages import identify, sample
from miner.scoring.quality import NAME, Quality
from miner.scoring.verifier import Languages, verifier_of
from miner.tasks.run import Call, open_run
from miner.tasks.task import Job, Result, hints
from miner.tasks.workers import Workers
from miner.text.corpus import Reader
from miner.text.output import one_line, open_output
from miner.text.remote import is_remote

# Bytes of text that one task aligns at least, if there are so many.
BATCH = 1 << 20
NEIGHBORS = 4
# Share of the likely pairs that documents of one order have in order, and the least pairs to tell.
ORDERED, FEWEST = 0.6, 20
# Characters of a line that is hardly one sentence.
LONG = 5000

Paths = tuple[str, str]


@dataclass(frozen=True)
class Document:
    """Sentences of a document, and the number of each one's line, from 0."""

    texts: list[str]
    lines: np.ndarray

    @classmethod
    def read(cls, path: str) -> Document:
        """Read a file, a sentence a line; lines without text are left out. Raises CorpusError."""
        blocks = list(Reader(path))
        lines = [block.lines - 1 for block in blocks]
        texts = [text for block in blocks for text in block.sentences]
        return cls(texts, np.concatenate([np.zeros(0, np.int64), *lines]))


@dataclass(frozen=True)
class AlignedPair:
    """Beads of two documents, ``names``; only beads of at least ``threshold`` count."""

    names: Paths
    documents: tuple[Document, Document]
    beads: Beads
    threshold: float | None = None

    def rows(self, *, unaligned: bool = False) -> Iterator[tuple[float, str, str, str, str]]:
        """Yield probability, both texts, and both lists of line numbers, of each bead.

        Several sentences are joined by a space. ``unaligned``: with beads of one side alone.
        """
        source, target = self.documents
        for (i, j, k, m), probability in zip(
            self.beads.spans.tolist(), self.beads.probability.tolist(), strict=True
        ):
            kept = i < j and k < m and probability >= (self.threshold or 0)
            if kept or (unaligned and not (i < j and k < m)):
                texts = _joined(source.texts[i:j]), _joined(target.texts[k:m])
                yield probability, *texts, _numbers(source, i, j), _numbers(target, k, m)


def _joined(texts: list[str]) -> str:
    return " ".join(text.strip() for text in texts)


def _numbers(document: Document, start: int, end: int) -> str:
    return ",".join(map(str, document.lines[start:end].tolist()))


@dataclass(frozen=True)
class Aligned:
    """The result of :func:`align`: the beads of each pair of documents, and what was noted."""

    pairs: list[AlignedPair]
    threshold: float | None
    notes: tuple[str, ...]

    def __len__(self) -> int:
        """The number of beads kept, with sentences on both sides."""
        return sum(len(_probabilities(pair.beads, self.threshold)) for pair in self.pairs)

    @property
    def precision(self) -> float | None:
        """Estimated precision of the beads kept: the mean of their probabilities."""
        kept = [_probabilities(pair.beads, self.threshold) for pair in self.pairs]
        return float(np.concatenate(kept).mean()) if len(self) else None

    def write(self, path: str | Path, *, lines: bool = False, unaligned: bool = False) -> None:
        """Write the beads kept as TSV, or as a ladder of all beads where the path ends so.

        Columns: probability, source, target; with ``lines`` both documents and both lists of line
        numbers, from 0. Raises ResourceError.
        """
        if str(path).endswith(".ladder"):
            [pair] = self.pairs
            return write_ladder(path, (row[3:] for row in pair.rows(unaligned=True)))
        with open_output(path) as out:
            for pair in self.pairs:
                for score, source, target, *numbers in pair.rows(unaligned=unaligned):
                    cells = [f"{score:.4f}", source, target]
                    if lines:
                        cells += [pair.names[0], numbers[0], pair.names[1], numbers[1]]
                    out.write("\t".join(map(one_line, cells)) + "\n")


def align(
    source: str | Path | Sequence[str | Path],
    target: str | Path | Sequence[str | Path],
    *,
    encoder: SentenceEncoder | None = None,
    settings: SearchSettings = SearchSettings(),
    threshold: float | None = None,
    target_precision: float | None = None,
    coarse: bool = False,
    work: str | Path | None = None,
    beside: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
    then: Callable[[Aligned], None] = silent,
) -> Aligned:
    """Align the sentences of two documents, or of lists of documents, the first with the first.

    A document is a file with a sentence a line. ``threshold`` is the least probability to keep;
    ``target_precision`` chooses it such that the mean of the probabilities is at least this.
    ``coarse`` leaves out the second stage. ``settings`` says memory, threads and languages.
    ``then`` receives the result before the work directory goes. Others are as for
    :func:`miner.mine`. Raises CorpusError, ArtifactError, ResourceError.
    """
    sides = [
        [str(source)] if isinstance(source, str | Path) else [*map(str, source)],
        [str(target)] if isinstance(target, str | Path) else [*map(str, target)],
    ]
    if len(sides[0]) != len(sides[1]):
        raise CorpusError(
            f"{len(sides[0])} source and {len(sides[1])} target documents: each needs a partner"
        )
    names: list[Paths] = list(zip(sides[0], sides[1], strict=True))
    if encoder is None:
        encoder = load_encoder("default", settings)
    encoder = as_encoder(encoder)
    own = own_means(workers, settings)
    stamps = {path: stamp(path) for pair in names for path in pair}
    with (
        lent(encoder, encoder.on_side("target")),
        open_run(
            work,
            own,
            "aligning",
            {"documents": _places(names)},
            stamps=stamps,
            beside=beside,
            report=report,
            note=note,
        ) as run,
    ):
        batches = list(_batches(names, stamps))
        calls = {
            f"{number:05}": Call({"places": _places(batch)}, float(size))
            for number, (batch, size) in enumerate(batches)
        }
        results = run.stage(
            "align",
            align_batch,
            calls,
            model=Entry.of(encoder),
            other=Entry.of(encoder.on_side("target")),
            languages=settings.languages,
            coarse=coarse,
            weights=Weights.load().as_dict(),
        )
        run.wait(last=True)
        pairs = [
            pair
            for (batch, _), task in zip(batches, results, strict=True)
            for pair in _loaded(batch, task)
        ]
        if target_precision is not None:
            threshold = _threshold(pairs, target_precision)
        pairs = [replace(pair, threshold=threshold) for pair in pairs]
        doubts = [line for task in results for line in task.value["notes"]]
        aligned = Aligned(pairs, threshold, tuple(doubts))
        then(aligned)
        return aligned


# Of each byte of text: 100,000 lines of laws a side, over 30 MB, took 2 GB by the first stage.
@hints(seconds=1e-5, memory=60)
def align_batch(
    job: Job,
    places: Sequence[Sequence[str]],
    model: Entry,
    other: Entry,
    languages: Languages,
    coarse: bool,
    weights: dict[str, Any],
) -> dict[str, Any]:
    """Align the pairs of documents at ``places``; save the beads of all, and how many each has."""
    encoders = model.open(job.threads), other.open(job.threads)
    settings = SearchSettings(k=NEIGHBORS, memory=job.memory, threads=job.threads, device="cpu")
    found, notes = [], []
    for number, pair in enumerate(places):
        documents = [Document.read(path) for path in pair]
        beads, doubts = align_texts(
            (documents[0].texts, documents[1].texts),
            encoders,
            settings,
            languages,
            coarse=coarse,
            weights=Weights.of(weights),
        )
        found.append(beads)
        notes += [f"{pair[0]}, {pair[1]}: {doubt}" for doubt in doubts]
        job.report("aligning", number + 1, len(places))
    job.save(
        spans=np.concatenate([beads.spans for beads in found]),
        probability=np.concatenate([beads.probability for beads in found]),
        sizes=np.array([len(beads) for beads in found]),
    )
    return {"notes": notes}


def align_texts(
    texts: tuple[Sequence[str], Sequence[str]],
    encoders: tuple[SentenceEncoder, SentenceEncoder],
    settings: SearchSettings,
    languages: Languages = (None, None),
    *,
    coarse: bool = False,
    weights: Weights | None = None,
) -> tuple[Beads, list[str]]:
    """Align the sentences of two documents; return the beads, and doubts about them."""
    weights = Weights.load() if weights is None else weights
    sides = [Side.of(own, one) for own, one in zip(texts, encoders, strict=True)]
    lattice = Lattice.of(sides[0], sides[1], settings)
    scores, _ = lattice.scores(weights.coarse)
    doubts = _doubts(texts, lattice)
    if not coarse and all(texts):
        quality = _quality(encoders[0], texts, languages)
        if quality is None:
            doubts.append(f"{encoders[0].name} has no quality function: aligned by vectors alone")
        else:
            found = likely(lattice, scores, texts, quality)
            scores = found.scores(weights.fine, len(scores))
    return decode(scores, lattice.band), doubts


def _quality(
    encoder: SentenceEncoder, texts: Sequence[Sequence[str]], languages: Languages
) -> Quality | None:
    """Return the quality function for the languages of the texts; None if the model has none.

    Raises ArtifactError for a faulty one.
    """
    model = encoder.model
    if model is None or NAME not in (model.verifier or {}):
        return None
    codes = [
        identify([own[row] for row in sample(len(own))], given).code
        for own, given in zip(texts, languages or (None, None), strict=True)
    ]
    return Quality(verifier_of(encoder, (codes[0], codes[1])))


def _doubts(texts: Sequence[Sequence[str]], lattice: Lattice) -> list[str]:
    """Return lines about documents that cannot be aligned well."""
    if not all(texts):
        return ["one side has no text; nothing is aligned"]
    doubts = []
    ordered, every = lattice.likely
    if every >= FEWEST and ordered < ORDERED * every:
        doubts.append(
            f"{every - ordered} of {every} likely pairs are not in the order of the documents; an "
            "alignment cannot follow, 'miner mine' finds them"
        )
    longest = max(max(map(len, own)) for own in texts)
    if longest > LONG:
        doubts.append(f"a line has {longest:,} characters; give a sentence a line")
    return doubts


def _batches(names: Sequence[Paths], stamps: dict[str, Any]) -> Iterator[tuple[list[Paths], int]]:
    """Yield pairs of documents that one task aligns, and their bytes."""
    batch: list[Paths] = []
    size = 0
    for pair in names:
        batch.append(pair)
        size += sum(stamps[path][0] for path in pair)
        if size >= BATCH:
            yield batch, size
            batch, size = [], 0
    if batch:
        yield batch, size


def _places(names: Sequence[Paths]) -> list[list[str]]:
    """Return where another process finds the files."""
    return [
        [path if is_remote(path) else str(Path(path).absolute()) for path in pair] for pair in names
    ]


def _loaded(names: Sequence[Paths], task: Result) -> Iterator[AlignedPair]:
    spans, probability = task.array("spans"), task.array("probability")
    ends = np.cumsum(task.array("sizes"))
    for pair, end, start in zip(names, ends, [0, *ends[:-1]], strict=True):
        beads = Beads(spans[start:end].copy(), probability[start:end].copy())
        documents = Document.read(pair[0]), Document.read(pair[1])
        yield AlignedPair(pair, documents, beads)


def _probabilities(beads: Beads, threshold: float | None) -> np.ndarray:
    """Return the probabilities of the beads that are kept and have sentences on both sides."""
    both = (beads.spans[:, 0] < beads.spans[:, 1]) & (beads.spans[:, 2] < beads.spans[:, 3])
    return beads.probability[both & (beads.probability >= (threshold or 0))]


def _threshold(pairs: Sequence[AlignedPair], precision: float) -> float:
    """Return the least probability such that the mean of all at or above it is ``precision``."""
    every = [_probabilities(pair.beads, None) for pair in pairs]
    found = np.sort(np.concatenate([np.zeros(0, np.float32), *every]))[::-1]
    means = np.cumsum(found, dtype=np.float64) / np.arange(1, len(found) + 1)
    enough = np.flatnonzero(means >= precision)
    return float(found[enough[-1]]) if len(enough) else np.inf
