"""Mining in one call: search two corpora, estimate precision, choose a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miner.encoder.encoder_ref import EncoderRef, lent
from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.loading import split_name
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ArtifactError, MinerError
from miner.index.build import SideText, identity, index_texts
from miner.index.directory import FLAT
from miner.index.index import Index
from miner.index.parts import copy_index
from miner.index.text_files import stamps
from miner.knn.settings import SearchSettings
from miner.mining import pipeline
from miner.mining.carry import carried, check_carry
from miner.mining.choices import languages_of, require_one_model, verifier_for
from miner.mining.decontaminate import opened as opened_files
from miner.mining.keep import Keep, KeepError
from miner.mining.means import encoding_device, load_encoder, search_workers
from miner.mining.result import Mined, conclude
from miner.option_values import SIDES
from miner.precision.margins import encoder_of
from miner.precision.search_result import SearchResult
from miner.progress import Reporter, silent
from miner.scoring.decontaminate_settings import NOTHING, Without
from miner.scoring.language_notes import SAMPLE, describe_both, doubts, one_language, unread
from miner.scoring.languages import Identified
from miner.scoring.pairs import Pairs, each_duplicate
from miner.scoring.second_reading import SecondReader, open_second
from miner.scoring.verifier import Verifier
from miner.tasks.identity import PLAN
from miner.tasks.run import Run, RunOptions, open_run
from miner.tasks.task import Result
from miner.tasks.workers import Workers
from miner.text.corpus import Reading
from miner.text.in_memory import Corpus, Name, named
from miner.text.remote import is_remote
from miner.text.rows import spread_rows

if TYPE_CHECKING:
    from typing_extensions import Unpack


def mine(
    source: Corpus | Index,
    target: Corpus | Index,
    *,
    keep: Keep = Keep(),
    settings: SearchSettings = SearchSettings(),
    encoder: SentenceEncoder | str | Path | Any = None,
    second: SentenceEncoder | str | Path | Any = None,
    second_pairs: int | None = None,
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
    ``encode(sentences) -> (n, d)``: by default the shipped model for text, and for indexes the
    model that built them. ``second`` is a slower and better encoder for at most ``second_pairs``
    candidates in doubt; both opinions count.
    Pairs with a sentence of ``without`` are removed. ``carry`` are further columns of the files for
    the kept pairs, see :func:`miner.mining.carry.carried`.

    ``work`` is a directory that keeps the results of all tasks: the same call continues there, and
    text has its indexes in ``work/source`` and ``work/target``. Without it, a stopped call
    continues from the directory ``beside`` plus `.work`, which is kept until ``then`` has returned;
    without either, results are temporary. ``workers`` say where tasks run. ``note`` receives lines
    about both corpora before the search, ``done`` each finished index of a text, ``then`` the
    result. ``factory`` is ``flat`` or a FAISS factory string; ``reading`` of files goes to
    :class:`miner.text.corpus.CorpusReader`.

    Raises KeepError for pairs to keep that the scores cannot serve; CorpusError, ArtifactError,
    MismatchError, ResourceError and DependencyError of :mod:`miner.errors`.
    """
    if isinstance(encoder, str | Path):
        encoder = load_encoder(encoder, settings)
    encoder = None if encoder is None else as_encoder(encoder)
    resolved = search_workers(workers, settings)
    if isinstance(source, Index) and isinstance(target, Index):
        require_one_model(source, target)
        indexes, files, stamped = (source, target), None, None
        job, what = "searching", {"indexes": [str(side.path.absolute()) for side in indexes]}
    elif isinstance(source, Index) or isinstance(target, Index):
        raise TypeError("source and target must both be indexes, or both be text files")
    else:
        indexes, files = None, (named(source, "source"), named(target, "target"))
        check_carry(carry, [*files[0], *files[1]])
        _refuse_other_indexes(work)
        encoder = encoder or load_encoder("default", settings)
        job, what = "mining", identity(files, (encoder,), reading, resolved.shard_lines)
        stamped = stamps(files)
    index = None if indexes is None else indexes[0]
    reasons: list[str] = []
    verifier = verifier_for(index, settings.rank, encoder, reasons.append)
    by_margin = _calibrates_margins(verifier, keep, settings, encoder, index)
    reader, readers = _reader(second, second_pairs, verifier, settings)
    unwanted = opened_files(without, encoder, index)
    by = verifier.encoder if verifier is not None else encoder
    with (
        lent(*([] if by is None else [by, by.on_side(SIDES[1])]), *readers),
        open_run(RunOptions(work, beside, resolved, report, note), job, what, stamped) as run,
    ):
        opened: Sequence[tuple[Index, Result | None]]
        if indexes is not None:
            opened = [(side.verify(), None) for side in indexes]
        else:
            assert encoder is not None and files is not None
            for fact in encoder.facts():
                note(fact)
            opened = _indexed(run, files, encoder, factory, reading, done)
        sides = opened[0][0], opened[1][0]
        languages = languages_of(*sides, settings.languages)
        told = note_languages(languages, by, note)
        for fact in readers[0].facts() if readers else ():
            note(fact)
        for name, side in zip(SIDES, sides, strict=True):
            for doubt in unread(by, side.sentences(spread_rows(len(side), SAMPLE))):
                told.append(f"the {name}: {doubt}")
        for doubt in told:
            note(f"warning: {doubt}")
        by_margin, decoy_encoder, warnings = _decoy_encoder(
            sides[1], by_margin, encoder, keep, settings
        )
        estimating = verifier is not None and keep.estimate
        result = pipeline.mine(
            run,
            opened,
            settings,
            verifier,
            languages,
            estimating=estimating,
            given=keep.decoys,
            second=reader,
        )
        mined = conclude(
            result,
            keep,
            encoder,
            reasons,
            warnings + (readers[0].warnings() if readers else []),
            unwanted,
            estimating=estimating or by_margin,
            decoy_encoder=decoy_encoder,
            told=told,
        )
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
    """Search the translation pairs of two corpora: all pairs of the retrieval, best first.

    Candidates are the k nearest neighbours in each direction. Their score is the probability of
    being a translation, by the model's verifier, or a margin: see
    :class:`~miner.knn.settings.SearchSettings`. ``encoder`` is the model that built both indexes;
    by default it is loaded from its former location. Every distinct text takes part once.

    Raises :class:`~miner.errors.MismatchError` for indexes of two models,
    :class:`~miner.errors.ArtifactError` if a requested verifier is missing,
    :class:`~miner.errors.ResourceError` for too little memory or a missing GPU.
    """
    verifier = verifier_for(source, settings.rank, encoder)
    pairs = search_indexes(source, target, verifier, settings, report).pairs
    return pairs if settings.duplicates == "first" else each_duplicate(pairs)


def search_indexes(
    source: Index,
    target: Index,
    verifier: Verifier | None,
    settings: SearchSettings = SearchSettings(),
    report: Reporter = silent,
    *,
    estimating: bool = False,
    decoys: Sequence[str] | None = None,
    second: SentenceEncoder | str | Path | Any = None,
) -> SearchResult:
    """Search as :func:`search` does, ranked by ``verifier``; return lists, candidates and pairs.

    ``estimating``: decoys compete, by default the model's, else the sentences ``decoys``.
    ``second`` is as in :func:`mine`.
    """
    require_one_model(source, target)
    opened = (source.verify(), None), (target.verify(), None)
    languages = languages_of(source, target, settings.languages)
    encoders = () if verifier is None else (verifier.encoder,)
    reader, readers = _reader(second, None, verifier, settings)
    options = RunOptions(workers=search_workers(Workers(), settings), report=report)
    with lent(*encoders, *readers), open_run(options, "searching", {}) as run:
        return pipeline.mine(
            run,
            opened,
            settings,
            verifier,
            languages,
            estimating=estimating,
            given=decoys,
            second=reader,
        )


def _refuse_other_indexes(work: str | Path | None) -> None:
    """Raise ArtifactError for a new work directory that holds other indexes."""
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
) -> list[tuple[Index, Result]]:
    """Index two texts with one model, which may have separate vocabularies.

    A run in a user's directory also has the indexes in `source` and `target`.
    """
    texts = [
        SideText.of(run, side, files, encoder.on_side(name))
        for side, (name, files) in enumerate(zip(SIDES, names, strict=True))
    ]
    tasks = index_texts(run, texts, reading, factory)
    run.wait()
    indexes = []
    for name, files, task in zip(SIDES, names, tasks, strict=True):
        index = Index.open(task.path).verify()
        if run.kept and not is_remote(run.address):
            copy_index(index, run.work / name, files)
            index = Index.built(run.work / name)
        index = index.with_names(files)
        done(index)
        indexes.append((index, task))
    return indexes


def note_languages(
    languages: tuple[Identified, Identified],
    encoder: SentenceEncoder | None,
    note: Callable[[str], None],
) -> list[str]:
    """Report the languages of both sides; return doubts that the model suits them."""
    note(describe_both(languages))
    model = None if encoder is None else encoder.model
    known = {} if model is None else model.languages
    return [*one_language(languages), *doubts(languages, known)]


def _reader(
    second: SentenceEncoder | str | Path | Any,
    most: int | None,
    verifier: Verifier | None,
    settings: SearchSettings,
) -> tuple[SecondReader | None, list[SentenceEncoder]]:
    """Return the reader of the second opinion, or None, and its encoder for each side."""
    if second is None:
        if most is not None:
            raise KeepError("the number of pairs is for a second opinion (--second MODEL)")
        return None, []
    if verifier is None:
        raise KeepError(
            "a second opinion adds to probabilities, which need a model with a verifier, and not "
            "--rank margin"
        )
    device = encoding_device(settings)
    both = open_second(second, settings.threads, device)
    models = EncoderRef.of(both[0], device), EncoderRef.of(both[1], device)
    return SecondReader(models, most), [*both]


def _calibrates_margins(
    verifier: Verifier | None,
    keep: Keep,
    settings: SearchSettings,
    encoder: SentenceEncoder | None,
    index: Index | None,
) -> bool:
    """Return True if margins are calibrated. Raises KeepError for an unsuitable choice."""
    foreign = encoder is not None and not encoder.model
    external = False
    if index is not None:
        foreign, external = foreign or split_name(index.model_name) is not None, index.external
    usual = settings.rank is None  # the user did not choose margins
    chosen = keep.estimates_margins(foreign and usual, external) and verifier is None
    keep.check(verifier is not None or chosen)
    if keep.labels is not None and verifier is None:
        raise KeepError("labels need a model with a verifier, and not --rank margin")
    if not keep.refit and settings.rank == "margin":
        raise KeepError("margins have no function to fit again (drop --no-refit or --rank margin)")
    return chosen


def _decoy_encoder(
    index: Index,
    by_margin: bool,
    encoder: SentenceEncoder | None,
    keep: Keep,
    settings: SearchSettings,
) -> tuple[bool, SentenceEncoder | None, list[str]]:
    """Return whether margins are calibrated, the encoder of the decoys if so, and warnings.

    The encoder of the target's index is opened before the search, because it may be missing.
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
