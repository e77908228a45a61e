"""Pairing of two collections of documents in one call."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miner.alignment.align import align_places
from miner.alignment.aligned import Aligned
from miner.alignment.settings import BeadSettings
from miner.config_fields import SettingsError
from miner.documents import pipeline
from miner.documents.collection import Name, batches, files_of, names_of
from miner.documents.knock_out import Scores, calibrate
from miner.documents.layout import DocumentFormat
from miner.documents.stages import NEIGHBORS, Documents
from miner.encoder.encoder_ref import lent
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import CorpusError, ResourceError
from miner.index.build import identity
from miner.index.text_files import stamps
from miner.knn.settings import SearchSettings
from miner.mining.choices import languages_of
from miner.mining.keep import Keep
from miner.mining.means import load_encoder, search_workers
from miner.mining.mine import note_languages
from miner.option_values import SIDES
from miner.precision.estimate import Estimate
from miner.progress import Reporter, silent
from miner.results import KeptPairs
from miner.scoring.second_reading import Second, opened_second
from miner.tasks.run import RunOptions, open_run
from miner.tasks.workers import Workers
from miner.text.formats import FORMATS, check_suffix, file_format
from miner.text.parquet import Parquet

Collection = str | Path | Sequence[str | Path]
# Minimum score if precision cannot be estimated. On laws and templates, pairs with scores of 0.18
# to 0.30 were as likely right as wrong (benchmarks/LOG.md).
CAUTIOUS = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class AlignedDocuments(KeptPairs):
    """Result of :func:`align_documents`.

    ``pairs`` are the kept pairs, best first, ``all_pairs`` all one-to-one matches; their columns
    ``source`` and ``target`` index ``names``: id, URL and domain of each document of both sides.
    ``score`` is the probability of being right; without an ``estimate``, the mean vote of a line
    plus the margin of the documents. ``threshold`` is the applied threshold. ``notes`` are lines
    for the user, ``warnings`` reasons to doubt the result, which ``note`` has already received.
    ``sentences`` are the beads of the kept pairs, if requested.
    """

    pairs: Scores
    all_pairs: Scores
    estimate: Estimate | None
    names: tuple[list[Name], list[Name]]
    threshold: float | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    sentences: Aligned | None = None

    def columns(self) -> dict[str, Any]:
        """Return score, both ids, and both URLs, if any, of the kept pairs."""
        sides = self.pairs.source.tolist(), self.pairs.target.tolist()
        parts = ["id"] + ["url"] * any(name[1] for side_names in self.names for name in side_names)
        return {"score": self.pairs.score} | {
            f"{side}_{part}": [side_names[row][column] for row in rows]
            for column, part in enumerate(parts)
            for side, side_names, rows in zip(SIDES, self.names, sides, strict=True)
        }

    def write(self, path: str | Path) -> None:
        """Write the rows in the format of the path, by default as TSV.

        Raises ValueError for the suffix of a format without columns, and ResourceError.
        """
        check_suffix(str(path), Parquet.suffixes)
        FORMATS[file_format(str(path))].write(self, path)


def align_documents(
    source: Collection,
    target: Collection,
    *,
    keep: Keep = Keep(),
    then_sentences: BeadSettings | None = None,
    second: Second = None,
    second_pairs: int | None = None,
    settings: SearchSettings = SearchSettings(),
    layout: DocumentFormat = DocumentFormat(),
    encoder: SentenceEncoder | str | Path | Any = "default",
    work: str | Path | None = None,
    beside: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
    then: Callable[[AlignedDocuments], None] = silent,
) -> AlignedDocuments:
    """Find which documents of two collections translate each other, one to one.

    >>> align_documents("web.de.jsonl", "web.en.jsonl").write("documents.tsv")

    A collection is a folder of text files, or one or several JSONL or Parquet files with a document
    a row, read according to ``layout``. The ``settings`` engine, exact, device, memory, threads and
    languages apply. ``keep`` chooses among the pairs. Their precision is estimated by knocking out
    each pair's target (:mod:`miner.documents.knock_out`); the default target is 0.95.
    ``then_sentences``: settings to align the sentences of the kept pairs; all beads are kept.
    ``second`` and ``second_pairs``: second opinion on these beads, as in
    :func:`miner.alignment.align.align`.
    ``encoder``, ``work``, ``beside``, ``workers``, ``report``, ``note`` and ``then`` are as in
    :func:`miner.mining.mine.mine`.

    Raises CorpusError for a collection without text or that cannot be read, ResourceError if a
    requested precision cannot be estimated, and the errors of ``mine``.
    """
    if isinstance(encoder, str | Path):
        encoder = load_encoder(encoder, settings)
    encoder = as_encoder(encoder)
    files = files_of(source), files_of(target)
    paths = [[path for path, _ in side_files] for side_files in files]
    workers = search_workers(workers, settings)
    options = RunOptions(work, beside, workers, report, note)
    what = identity(paths, (encoder,), vars(layout), workers.shard_lines)
    if second is not None and (then_sentences is None or then_sentences.coarse):
        raise SettingsError(
            "a second opinion reads beads of the second stage: add --then-sentences, without "
            "--coarse"
        )
    with (
        lent(encoder, encoder.on_side(SIDES[1])),
        opened_second(second, workers.threads, note, second_pairs) as reader,
        open_run(options, "pairing documents", what, stamps(paths)) as run,
    ):
        read = [
            batches(side_files, run.work / "streams" / side, layout)
            for side, side_files in zip(SIDES, files, strict=True)
        ]
        sides, indexes = pipeline.join(run, read, layout, encoder)
        for side, index in zip(sides, indexes, strict=True):
            counts = {
                name: sum(getattr(file, name) for file in index.sources)
                for name in ("records", "empty", "undecodable", "replaced")
            }
            counts["repeated"] = side.task.value["repeated"]
            note(_counted(index.sources[0].path, counts, len(index)))
            _refuse_missing(index.sources[0].path, list(names_of(side.task.path)), layout)
        languages = languages_of(indexes[0], indexes[1], settings.languages)
        warnings = note_languages(languages, encoder, note)
        for doubt in warnings:
            note(f"warning: {doubt}")
        pairs, knocked = pipeline.compare(
            *(run, sides, indexes, settings),
            knocking=keep.estimate,
            last=then_sentences is None,
        )
        names = [list(names_of(side.task.path)) for side in sides]
        aligned = _kept(pairs, knocked, keep, (names[0], names[1]))
        for doubt in aligned.warnings:
            note(f"warning: {doubt}")
        aligned = replace(aligned, warnings=(*warnings, *aligned.warnings))
        if then_sentences is not None:
            rows = aligned.pairs.source, aligned.pairs.target
            places = map(Documents.places, sides, (side_rows.tolist() for side_rows in rows), names)
            both = list(zip(*places, strict=True))
            means = settings.languages, Keep(), then_sentences
            beads = align_places(run, both, encoder, *means, second=reader)
            aligned = replace(aligned, sentences=beads)
        then(aligned)
        return aligned


def _refuse_missing(collection: str, names: Sequence[Name], layout: DocumentFormat) -> None:
    """Raise CorpusError if no document has the URL or domain that the layout asks for."""
    hosts = "no document has a URL with a host, for --by-host"
    for place, asked, fault in (
        (1, layout.url != DocumentFormat.url, f"no document has a URL under {layout.url!r}"),
        (2, layout.by_host, hosts),
        (2, layout.domain != DocumentFormat.domain, f"no domain under {layout.domain!r}"),
    ):
        if names and asked and not any(name[place] for name in names):
            raise CorpusError(f"{collection}: {fault}")


def _counted(name: str, counts: dict[str, int], documents: int) -> str:
    """Describe in one line what was read of a collection."""
    words = {
        "empty": "without text",
        "undecodable": "not UTF-8 or without the key, and left out",
        "replaced": "with bytes replaced or lines left out",
        "repeated": "left out for the id of an earlier one",
    }
    parts = [f"{counts['records']} documents", f"{documents} to pair"]
    parts += [f"{counts[key]} {text}" for key, text in words.items() if counts[key]]
    return f"{name}: {', '.join(parts)}"


def _kept(
    pairs: Scores, knocked: Scores | None, keep: Keep, names: tuple[list[Name], list[Name]]
) -> AlignedDocuments:
    """Estimate precision, choose a threshold, and keep the best pairs."""
    estimate, notes, warnings = None, [], []
    if knocked is not None and (calibrated := calibrate(pairs, knocked)) is not None:
        pairs, estimate = calibrated
    precision, threshold = keep.target_precision, keep.threshold
    if estimate is None and precision is not None:
        raise ResourceError(
            f"{len(pairs)} pairs of documents are too few to estimate their precision; give a "
            "--threshold"
        )
    if precision is None and not keep.chosen:
        precision = keep.default_precision
    if precision is not None and estimate is not None:
        found_at = estimate.threshold(precision)
        threshold = math.inf if found_at is None else found_at
    elif precision is not None and min(map(len, names)) <= NEIGHBORS:
        notes.append("all pairs are kept: too few documents to compare their scores with others")
    elif precision is not None:
        threshold = CAUTIOUS
        notes.append(f"precision is not estimated; scores of {CAUTIOUS} or more are kept")
    if threshold == math.inf:
        warnings.append(f"no threshold has an estimated precision of {precision:g}")
    kept = pairs if threshold is None else pairs.take(pairs.score >= threshold)
    if keep.top_n is not None:
        kept = kept.take(slice(keep.top_n))
    said = tuple(notes), tuple(warnings)
    return AlignedDocuments(kept, pairs, estimate, names, threshold, *said)
