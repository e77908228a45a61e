"""Result of a mining: precision is estimated, a threshold chosen, and the best pairs are kept.

Advice is about texts that are aligned already, menus and headings, and repeated ids.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MinerError
from miner.index.index import Index
from miner.mining.decontaminate import RemovedPairs, decontaminate
from miner.mining.keep import Keep
from miner.precision.estimate import Estimate, EstimateRow, calibrate, rounded
from miner.precision.margins import DecoyPool, calibrate_by_margin, encoded_pool, pool_with_vectors
from miner.precision.search_result import SearchResult
from miner.results import KeptPairs
from miner.scoring.decontaminate import Unwanted
from miner.scoring.language_notes import mismatched
from miner.scoring.pairs import Pairs, each_duplicate
from miner.text_table import count_of

# Threshold on probabilities where a precision is wanted and cannot be estimated.
CAUTIOUS = 0.5
# Precisions in the table of thresholds; without an estimate, shares of all pairs.
SHOWN = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class Mined(KeptPairs):
    """The result of :func:`mine`.

    Iterating, indexing and slicing give the pairs kept, best first, and so do ``to_arrow``,
    ``to_pandas`` and ``write``. ``keep`` is the requested choice; ``pairs`` are the pairs kept;
    ``all_pairs``: pairs before the cut; ``search``: neighbour lists and candidates; ``estimate``:
    estimate of precision, or None. ``threshold``: the applied threshold, None without a cut,
    infinite if no threshold reaches the target precision. ``notes`` and ``warnings`` are lines for
    the user: how the result came about, and reasons to doubt it; the first ``told`` warnings were
    told before the search. ``left_out``: pairs removed because of ``without``.
    """

    pairs: Pairs
    all_pairs: Pairs
    estimate: Estimate | None
    keep: Keep
    search: SearchResult
    threshold: float | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    left_out: RemovedPairs | None = None
    told: int = 0

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
    def applied(self) -> float | None:
        """Least score that was kept or would have been; None where all pairs were."""
        if self.keep.top_n is None:
            return self.threshold
        return float(self.pairs.score[-1]) if len(self.pairs) else math.inf

    def table(self) -> list[EstimateRow]:
        """List thresholds with the pairs that each keeps, and estimates where there are any."""
        pairs = self.all_pairs
        if self.estimate is not None:
            rows = self.estimate.table(SHOWN)
            return [replace(row, kept=pairs.count_at_least(row.threshold)) for row in rows]
        counts = sorted({max(1, round(len(pairs) * share)) for share in SHARES})
        thresholds = [rounded(float(pairs.score[n - 1])) for n in counts if n <= len(pairs)]
        return [EstimateRow(threshold, pairs.count_at_least(threshold)) for threshold in thresholds]


def conclude(
    result: SearchResult,
    keep: Keep,
    encoder: SentenceEncoder | None,
    reasons: Sequence[str] = (),
    warnings: Sequence[str] = (),
    unwanted: Sequence[Unwanted] = (),
    *,
    estimating: bool = False,
    decoy_encoder: SentenceEncoder | None = None,
    told: Sequence[str] = (),
) -> Mined:
    """Estimate the precision of a search's pairs, choose a threshold, and keep the best pairs.

    ``reasons``: why there is no verifier. ``told`` are warnings that the user has seen, the first
    of the result's. Pairs with ``unwanted`` sentences are not kept.
    ``estimating``: precision is estimated, of margins by decoys that ``decoy_encoder`` encodes.
    Raises MinerError where an estimate was asked for by name and cannot be made.
    """
    settings, indexes = result.settings, (result.pairs.source, result.pairs.target)
    notes: list[str] = []
    warnings = [*told, *warnings]
    if not indexes[0].external:
        notes += [f"ranked by margin: {reason}" for reason in reasons]
    if encoder is not None:
        warnings += encoder.warnings()
    if indexes[0].side is not None and indexes[0].side == indexes[1].side:
        warnings.append(f"both indexes were built with --side {indexes[0].side}")
    if result.recall is not None:
        compressed = any(index.compressed for index in indexes)
        notes.append(f"{'compressed indexes' if compressed else 'hybrid engine'}: {result.recall}")
    if result.second is not None:
        notes.append(f"second opinion: {result.second}")
        if result.pairs.second is not None and np.isnan(result.pairs.second).all():
            warnings.append("too few sentences are in doubt for a second opinion: it was not used")
    if result.copies:
        notes.append(
            f"{count_of(result.copies, 'target')} with the letters of a source: not paired with "
            "it, as copies are no translations (--copies keep pairs them)"
        )
    guess = None
    if estimating and len(result.pairs):
        result, guess = _estimated(result, keep, decoy_encoder, notes, warnings)
    pairs = result.pairs if settings.duplicates == "first" else each_duplicate(result.pairs)
    threshold = _threshold(keep, guess, result, encoder, notes)
    kept = pairs if threshold is None else pairs.at_least(threshold)
    gone = None
    if unwanted:
        kept, gone = decontaminate(kept, unwanted)
        notes.append(gone.note())
    kept = kept if keep.top_n is None else kept.top(keep.top_n)
    notes += advice(result, kept)
    if not len(kept):
        warnings.append(f"nothing was mined: {_why_nothing(pairs, threshold, keep)}")
    said = tuple(notes), tuple(warnings)
    return Mined(kept, pairs, guess, keep, result, threshold, *said, gone, len(told))


def _estimated(
    result: SearchResult,
    keep: Keep,
    decoy_encoder: SentenceEncoder | None,
    notes: list[str],
    warnings: list[str],
) -> tuple[SearchResult, Estimate | None]:
    """Calibrate scores; where they cannot be, raise if that was asked for by name, else warn.

    For texts in other languages than expected, which was said before the search, lines about the
    estimate would distract.
    """
    fit = not mismatched(result.languages)
    try:
        if result.verifier is not None:
            result, guess = calibrate(result, keep.decoys, refitting=keep.refit, labels=keep.labels)
        else:
            result, guess = calibrate_by_margin(result, _pool(result, keep, decoy_encoder))
    except MinerError as error:
        margins = result.verifier is None and (keep.asks or keep.threshold is not None)
        asked = (keep.target_precision, keep.decoys, keep.labels) != (None, None, None)
        if asked or margins:
            raise
        if fit:
            said = "precision cannot be estimated, and scores are the model's own"
            warnings.append(f"{said}: {error}")
        return result, None
    if fit:
        notes += guess.notes
        warnings += [f"the estimates may be off: {doubt}" for doubt in guess.doubts]
    return result, guess


def _pool(result: SearchResult, keep: Keep, encoder: SentenceEncoder | None) -> DecoyPool:
    """Return the decoys of a search by margin, and their vectors."""
    if keep.decoy_vectors is not None and keep.decoys is not None:
        return pool_with_vectors(keep.decoys, keep.decoy_vectors)
    assert encoder is not None
    return encoded_pool(encoder, keep.decoys, result.languages[1].code)


def _threshold(
    keep: Keep,
    guess: Estimate | None,
    result: SearchResult,
    encoder: SentenceEncoder | None,
    notes: list[str],
) -> float | None:
    """Return the threshold to apply; infinite where no threshold is precise enough."""
    if keep.threshold is not None:
        return keep.threshold
    precision = keep.target_precision
    if precision is None and not keep.chosen:
        precision = keep.default_precision
    if precision is None or not len(result.pairs):
        return None
    if guess is not None:
        threshold = guess.threshold(precision)
        # As it is printed, so that tables, reports and --threshold keep the same pairs.
        return math.inf if threshold is None else rounded(threshold) or threshold
    if result.verifier is not None:
        notes.append(f"without an estimate, scores of {CAUTIOUS} or more are kept")
        return CAUTIOUS
    # The model's threshold was tuned with these settings, and is invalid for others.
    model = None if encoder is None else encoder.model
    fits = model is not None and result.settings.fits_models
    threshold = model.threshold if model is not None and fits else None
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


# Minimum number of pairs for advice; minimum share of aligned, and of short pairs.
FEWEST, ALIGNED, SHORT = 100, 0.9, 0.5
# Maximum characters of a heading, or of a menu item.
HEADING = 35
# Maximum number of lines named in a message.
NAMED = 3


def advice(result: SearchResult, kept: Pairs) -> list[str]:
    """Return advice where both texts are aligned, and where most pairs are short."""
    said: list[str] = []
    if len(kept) < FEWEST:
        return said
    left, right = kept.source, kept.target
    same = left.store.line[kept.source_row] == right.store.line[kept.target_row]
    one_file = len(left.sources) == len(right.sources) == 1
    if one_file and left.sources[0].records == right.sources[0].records and same.mean() > ALIGNED:
        said.append(
            f"{np.count_nonzero(same):,} of {len(kept):,} pairs are on equal lines of both files: "
            "if these are aligned, 'miner filter' and 'miner score' judge each line as it stands"
        )
    if result.source_text is not None and result.target_text is not None:
        short = (result.source_text.characters[kept.source_row] < HEADING) & (
            result.target_text.characters[kept.target_row] < HEADING
        )
        if short.mean() > SHORT:
            said.append(
                f"{np.count_nonzero(short):,} of {len(kept):,} pairs are shorter than {HEADING} "
                "characters: if these are menus and headings, 'miner filter --scol 2 --tcol 3' "
                "with a minimum of length removes them"
            )
    return said


def repeated_ids(index: Index, rows: np.ndarray) -> str | None:
    """Return a warning about an id that several of the sentences ``rows`` share, or None."""
    distinct = np.unique(rows)
    ids = index.ids(distinct)
    (name, times), *_ = Counter(ids).most_common(1) or [("", 0)]
    if times < 2:
        return None
    same = distinct[[position for position, key in enumerate(ids) if key == name]]
    lines = ", ".join(map(str, index.store.line[same[:NAMED]].tolist()))
    more = f" and {times - NAMED:,} more" if times > NAMED else ""
    return (
        f"{index.sources[int(index.store.file[same[0]])].path}: the id {name!r} repeats, on lines "
        f"{lines}{more}: such ids tell no pair; give another --id-column, or mend the ids"
    )
