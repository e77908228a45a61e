"""Mining in one call: search two corpora, estimate precision, choose a threshold."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

from miner.encoder.entries import lent
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.loading import USUAL, Loading, split_name
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, MinerError
from miner.index.build import Name, Text, identity, index_texts, stamps
from miner.index.index import Index
from miner.index.parts import copy_index
from miner.index.stored import FLAT
from miner.knn.settings import SearchSettings
from miner.mining import pipeline
from miner.mining.carry import carried, check_carry
from miner.mining.hints import hints
from miner.mining.keep import Keep, KeepError
from miner.mining.leave_out import LeftOut, leave_out
from miner.mining.leave_out import opened as opened_files
from miner.mining.search import languages_of, require_one_model, verifier_for
from miner.names import SIDES
from miner.precision.estimate import Estimate, Row, calibrate, rounded
from miner.precision.margins import (
    DecoyPool,
    calibrate_by_margin,
    encoded_pool,
    encoder_of,
    pool_with_vectors,
)
from miner.precision.search_result import Search
from miner.progress import Reporter, silent
from miner.results import Results
from miner.scoring.language_notes import describe_both, doubts, mismatched, one_language
from miner.scoring.languages import Identified
from miner.scoring.pairs import Pairs, each_duplicate
from miner.scoring.unwanted import Unwanted
from miner.scoring.verifier import UNFITTED, Verifier
from miner.scoring.without import NOTHING, Without
from miner.tasks.object_store import PLAN
from miner.tasks.run import Run, open_run
from miner.tasks.task import Result
from miner.tasks.workers import Workers
from miner.text.corpus import Reading
from miner.text.given import Corpus, named
from miner.text.remote import is_remote

# Threshold on probabilities where a precision is wanted and cannot be estimated.
CAUTIOUS = 0.5
# Precisions in the table of thresholds; without an estimate, shares of all pairs.
SHOWN = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

Calibrate = Callable[[Search, Keep], tuple[Search, Estimate]]


@dataclass(frozen=True, eq=False)
class Mined(Results):
    """The result of :func:`mine`.

    Iterating, indexing and slicing give the pairs kept, best first, and so do ``to_arrow``,
    ``to_pandas`` and ``write``. ``keep`` is the choice that was asked for; ``pairs`` are the pairs
    kept; ``all_pairs`` those before the cut; ``search`` holds the neighbour lists and
    candidates; ``estimate`` is the estimate of precision, None without one. ``threshold`` is
    the one that was applied: None if none was, infinite if no threshold has the precision asked
    for. ``notes`` and ``warnings`` are lines for the user: how the result came about, and
    reasons to doubt it. ``left_out`` are pairs with sentences of ``without``, if it was given.
    """

    keep: Keep
    pairs: Pairs
    all_pairs: Pairs
    search: Search
    estimate: Estimate | None
    threshold: float | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    left_out: LeftOut | None = None

    def __repr__(self) -> str:
        sure = "" if self.precision is None else f", estimated precision {self.precision:.3f}"
        return f"<{len(self.pairs)} of {len(self.all_pairs)} pairs kept{sure}>"

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, keep: Any) -> Self:
        """Return the result with some of the pairs kept; everything else stays."""
        return replace(self, pairs=self.pairs.take(keep))

    def columns(self) -> dict[str, Any]:
        """Return score, texts and ids of the pairs kept."""
        return self.pairs.columns()

    def every_column(self) -> dict[str, Any]:
        """Return all columns of the pairs kept."""
        return self.pairs.every_column()

    def write(
        self,
        path: str | Path,
        target: str | Path | None = None,
        *,
        ids: bool = False,
        bucc: bool = False,
    ) -> None:
        """Write the pairs kept: see :meth:`miner.scoring.pairs.Pairs.write`."""
        codes = self.search.languages[0].code, self.search.languages[1].code
        self.pairs.write(path, target, ids=ids, bucc=bucc, languages=codes)

    @property
    def precision(self) -> float | None:
        """Estimated precision of the pairs kept; None without an estimate or without pairs."""
        if self.estimate is None or not len(self.pairs):
            return None
        return self.estimate.precision_at(float(self.pairs.score[-1]))

    @property
    def applied(self) -> float | None:
        """Least score that was kept or would have been; None where all pairs were."""
        if self.keep.top_n is None:
            return self.threshold
        return float(self.pairs.score[-1]) if len(self.pairs) else math.inf

    def table(self) -> list[Row]:
        """List thresholds with the pairs that each keeps, and estimates where there are any."""
        pairs = self.all_pairs
        if self.estimate is not None:
            rows = self.estimate.table(SHOWN)
            return [replace(row, kept=pairs.count_at_least(row.threshold)) for row in rows]
        counts = sorted({max(1, round(len(pairs) * share)) for share in SHARES})
        thresholds = [rounded(float(pairs.score[n - 1])) for n in counts if n <= len(pairs)]
        return [Row(threshold, pairs.count_at_least(threshold)) for threshold in thresholds]


def mine(
    source: Corpus | Index,
    target: Corpus | Index,
    *,
    keep: Keep = Keep(),
    settings: SearchSettings = SearchSettings(),
    encoder: SentenceEncoder | str | Path | Any = None,
    without: Without = NOTHING,
    carry: Sequence[str] = (),
    work: str | Path | None = None,
    beside: str | Path | None = None,
    workers: Workers = Workers(),
    report: Reporter = silent,
    note: Callable[[str], None] = silent,
    done: Callable[[Index], None] = silent,
    then: Callable[[Mined], None] = silent,
    factory: str = FLAT,
    **reading: Unpack[Reading],
) -> Mined:
    """Mine the translation pairs of two corpora, estimate their precision, and keep the best.

    >>> mine("news.de", "news.en", keep=Keep(target_precision=0.9)).pairs.write("pairs.tsv")

    Both corpora are text, or both are indexes. A text is a file or a pattern of files (a string), a
    list of :class:`pathlib.Path`, or any iterable of texts: a list, a column of Arrow or pandas, a
    column of a Hugging Face data set. ``encoder`` is a model or its directory, or any object with
    ``encode(sentences) -> (n, d)``: by default the model that ships for text, and for indexes the
    one that built them. Pairs with a sentence of ``without`` are left out.
    ``carry`` are further columns of the files that the pairs kept get, see
    :func:`miner.mining.carry.carried`.

    ``work`` is a directory that keeps the results of all tasks: the same call goes on there, and
    text has its indexes in ``work/source`` and ``work/target``. Without it, a stopped call goes on
    from the directory ``beside`` plus `.work`, which is there until ``then`` has returned; without
    either, results are temporary. ``workers`` say where tasks run. ``note`` receives lines about
    both corpora before the search, ``done`` each index of a text once it is there, ``then`` the
    result. ``factory`` is ``flat`` or a FAISS factory string; ``reading`` of
    files goes to :class:`miner.text.corpus.Reader`.

    Raises KeepError for pairs to keep that the scores cannot serve; CorpusError, ArtifactError,
    MismatchError, ResourceError and DependencyError of :mod:`miner.errors`.
    """
    if isinstance(encoder, str | Path):
        encoder = load_encoder(encoder, settings)
    encoder = None if encoder is None else as_encoder(encoder)
    index = None
    if isinstance(source, Index) and isinstance(target, Index):
        index = source
        require_one_model(source, target)
    elif isinstance(source, Index) or isinstance(target, Index):
        raise TypeError("source and target must both be indexes, or both be text files")
    else:
        encoder = encoder or load_encoder("default", settings)
    verifier, reason = chosen_verifier(encoder, settings, index)
    foreign = bool(encoder and not encoder.model)
    if index is not None:
        foreign = foreign or split_name(index.model_name) is not None
    by_margin = calibrates_margins(
        verifier, keep, settings, foreign, index is not None and index.external
    )
    unwanted = opened_files(without, encoder, index)
    with ExitStack() as stack:
        by = verifier.encoder if verifier is not None else encoder
        if by is not None:
            stack.enter_context(lent(by, by.on_side(SIDES[1])))
        own = own_means(workers, settings)
        opened: tuple[tuple[Index, Result | None], tuple[Index, Result | None]]
        if isinstance(source, Index) and isinstance(target, Index):
            what = {"indexes": [str(one.path.absolute()) for one in (source, target)]}
            run = stack.enter_context(
                open_run(work, own, "searching", what, beside=beside, report=report, note=note)
            )
            opened = (source.verify(), None), (target.verify(), None)
        else:
            assert encoder is not None
            for fact in encoder.facts():
                note(fact)
            assert not isinstance(source, Index) and not isinstance(target, Index)
            names = named(source, "source"), named(target, "target")
            check_carry(carry, [*names[0], *names[1]])
            _refuse_other_indexes(work)
            run = stack.enter_context(
                open_run(
                    work,
                    own,
                    "mining",
                    identity(names, (encoder,), reading, own.shard_lines),
                    stamps=stamps(names),
                    beside=beside,
                    report=report,
                    note=note,
                )
            )
            opened = _indexed(run, names, encoder, factory, reading, done)
        sides = opened[0][0], opened[1][0]
        languages = languages_of(*sides, settings.languages)
        note_languages(languages, by, note)
        by_margin, decoy_encoder, warnings = decoy_encoder_of(
            sides[1], by_margin, encoder, keep, settings
        )
        found = pipeline.mine(
            run,
            opened,
            settings,
            verifier,
            languages,
            estimating=verifier is not None and keep.estimate,
            given=None if keep.decoys is None else tuple(keep.decoys),
        )
        estimating = keep.estimate if verifier is not None else by_margin
        estimate = partial(calibrated, decoy_encoder) if estimating else None
        mined = conclude(found, keep, encoder, reason, warnings, estimate, unwanted)
        if carry:
            mined = replace(mined, pairs=carried(mined.pairs, carry, reading))
        then(mined)
        return mined


def search(
    source: Index,
    target: Index,
    settings: SearchSettings = SearchSettings(),
    *,
    encoder: SentenceEncoder | None = None,
    report: Reporter = silent,
) -> Pairs:
    """Mine the translation pairs of two corpora: all that retrieval finds, best first.

    Candidates are the k nearest neighbours in each direction. Their score is the probability of
    being a translation, by the model's verifier, or a margin: see
    :class:`~miner.knn.settings.SearchSettings`. ``encoder`` is the model that built both indexes;
    by default it is loaded from where it was then. Every distinct text takes part once.

    Raises :class:`~miner.errors.MismatchError` for indexes of two models,
    :class:`~miner.errors.ArtifactError` where a verifier is asked for and there is none,
    :class:`~miner.errors.ResourceError` for too little memory or a missing GPU.
    """
    pairs = run(
        source, target, verifier_for(source, settings.rank, encoder), settings, report
    ).pairs
    return pairs if settings.duplicates == "first" else each_duplicate(pairs)


def run(
    source: Index,
    target: Index,
    verifier: Verifier | None,
    settings: SearchSettings = SearchSettings(),
    report: Reporter = silent,
    *,
    estimating: bool = False,
    decoys: Sequence[str] | None = None,
) -> Search:
    """Search as :func:`search` does, with the ``verifier`` to rank by; return all that was seen.

    ``estimating``: decoys compete, the sentences ``decoys`` or else the model's own.
    """
    require_one_model(source, target)
    opened = (source.verify(), None), (target.verify(), None)
    languages = languages_of(source, target, settings.languages)
    given = None if decoys is None else tuple(decoys)
    encoders = () if verifier is None else (verifier.encoder,)
    workers = own_means(Workers(), settings)
    with lent(*encoders), open_run(None, workers, "searching", {}, report=report) as work:
        return pipeline.mine(
            work, opened, settings, verifier, languages, estimating=estimating, given=given
        )


def load_encoder(
    model: str | Path, settings: SearchSettings, loading: Loading = USUAL
) -> SentenceEncoder:
    """Open a model to encode both sides with, by the threads and the device of a search."""
    return open_encoder(model, settings.threads, encoding_device(settings), "source", loading)


def encoding_device(settings: SearchSettings) -> str:
    """Return the device to encode on. One asked for is to search on; torch may not be there."""
    return "cpu" if settings.device == "cpu" else "auto"


def own_means(workers: Workers, settings: SearchSettings) -> Workers:
    """Return workers with the memory and the threads of a search, unless they have their own."""
    return replace(
        workers,
        memory=workers.memory or settings.memory,
        threads=workers.threads or settings.threads,
    )


def _refuse_other_indexes(work: str | Path | None) -> None:
    """Raise ArtifactError for a new work directory that has indexes of something else."""
    if work is None or is_remote(work) or (Path(work) / PLAN).exists():
        return
    for side in SIDES:
        if (Path(work) / side).exists():
            raise ArtifactError(
                f"{Path(work) / side}: was not made by this command, which keeps an index there; "
                "name another --work"
            )


def _indexed(
    run: Run,
    names: tuple[list[Name], list[Name]],
    encoder: SentenceEncoder,
    factory: str,
    reading: Mapping[str, Any],
    done: Callable[[Index], None],
) -> tuple[tuple[Index, Result], tuple[Index, Result]]:
    """Index two texts with one model, which may have a vocabulary for each side.

    A run that is kept has its indexes in `source` and `target`, too.
    """
    texts = [
        Text.of(run, side, own, encoder.on_side(name))
        for side, (name, own) in enumerate(zip(SIDES, names, strict=True))
    ]
    made = index_texts(run, texts, reading, factory)
    run.wait()
    found = []
    for name, own, task in zip(SIDES, names, made, strict=True):
        index = Index.open(task.path).verify()
        if run.kept and not is_remote(run.address):
            copy_index(index, run.work / name, own)
            index = Index.built(run.work / name)
        index = index.with_names(own)
        done(index)
        found.append((index, task))
    return found[0], found[1]


def note_languages(
    languages: tuple[Identified, Identified],
    encoder: SentenceEncoder | None,
    note: Callable[[str], None],
) -> None:
    """Tell the languages of both sides, and doubts whether the model suits them."""
    note(describe_both(languages))
    model = None if encoder is None else encoder.model
    known = {} if model is None else model.languages
    for doubt in (*one_language(languages), *doubts(languages, known)):
        note(f"warning: {doubt}")


def conclude(
    found: Search,
    keep: Keep,
    encoder: SentenceEncoder | None,
    reason: str | None = None,
    warnings: Sequence[str] = (),
    calibrate: Calibrate | None = None,
    unwanted: Sequence[Unwanted] = (),
) -> Mined:
    """Estimate the precision of a search's pairs, choose a threshold, and keep the best pairs.

    ``reason``: why there is no verifier. ``calibrate(found, keep)`` estimates precision; None
    leaves that out. Pairs with ``unwanted`` sentences are not kept. Raises MinerError where an
    estimate was asked for by name and cannot be made.
    """
    settings, indexes = found.settings, (found.pairs.source, found.pairs.target)
    notes: list[str] = []
    warnings = [*warnings]
    if reason is not None and not indexes[0].external:
        notes.append(f"ranked by margin: {reason}")
    if encoder is not None:
        warnings += encoder.warnings()
    if indexes[0].side is not None and indexes[0].side == indexes[1].side:
        warnings.append(f"both indexes were built with --side {indexes[0].side}")
    if found.recall is not None:
        compressed = any(index.compressed for index in indexes)
        notes.append(f"{'compressed indexes' if compressed else 'hybrid engine'}: {found.recall}")
    guess = None
    if calibrate is not None and len(found.pairs):
        found, guess = _estimated(found, keep, calibrate, notes, warnings)
    pairs = found.pairs if settings.duplicates == "first" else each_duplicate(found.pairs)
    threshold = _threshold(keep, guess, found, encoder, notes)
    kept = pairs if threshold is None else pairs.at_least(threshold)
    gone = None
    if unwanted:
        kept, gone = leave_out(kept, unwanted)
        notes.append(gone.note())
    kept = kept if keep.top_n is None else kept.top(keep.top_n)
    notes += hints(found, kept)
    if not len(kept):
        warnings.append(f"nothing was mined: {_why_nothing(pairs, threshold, keep)}")
    said = tuple(notes), tuple(warnings)
    return Mined(keep, kept, pairs, found, guess, threshold, *said, gone)


def chosen_verifier(
    encoder: SentenceEncoder | None, settings: SearchSettings, index: Index | None = None
) -> tuple[Verifier | None, str | None]:
    """Return the verifier to rank by, or the reason why there is none although none was refused."""
    if settings.rank == "margin":
        return None, None
    if index is not None:
        reasons: list[str] = []
        verifier = verifier_for(index, settings.rank, encoder, reasons.append)
        return verifier, reasons[0] if reasons else None
    assert encoder is not None
    if settings.rank is None and encoder.model is None:
        return None, f"{encoder.name} {UNFITTED}"
    if settings.rank is None and encoder.model is not None and encoder.model.verifier is None:
        return None, f"{encoder.name} carries no verifier"
    return Verifier(encoder), None


def calibrated(
    encoder: SentenceEncoder | None, found: Search, keep: Keep
) -> tuple[Search, Estimate]:
    """Calibrate probabilities, or else margins by decoys that ``encoder`` encodes."""
    if found.verifier is not None:
        return calibrate(found, keep.decoys, refitting=keep.refit, labels=keep.labels)
    return calibrate_by_margin(found, _pool(found, keep, encoder))


def _estimated(
    found: Search,
    keep: Keep,
    calibrate: Calibrate,
    notes: list[str],
    warnings: list[str],
) -> tuple[Search, Estimate | None]:
    """Calibrate scores; where they cannot be, raise if that was asked for by name, else warn.

    For texts in other languages than expected, which was said before the search, lines about the
    estimate would distract.
    """
    fit = not mismatched(found.languages)
    try:
        found, guess = calibrate(found, keep)
    except MinerError as error:
        margins = found.verifier is None and (keep.asks or keep.threshold is not None)
        asked = (keep.target_precision, keep.decoys, keep.labels) != (None, None, None)
        if asked or margins:
            raise
        if fit:
            said = "precision cannot be estimated, and scores are the model's own"
            warnings.append(f"{said}: {error}")
        return found, None
    if fit:
        notes += guess.notes
        warnings += [f"the estimates may be off: {doubt}" for doubt in guess.doubts]
    return found, guess


def calibrates_margins(
    verifier: Verifier | None, keep: Keep, settings: SearchSettings, foreign: bool, external: bool
) -> bool:
    """Decide if margins are calibrated; raise KeepError for an unsuitable choice."""
    usual = settings.rank is None  # nobody asked for margins
    chosen = keep.estimates_margins(foreign and usual, external) and verifier is None
    keep.check(verifier is not None or chosen)
    if keep.labels is not None and verifier is None:
        raise KeepError("labels need a model with a verifier, and not --rank margin")
    return chosen


def _pool(found: Search, keep: Keep, encoder: SentenceEncoder | None) -> DecoyPool:
    """Return the decoys of a search by margin, and their vectors."""
    if keep.decoy_vectors is not None and keep.decoys is not None:
        return pool_with_vectors(keep.decoys, keep.decoy_vectors)
    assert encoder is not None
    return encoded_pool(encoder, keep.decoys, found.languages[1].code)


def decoy_encoder_of(
    index: Index,
    by_margin: bool,
    encoder: SentenceEncoder | None,
    keep: Keep,
    settings: SearchSettings,
) -> tuple[bool, SentenceEncoder | None, list[str]]:
    """Return whether margins are calibrated, the encoder of the decoys if so, and warnings.

    The encoder of the target's index is asked for before the search: it may be missing.
    """
    if not by_margin or index.external:
        return by_margin, None, []
    try:
        device = encoding_device(settings)
        return True, encoder_of(index, encoder, settings.threads, device), []
    except MinerError as error:
        if keep.asks or keep.threshold is not None:
            raise
        return False, None, [f"precision is not estimated: {error}"]


def _threshold(
    keep: Keep,
    guess: Estimate | None,
    found: Search,
    encoder: SentenceEncoder | None,
    notes: list[str],
) -> float | None:
    """Return the threshold to apply; infinite where no threshold is precise enough."""
    if keep.threshold is not None:
        return keep.threshold
    precision = keep.target_precision
    if precision is None and not keep.chosen:
        precision = keep.default_precision
    if precision is None or not len(found.pairs):
        return None
    if guess is not None:
        threshold = guess.threshold(precision)
        # As it is printed, so that tables, reports and --threshold keep the same pairs.
        return math.inf if threshold is None else rounded(threshold) or threshold
    if found.verifier is not None:
        notes.append(f"without an estimate, scores of {CAUTIOUS} or more are kept")
        return CAUTIOUS
    # The model's threshold was found with these settings, and means nothing for others.
    settings = found.settings
    usual = (settings.margin, settings.retrieval, settings.neighbors) == ("ratio", "max", 4)
    model = None if encoder is None else encoder.model
    threshold = model.threshold if model is not None and usual else None
    if threshold is not None:
        notes.append(f"keeping scores of {threshold:.4f} or more: the model's default")
    return threshold


def _why_nothing(pairs: Pairs, threshold: float | None, keep: Keep) -> str:
    """Name the likeliest reason for an empty result."""
    for index in (pairs.source, pairs.target):
        name = ", ".join(source.path for source in index.sources)
        if not len(index):
            return f"{name} holds no sentence"
        if not index.distinct:
            return f"the model knows no token of any sentence in {name}; wrong language?"
    if keep.top_n == 0:
        return "the best 0 pairs were asked for"
    if not len(pairs):
        return "no candidates were found"
    if threshold == math.inf:
        precision = keep.target_precision or keep.default_precision
        return f"no threshold has an estimated precision of {precision:g}"
    return f"the best score is {pairs.score[0]:.4f}, the threshold {threshold}"
