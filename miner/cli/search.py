"""``miner search``: two index directories to pairs."""

import errno
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from miner.cli import options
from miner.cli.progress_bars import Progress
from miner.encoder.encoder import Encoder
from miner.errors import MinerError, strictly
from miner.index.index import Index
from miner.knn.search_checkpoint import Checkpoint
from miner.knn.settings import SearchSettings
from miner.mining import precision as thresholds
from miner.mining.pairs import Pairs, each_copy
from miner.mining.search import Search, require_one_model, run, verifier_for
from miner.reports import search_report as reports
from miner.scoring.verifier import Verifier
from miner.text.corpus import read
from miner.text.output import resource_error

# Estimated precisions whose thresholds the table shows.
SHOWN = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
# Shares of all pairs that the table shows where there is no estimate.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# What is kept where a precision was to be aimed at and cannot be estimated.
CAUTIOUS = 0.5


@click.command(
    epilog="""\b
Examples:
  miner search work/de work/en --target-precision 0.95 --report report.html -o pairs.tsv
  miner search work/de work/en --threshold 0.1 -o pairs.parquet
  miner search work/de work/en --threshold 1.15 -k 4 --margin ratio --retrieval max -o pairs.tsv
  miner search work/de work/en --top-n 100000 --ids -o scored-ids.tsv
  miner search work/de work/en --target-precision 0.9 --decoys other.en --bucc > mined.tsv
  miner search work/de work/en --state search.h5 -o pairs.tsv"""
)
@click.argument("source")
@click.argument("target")
@options.keeping
@options.estimating
@click.option(
    "--model",
    metavar="DIR",
    help="Where the model is now that built the indexes [where it was].",
)
@options.mining
@options.machine
@click.option(
    "--state",
    metavar="FILE",
    help="Keep the neighbour lists in FILE: a search that was stopped goes on from there, and "
    "after 'miner index --add' only new sentences are searched [OUTPUT.state.h5, gone when done].",
)
@options.threads
@options.output
def search(source: str, target: str, model: str | None, state: str | None, **settings: Any) -> None:
    """Mine translation pairs from the indexes SOURCE and TARGET.

    Pairs are written best first. Every candidate is looked at twice, and its score is the
    probability of being a translation; for indexes of other vectors, and with --rank margin, it is
    the margin. Unless told how much to keep, all pairs are written. After the search the precision
    of every threshold is estimated, by sentences mixed in among the targets that cannot be
    translations: --target-precision keeps what reaches it, and a table shows what else there is to
    choose.
    """
    wishes = Wishes.of(settings)
    for other in filter(None, (wishes.output, wishes.page)):
        if state is not None and Path(state).resolve() == Path(other).resolve():
            raise click.UsageError(f"--state {state} is where the results go; name another file")
    first, second = Index.open(source), Index.open(target)
    require_one_model(first, second)
    if first.side is not None and first.side == second.side:
        click.echo(f"warning: both indexes were built with --side {first.side}", err=True)
    settings["k"] = settings.pop("neighbors")
    searching = SearchSettings(**settings)
    rank = searching.rank
    encoder = None if model is None or rank == "margin" else Encoder.load(model, side="source")
    reasons: list[str] = []
    verifier = verifier_for(first, rank, encoder, reasons.append)
    wishes.check(verifier, *reasons)
    if reasons and not first.external:
        click.echo(f"ranking by margin: {reasons[0]}", err=True)
    checkpoint = None
    if state is not None:
        checkpoint = Checkpoint(state, keep=True, note=say)
    elif wishes.is_file:
        checkpoint = Checkpoint(f"{wishes.output}.state.h5", keep=False, note=say)
    mine_indexes(first, second, verifier, wishes, checkpoint, searching)


def say(text: str) -> None:
    """A line for the user, apart from the data."""
    click.echo(text, err=True)


@dataclass(frozen=True)
class Wishes:
    """What to keep of a search, what to say of it, and where to write it."""

    threshold: float | None
    target_precision: float | None
    top_n: int | None
    ids: bool
    bucc: bool
    decoys: str | None
    estimating: bool
    page: str | None
    output: str
    # A precision to aim at if it can be estimated; where it cannot, a probability of one half.
    default_precision: float | None = None

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Wishes":
        """Take them out of a command's options, and refuse those that contradict each other."""
        wishes = cls(
            **{name: settings.pop(name) for name in cls.__dataclass_fields__ if name in settings}
        )
        if wishes.bucc and wishes.output.endswith(".parquet"):
            raise click.UsageError("--bucc writes text; Parquet has all columns")
        if wishes.target_precision is not None and wishes.threshold is not None:
            raise click.UsageError("--target-precision chooses the threshold; give one of the two")
        for option in ("target_precision", "decoys"):
            if getattr(wishes, option) is not None and not wishes.estimating:
                name = option.replace("_", "-")
                raise click.UsageError(f"--{name} needs the estimate; leave out --no-estimate")
        if settings["margin"] is not None:
            if settings["rank"] == "probability":
                raise click.UsageError("--margin ranks by margin; leave it out, or --rank")
            settings["rank"] = "margin"
        settings["margin"] = settings["margin"] or "ratio"
        return wishes

    @property
    def chosen(self) -> bool:
        """Whether the user said how much to keep."""
        return (self.threshold, self.target_precision, self.top_n) != (None, None, None)

    @property
    def is_file(self) -> bool:
        """Whether the pairs go into a file, and not to standard output, a device or a pipe."""
        place = Path(self.output)
        return self.output != "-" and (place.is_file() or not place.exists())

    def check(self, verifier: Verifier | None, reason: str = "margins do without") -> None:
        """Refuse, before any work, what cannot be done with or without a verifier."""
        if verifier is not None and self.threshold is not None and self.threshold > 1:
            raise click.UsageError(
                f"scores are probabilities here, so --threshold {self.threshold:g} would keep "
                "nothing; give one below 1, or --rank margin"
            )
        for name in filter(None, (self.output, self.page)):
            parent = Path(name).parent
            if not parent.is_dir():  # now, and not after the search
                raise resource_error(FileNotFoundError(errno.ENOENT, ""), name)
        for option, given in (
            ("--target-precision", self.target_precision is not None),
            ("--report", self.page is not None),
            ("--decoys", self.decoys is not None),
        ):
            if verifier is None and given:
                raise click.UsageError(f"{option} needs the second look: {reason}")
        if self.page is not None:
            reports.check(self.page)


def mine_indexes(
    source: Index,
    target: Index,
    verifier: Verifier | None,
    wishes: Wishes,
    checkpoint: Checkpoint | None,
    settings: SearchSettings,
) -> None:
    """Search, estimate, cut, write, and say what was kept."""
    with strictly():
        decoys = None if wishes.decoys is None else read(wishes.decoys).sentences
    operations = 2.0 * source.distinct * target.distinct * source.dimension
    with Progress("sentences", loops="exact", operations=operations) as report:
        found = run(source, target, verifier, settings, report, checkpoint)
    if found.recall is not None:
        click.echo(
            "compressed indexes: {:.4f} of the true neighbours were found from source to target, "
            "{:.4f} back (measured on a sample)".format(*found.recall),
            err=True,
        )
    estimate = None
    if verifier is not None and wishes.estimating and len(found.pairs):
        estimate = _estimate(found, decoys, wishes)
    if estimate is not None:
        found = replace(found, pairs=replace(found.pairs, q_value=estimate.q_value))
    pairs = found.pairs if settings.duplicates == "first" else each_copy(found.pairs)
    threshold, why = wishes.threshold, "no candidates were found"
    precision = wishes.target_precision or wishes.default_precision
    if precision is not None and len(pairs):
        if estimate is None:
            threshold = CAUTIOUS
            click.echo(f"without an estimate, scores of {CAUTIOUS} or more are kept", err=True)
        else:
            threshold = estimate.threshold(precision)
            # Where nothing is precise enough: a score that none reaches.
            threshold = float("inf") if threshold is None else threshold
            why = f"no threshold has an estimated precision of {precision:g}"
    kept = pairs if threshold is None else pairs.at_least(threshold)
    kept = kept if wishes.top_n is None else kept.top(wishes.top_n)
    kept.write(wishes.output, ids=wishes.ids, bucc=wishes.bucc)
    if wishes.page is not None:
        applied = threshold
        if wishes.top_n is not None:
            applied = float(kept.score[-1]) if len(kept) else float("inf")
        reports.write(wishes.page, found, estimate, applied)
        click.echo(f"report written to {wishes.page}", err=True)
    if checkpoint is not None:
        checkpoint.close()
    if len(pairs) and (estimate is not None or not wishes.chosen):
        click.echo(table(pairs, estimate), err=True)
    where = "standard output" if wishes.output == "-" else wishes.output
    line = f"{len(kept)} of {len(pairs)} pairs written to {where}"
    if len(kept) and threshold is not None:
        line += f": scores of {thresholds.rounded(threshold):.6f} or more"
    if len(kept) and estimate is not None:
        line += f", estimated precision {estimate.precision_at(float(kept.score[-1])):.3f}"
    click.echo(line, err=True)
    if not len(kept):
        click.echo(f"warning: nothing was mined: {_why(pairs, threshold, wishes, why)}", err=True)


def _estimate(
    found: Search, decoys: Sequence[str] | None, wishes: Wishes
) -> thresholds.Estimate | None:
    """The estimate, its doubts said; None, with a warning, where none was asked for by name."""
    try:
        estimate = thresholds.estimate(found, decoys)
    except MinerError as error:
        if wishes.target_precision is not None or decoys is not None:
            raise
        click.echo(f"warning: precision cannot be estimated: {error}", err=True)
        return None
    for doubt in estimate.doubts:
        click.echo(f"warning: the estimates may be off: {doubt}", err=True)
    return estimate


def table(pairs: Pairs, estimate: thresholds.Estimate | None) -> str:
    """Thresholds, the pairs that each would keep, and their estimated precision and recall."""
    if estimate is None:
        rows = ["threshold     kept"]
        total = len(pairs)
        for n in sorted({max(1, round(total * share)) for share in SHARES}):
            threshold = thresholds.rounded(float(pairs.score[n - 1]))
            rows.append(f"{threshold:9.6f} {pairs.count_at_least(threshold):8d}")
        rows.append("No threshold suits every corpus: read pairs around one before you trust it.")
        return "\n".join(rows)
    rows = ["threshold     kept  precision  recall (estimated)"]
    for row in estimate.table(SHOWN):
        rows.append(
            f"{row.threshold:9.6f} {pairs.count_at_least(row.threshold):8d}      "
            f"{row.precision:.3f}   {row.recall:.3f}"
        )
    rows.append(
        f"Estimated by {estimate.decoys} decoys, sentences mixed in among the targets that cannot "
        f"be translations ({estimate.matched} were matched). They tell of pairs that match by "
        "chance,\nnot of sentences that differ from a translation in one word. Recall counts what "
        "the search found."
    )
    return "\n".join(rows)


def _why(pairs: Pairs, threshold: float | None, wishes: Wishes, otherwise: str) -> str:
    """The likeliest reason for an empty result."""
    for side in (pairs.source, pairs.target):
        name = ", ".join(source.path for source in side.sources)
        if not len(side):
            return f"{name} holds no sentence"
        if not side.distinct:
            return f"the model knows no piece of any sentence in {name}; wrong language?"
    if wishes.top_n == 0:
        return "--top-n 0 keeps nothing"
    if len(pairs) and threshold is not None and threshold < float("inf"):
        return f"the best score is {pairs.score[0]:.4f}, the threshold {threshold}"
    return otherwise
