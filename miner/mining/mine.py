"""Mining in one call: search two corpora, estimate precision, choose a threshold."""

import math
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miner.encoder.foreign_encoder import as_encoder
from miner.encoder.loading import USUAL, Loading
from miner.encoder.open_encoder import open_encoder
from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MinerError
from miner.index.index import Index
from miner.knn.search_checkpoint import Checkpoint
from miner.knn.settings import SearchSettings
from miner.mining.pairs import Pairs, each_duplicate
from miner.mining.precision import Estimate, Row, calibrate, rounded
from miner.mining.search import Search, languages_of, require_one_model, run, verifier_for
from miner.names import SIDES
from miner.progress import Reporter, silent
from miner.scoring.language_notes import describe_both, doubts, one_language
from miner.scoring.verifier import UNFITTED, Verifier
from miner.text.durable import scratch_directory

# Precision of the pairs kept by default.
PRECISION = 0.95
# Threshold on probabilities where a precision is wanted and cannot be estimated.
CAUTIOUS = 0.5
# Precisions in the table of thresholds; without an estimate, shares of all pairs.
SHOWN = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

Corpus = Index | str | Path


class KeepError(ValueError):
    """A choice of pairs that contradicts itself, or that the scores of a search cannot serve."""


@dataclass(frozen=True)
class Keep:
    """Choice of how many of the mined pairs to keep.

    - ``threshold``: pairs with this score or more.
    - ``target_precision``: as many pairs as have this estimated precision, in (0, 1).
    - ``top_n``: the best n pairs, on top of either.
    - ``default_precision``: applies where none of the three is given. It is aimed at if it can be
      estimated; otherwise pairs with a probability of one half or more are kept, and of pairs
      ranked by margin those above the model's own threshold. None keeps all pairs.
    - ``estimate``: whether to estimate precision, which takes a verifier. Scores are then
      probabilities of being right on this corpus, else those of the model.
    - ``refit``: whether the estimate first fits the verifier's function again to the corpus.
    - ``decoys``: sentences to estimate precision with, in the language and domain of the target,
      none a translation of a source. None: those of the model.

    Raises KeepError for a threshold that is not finite or comes with a target precision, and for a
    target precision or decoys without the estimate.
    """

    threshold: float | None = None
    target_precision: float | None = None
    top_n: int | None = None
    default_precision: float | None = PRECISION
    estimate: bool = True
    refit: bool = True
    decoys: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise KeepError(f"a threshold must be a finite number, not {self.threshold}")
        if self.threshold is not None and self.target_precision is not None:
            raise KeepError("a target precision chooses the threshold; give one of the two")
        if self.target_precision is not None and not 0 < self.target_precision < 1:
            raise KeepError(
                f"a target precision must be between 0 and 1, not {self.target_precision}"
            )
        for name, value in (("a target precision", self.target_precision), ("decoys", self.decoys)):
            if value is not None and not self.estimate:
                raise KeepError(f"{name} needs the estimate of precision (drop --no-estimate)")

    @property
    def chosen(self) -> bool:
        """True if the caller said how many pairs to keep."""
        return (self.threshold, self.target_precision, self.top_n) != (None, None, None)

    def check(self, verifier: Verifier | None, reason: str | None = None) -> None:
        """Raise KeepError, before any work, for what the scores of the search cannot serve.

        ``reason``: why there is no verifier.
        """
        if verifier is not None and self.threshold is not None and self.threshold > 1:
            raise KeepError(
                f"scores are probabilities here, so a threshold of {self.threshold:g} would keep "
                "nothing; give one below 1, or rank by margin"
            )
        for name, value in (("a target precision", self.target_precision), ("decoys", self.decoys)):
            if value is not None and verifier is None:
                raise KeepError(f"{name} needs verification: {reason or 'margins do without'}")


@dataclass(frozen=True, eq=False)
class Mined:
    """The result of :func:`mine`.

    ``keep`` is the choice that was asked for. ``pairs`` are the pairs kept, best
    first; ``all_pairs`` those before the cut; ``search`` holds the neighbour lists and
    candidates; ``estimate`` is the estimate of precision, None without one. ``threshold`` is
    the one that was applied: None if none was, infinite if no threshold has the precision asked
    for. ``notes`` and ``warnings`` are lines for the user: how the result came about, and
    reasons to doubt it.
    """

    keep: Keep
    pairs: Pairs
    all_pairs: Pairs
    search: Search
    estimate: Estimate | None
    threshold: float | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        sure = "" if self.precision is None else f", estimated precision {self.precision:.3f}"
        return f"<{len(self.pairs)} of {len(self.all_pairs)} pairs kept{sure}>"

    @property
    def precision(self) -> float | None:
        """Estimated precision of the pairs kept; None without an estimate or without pairs."""
        if self.estimate is None or not len(self.pairs):
            return None
        return self.estimate.precision_at(float(self.pairs.score[-1]))

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
    source: Corpus,
    target: Corpus,
    *,
    keep: Keep = Keep(),
    settings: SearchSettings = SearchSettings(),
    encoder: SentenceEncoder | str | Path | Any = None,
    checkpoint: Checkpoint | None = None,
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
    **indexing: Any,
) -> Mined:
    """Mine the translation pairs of two corpora, estimate their precision, and keep the best.

    >>> mine("news.de", "news.en", keep=Keep(target_precision=0.9)).pairs.write("pairs.tsv")

    Both corpora are text files, or both are indexes. ``encoder`` is a model or its directory, or
    any object with ``encode(sentences) -> (n, d)``: by default the model that ships for text, and
    for indexes the one that built them. ``checkpoint``
    keeps the neighbour search on disk. ``note`` receives, before the search, lines about the
    languages of both corpora. ``indexing`` goes to :func:`index_texts`: where to keep the indexes
    of text files, and how to read them.

    Raises KeepError for pairs to keep that the scores cannot serve; CorpusError, ArtifactError,
    MismatchError, ResourceError and DependencyError of :mod:`miner.errors`.
    """
    if isinstance(encoder, str | Path):
        encoder = load_encoder(encoder, settings)
    encoder = None if encoder is None else as_encoder(encoder)
    if isinstance(source, Index) and isinstance(target, Index):
        indexes = source, target
        require_one_model(*indexes)
        verifier, reason = _verifier(encoder, settings, source)
        keep.check(verifier, reason)
    elif isinstance(source, Index) or isinstance(target, Index):
        raise TypeError("source and target must both be indexes, or both be text files")
    else:
        encoder = encoder or load_encoder("default", settings)
        verifier, reason = _verifier(encoder, settings, None)
        keep.check(verifier, reason)
        for fact in encoder.facts():
            note(fact)
        indexes = index_texts((source, target), encoder, settings, report=report, **indexing)
    by = verifier.encoder if verifier is not None else encoder
    model = None if by is None else by.model
    languages = languages_of(*indexes, settings.languages)
    note(describe_both(languages))
    for doubt in (*one_language(languages), *doubts(languages, model)):
        note(f"warning: {doubt}")
    estimating = verifier is not None and keep.estimate
    found = run(*indexes, verifier, settings, report, checkpoint, estimating=estimating)
    notes, warnings = [], []
    if reason is not None and not indexes[0].external:
        notes.append(f"ranked by margin: {reason}")
    if encoder is not None:
        warnings += encoder.warnings()
    if indexes[0].side is not None and indexes[0].side == indexes[1].side:
        warnings.append(f"both indexes were built with --side {indexes[0].side}")
    if found.recall is not None:
        notes.append(
            "compressed indexes: recall of neighbours {:.4f} from source to target, {:.4f} back "
            "(measured on a sample)".format(*found.recall)
        )
    guess = None
    if estimating and len(found.pairs):
        found, guess = _calibrated(found, keep, notes, warnings)
    pairs = found.pairs if settings.duplicates == "first" else each_duplicate(found.pairs)
    threshold = _threshold(keep, guess, found, encoder, notes)
    kept = pairs if threshold is None else pairs.at_least(threshold)
    kept = kept if keep.top_n is None else kept.top(keep.top_n)
    if not len(kept):
        warnings.append(f"nothing was mined: {_why_nothing(pairs, threshold, keep)}")
    return Mined(keep, kept, pairs, found, guess, threshold, tuple(notes), tuple(warnings))


def load_encoder(
    model: str | Path, settings: SearchSettings, loading: Loading = USUAL
) -> SentenceEncoder:
    """Open a model to encode both sides with, by the threads and the device of a search."""
    # A GPU that is asked for is one to search on: encoding uses it only if torch can.
    device = "cpu" if settings.device == "cpu" else "auto"
    return open_encoder(model, settings.threads, device, "source", loading)


def index_texts(
    texts: tuple[str | Path, str | Path],
    encoder: SentenceEncoder,
    settings: SearchSettings,
    *,
    work: str | Path | None = None,
    factory: str = "flat",
    report: Reporter = silent,
    done: Callable[[Index], None] = lambda index: None,
    **reading: Any,
) -> tuple[Index, Index]:
    """Index two text files with one model, which may have a vocabulary for each side.

    The indexes are ``work/source`` and ``work/target``; without ``work`` they are temporary and go
    with the returned objects. ``factory`` is ``flat`` or a FAISS factory string; ``reading`` goes
    to :class:`miner.text.corpus.Reader`. ``done`` is called with each index once it is there.
    """
    encoders = encoder, encoder.on_side("target")
    indexes = []
    for side, text, one in zip(SIDES, texts, encoders, strict=True):
        if work is not None:
            place = Path(work) / side
        else:
            scratch = ExitStack()
            place = scratch.enter_context(scratch_directory()) / side
        index = Index.build(one, text, place, index=factory, report=report, **reading)
        if work is None:
            weakref.finalize(index, scratch.close)
        done(index)
        indexes.append(index)
    return indexes[0], indexes[1]


def _verifier(
    encoder: SentenceEncoder | None, settings: SearchSettings, index: Index | None
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


def _calibrated(
    found: Search, keep: Keep, notes: list[str], warnings: list[str]
) -> tuple[Search, Estimate | None]:
    """Calibrate scores; where they cannot be, raise if that was asked for by name, else warn."""
    try:
        found, guess = calibrate(found, keep.decoys, refitting=keep.refit)
    except MinerError as error:
        if keep.target_precision is not None or keep.decoys is not None:
            raise
        warnings.append(f"precision cannot be estimated, and scores are the model's own: {error}")
        return found, None
    notes += guess.notes
    warnings += [f"the estimates may be off: {doubt}" for doubt in guess.doubts]
    return found, guess


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
        return math.inf if threshold is None else threshold
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
