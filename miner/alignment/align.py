"""Align the sentences of document pairs, in the order of the documents.

A task aligns a pair of documents, or several small ones.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from miner.alignment.align_texts import align_texts, codes_of, identified
from miner.alignment.aligned import Aligned, Document, DocumentFile, both_sides
from miner.alignment.beads import Weights
from miner.alignment.settings import BeadSettings
from miner.config_fields import SettingsError
from miner.encoder.encoder_ref import EncoderRef, lent
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError
from miner.index.build import identity
from miner.index.text_files import stamps, text_files
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.mining.means import load_encoder, search_workers
from miner.option_values import SIDES, Languages
from miner.progress import Reporter, silent
from miner.scoring.language_notes import SAMPLE, one_language, unread
from miner.scoring.language_notes import doubts as language_doubts
from miner.scoring.second_reading import Second, SecondReader, opened_second
from miner.tasks.run import Call, Run, RunOptions, open_run
from miner.tasks.task import Job, hints
from miner.tasks.workers import Workers
from miner.text.rows import spread_rows

# Minimum bytes of text that a task aligns, if there are enough.
BATCH = 1 << 20
NEIGHBORS = 4


class DocumentSource(Protocol):
    """Protocol of the sources of documents that a task reads."""

    @property
    def bytes(self) -> int: ...

    def read(self) -> Document: ...


DocumentPair = tuple[DocumentSource, DocumentSource]


def align(
    source: str | Path | Sequence[str | Path],
    target: str | Path | Sequence[str | Path],
    *,
    keep: Keep = Keep(),
    beads: BeadSettings = BeadSettings(),
    encoder: SentenceEncoder | None = None,
    second: Second = None,
    second_pairs: int | None = None,
    settings: SearchSettings = SearchSettings(),
    work: str | Path | None = None,
    beside: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
    then: Callable[[Aligned], None] = silent,
) -> Aligned:
    """Align the sentences of two documents, or of lists of documents, the first with the first.

    >>> align("book.de", "book.en", keep=Keep(target_precision=0.95)).write("book.tmx")

    A document is a file with a sentence a line. Only threshold and target precision of ``keep``
    apply; without either, all beads are kept. ``settings``: memory, threads and languages. ``then``
    is called with the result before the work directory is removed. Other arguments are as in
    :func:`miner.mine`. ``second`` is a slower and better encoder for the beads in doubt, at most
    ``second_pairs`` for each pair of documents: a model, or any object with ``encode(sentences) ->
    (n, d)``. Raises CorpusError, ArtifactError, ResourceError.
    """
    names = [
        [str(paths)] if isinstance(paths, str | Path) else [*map(str, paths)]
        for paths in (source, target)
    ]
    if len(names[0]) != len(names[1]):
        raise CorpusError(
            f"{len(names[0])} source and {len(names[1])} target documents: each needs a partner"
        )
    keep.check(probable=True)
    if encoder is None:
        encoder = load_encoder("default", settings)
    encoder = as_encoder(encoder)
    options = RunOptions(work, beside, search_workers(workers, settings), report, note)
    if second is not None and beads.coarse:
        raise SettingsError("a second opinion reads beads of the second stage; leave out --coarse")
    with (
        lent(encoder, encoder.on_side(SIDES[1])),
        opened_second(second, options.workers.threads, note, second_pairs) as reader,
        open_run(options, "aligning", identity(names, (encoder,), {}, None), stamps(names)) as run,
    ):
        copies = run.work / "streams"
        files = (text_files(paths, copies / side) for paths, side in zip(names, SIDES, strict=True))
        places = [
            (DocumentFile(left), DocumentFile(right)) for left, right in zip(*files, strict=True)
        ]
        means = settings.languages, keep, beads
        aligned = align_places(run, places, encoder, *means, second=reader)
        doubted = _language_doubts(aligned.documents, encoder, settings.languages)
        aligned = replace(aligned, warnings=(*doubted, *aligned.warnings))
        then(aligned)
        return aligned


def align_places(
    run: Run,
    places: Sequence[DocumentPair],
    encoder: SentenceEncoder,
    languages: Languages,
    keep: Keep,
    beads: BeadSettings,
    second: SecondReader | None = None,
) -> Aligned:
    """Align the sentences of document pairs in the last tasks of ``run``.

    ``second`` reads a second opinion, whose cost is reported.
    """
    batches = list(_batches(places))
    calls = {
        f"{number:05}": Call({"places": batch}, float(size))
        for number, (batch, size) in enumerate(batches)
    }
    results = run.stage(
        "align",
        align_batch,
        calls,
        model=EncoderRef.of_scorer(encoder),
        other=EncoderRef.of_scorer(encoder.on_side(SIDES[1])),
        languages=languages,
        beads=replace(beads, unaligned=False),
        weights=Weights.load().as_dict(),
        second=second,
    )
    run.wait(last=True)
    if second is not None:
        read, total = (sum(task.value[name] for task in results) for name in ("read", "sentences"))
        run.note(f"second opinion: {read:,} texts of beads read, of {total:,} sentences")
    pair, spans, score = [np.zeros(0, np.int64)], [np.zeros((0, 4), np.int64)], [np.zeros(0)]
    first = 0
    for (batch, _), task in zip(batches, results, strict=True):
        pair.append(np.repeat(np.arange(first, first + len(batch)), task.array("sizes")))
        spans.append(task.array("spans"))
        score.append(task.array("probability"))
        first += len(batch)
    doubts = [line for task in results for line in task.value["notes"]]
    documents = [_read(both, languages, beads) for both in places]
    texts = _texts(documents)
    for side_texts, name in zip(texts, SIDES, strict=True):
        some = [side_texts[row] for row in spread_rows(len(side_texts), SAMPLE).tolist()]
        doubts += [f"the {name}: {doubt}" for doubt in unread(encoder.on_side(name), some)]
    codes = codes_of(texts, languages)
    columns = np.concatenate(pair), np.concatenate(spans), np.concatenate(score)
    aligned = Aligned(documents, *columns, None, tuple(doubts), codes)
    return _kept(aligned, keep, beads.unaligned)


def _texts(documents: Sequence[tuple[Document, Document]]) -> tuple[list[str], list[str]]:
    """Return the sentences of all documents of each side."""
    source, target = ([text for both in documents for text in both[side].texts] for side in (0, 1))
    return source, target


def _language_doubts(
    documents: Sequence[tuple[Document, Document]], encoder: SentenceEncoder, given: Languages
) -> list[str]:
    """Return warnings about the languages of all documents; none for little text."""
    languages = identified(_texts(documents), given)
    if not all(language.sure and language.characters for language in languages):
        return []
    known = {} if encoder.model is None else encoder.model.languages
    return [*one_language(languages), *language_doubts(languages, known)]


def _kept(aligned: Aligned, keep: Keep, unaligned: bool) -> Aligned:
    """Return the rows to keep; ``unaligned`` adds all others, one side each."""
    both = both_sides(aligned.spans)
    threshold = keep.threshold
    if keep.target_precision is not None:
        threshold = _threshold(aligned.score[both], keep.target_precision)
    aligned = replace(aligned, threshold=threshold)
    dropped = both & (aligned.score < (threshold or 0))
    if not unaligned:
        return aligned.take(both & ~dropped)
    rows = np.repeat(np.arange(len(aligned)), 1 + dropped)
    aligned, second = aligned.take(rows), np.diff(rows, prepend=-1) == 0
    dropped = dropped[rows]
    aligned.score[dropped] = 0
    aligned.spans[dropped & ~second, 3] = aligned.spans[dropped & ~second, 2]
    aligned.spans[second, 0] = aligned.spans[second, 1]
    return aligned


def _threshold(scores: np.ndarray, precision: float) -> float:
    """Return the lowest threshold above which the mean probability is ``precision``."""
    descending = np.sort(scores)[::-1]
    means = np.cumsum(descending, dtype=np.float64) / np.arange(1, len(descending) + 1)
    enough = np.flatnonzero(means >= precision)
    return float(descending[enough[-1]]) if len(enough) else np.inf


def _batches(places: Sequence[DocumentPair]) -> Iterator[tuple[list[DocumentPair], int]]:
    """Yield the document pairs of each task, and their bytes."""
    batch: list[DocumentPair] = []
    size = 0
    for both in places:
        batch.append(both)
        size += sum(document.bytes for document in both)
        if size >= BATCH:
            yield batch, size
            batch, size = [], 0
    if batch:
        yield batch, size


# Per byte of text: 100,000 lines of laws a side, over 30 MB, took 2 GB in the first stage.
@hints(seconds=1e-5, memory=60)
def align_batch(
    job: Job,
    places: Sequence[DocumentPair],
    model: EncoderRef,
    other: EncoderRef,
    languages: Languages,
    beads: BeadSettings,
    weights: dict[str, Any],
    second: SecondReader | None = None,
) -> dict[str, Any]:
    """Align the document pairs at ``places``; save their beads and the number per pair."""
    others, most = None, None
    if second is not None:
        left, right = (model.open(job.threads) for model in second.models)
        others, most = (left, right), second.most
    encoders = model.open(job.threads), other.open(job.threads)
    settings = SearchSettings(k=NEIGHBORS, memory=job.memory, threads=job.threads, device="cpu")
    all_beads, notes = [], []
    read = sentences = 0
    for number, both in enumerate(places):
        documents = _read(both, languages, beads)
        document_beads, doubts = align_texts(
            (documents[0].texts, documents[1].texts),
            encoders,
            settings,
            languages,
            coarse=beads.coarse,
            weights=Weights.of(weights),
            second=others,
            second_pairs=most,
        )
        read += document_beads.read
        sentences += sum(len(document.texts) for document in documents)
        all_beads.append(document_beads)
        notes += [f"{documents[0].name}, {documents[1].name}: {doubt}" for doubt in doubts]
        job.report("aligning", number + 1, len(places))
    job.save(
        spans=np.concatenate([document_beads.spans for document_beads in all_beads]),
        probability=np.concatenate([document_beads.probability for document_beads in all_beads]),
        sizes=np.array([len(document_beads) for document_beads in all_beads]),
    )
    return {"notes": notes, "read": read, "sentences": sentences}


def _read(
    both: DocumentPair, languages: Languages, beads: BeadSettings
) -> tuple[Document, Document]:
    """Read two documents, and split their lines into sentences if requested."""
    documents = both[0].read(), both[1].read()
    if not beads.split:
        return documents
    source, target = codes_of([document.texts for document in documents], languages)
    return documents[0].split(source or "en"), documents[1].split(target or "en")
