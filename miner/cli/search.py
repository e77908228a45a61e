"""``miner search``: two index directories to pairs."""

from dataclasses import dataclass, replace
from typing import Any

import click

from miner import report as reports
from miner import threshold as thresholds
from miner.cli import options
from miner.corpus import read
from miner.encoder import Encoder
from miner.errors import MinerError
from miner.index import Index
from miner.pairs import Pairs, each_copy
from miner.search import run, verifier_for

# Estimated precisions whose thresholds the table shows.
SHOWN = (0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5)
# Shares of all pairs that the table shows where there is no estimate.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


@click.command(
    epilog="""\b
Examples:
  miner search work/de work/en --target-precision 0.95 --report report.html -o pairs.tsv
  miner search work/de work/en --threshold 0.5 -o pairs.parquet
  miner search work/de work/en --threshold 1.15 -k 4 --margin ratio --retrieval max -o pairs.tsv
  miner search work/de work/en --top-n 100000 --ids -o scored-ids.tsv
  miner search work/de work/en --target-precision 0.9 --decoys other.en --bucc > mined.tsv"""
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
@options.threads
@options.output
def search(source: str, target: str, model: str | None, **settings: Any) -> None:
    """Mine translation pairs from the indexes SOURCE and TARGET.

    Pairs are written best first. Every candidate is looked at twice, and its score is the
    probability of being a translation; for indexes of other vectors, and with --rank margin, it is
    the margin. After the search the precision of every threshold is estimated, by sentences mixed
    in among the targets that cannot be translations: --target-precision keeps what reaches it, and
    a table shows what else there is to choose.
    """
    wishes = Wishes.of(settings)
    mine_indexes(Index.open(source), Index.open(target), model, wishes, **settings)


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
        if wishes.target_precision is not None and not wishes.estimating:
            raise click.UsageError("--target-precision needs the estimate; leave out --no-estimate")
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


def mine_indexes(
    source: Index,
    target: Index,
    model: str | None,
    wishes: Wishes,
    *,
    encoder: Encoder | None = None,
    neighbors: int | None,
    rank: str | None,
    duplicates: str,
    **settings: Any,
) -> None:
    """Search, estimate, cut, write, and say what was kept."""
    if model is not None:
        encoder = Encoder.load(model)
    verifier = verifier_for(source, rank, encoder)
    if verifier is not None and wishes.threshold is not None and wishes.threshold > 1:
        raise click.UsageError(
            f"scores are probabilities here, so --threshold {wishes.threshold:g} would keep "
            "nothing; give one below 1, or --rank margin"
        )
    for option, given in (
        ("--target-precision", wishes.target_precision is not None),
        ("--report", wishes.page is not None),
        ("--decoys", wishes.decoys is not None),
    ):
        if verifier is None and given:
            raise click.UsageError(
                f"{option} needs the second look, which margins do without; use a model that "
                "carries a verifier, and no --rank margin"
            )
    with options.bar("searching", "sentences") as report:
        found = run(source, target, verifier, k=neighbors, report=report, **settings)
    pairs, estimate = found.pairs, None
    if verifier is not None and wishes.estimating and len(pairs):
        sentences = None if wishes.decoys is None else read(wishes.decoys).sentences
        try:
            estimate = thresholds.estimate(found, sentences)
        except MinerError as error:
            if wishes.target_precision is not None or wishes.decoys is not None:
                raise
            click.echo(f"warning: precision cannot be estimated: {error}", err=True)
        else:
            pairs = replace(pairs, q_value=estimate.q_value)
            for doubt in estimate.doubts:
                click.echo(f"warning: the estimates may be off: {doubt}", err=True)
    threshold = wishes.threshold
    precision = wishes.target_precision or wishes.default_precision
    if precision is not None and estimate is None:
        threshold = 0.5
    if precision is not None and estimate is not None:
        threshold = estimate.threshold(precision)
        # Nothing is precise enough: a score that none reaches.
        threshold = float("inf") if threshold is None else threshold
    if wishes.page is not None:
        reports.write(wishes.page, found, estimate, threshold)
        click.echo(f"report written to {wishes.page}", err=True)
    if duplicates == "each":
        pairs = each_copy(pairs)
    kept = pairs if threshold is None else pairs.at_least(threshold)
    kept = kept if wishes.top_n is None else kept.top(wishes.top_n)
    kept.write(wishes.output, ids=wishes.ids, bucc=wishes.bucc)
    if len(pairs) and (estimate is not None or not wishes.chosen):
        click.echo(table(pairs, estimate), err=True)
    where = "standard output" if wishes.output == "-" else wishes.output
    line = f"{len(kept)} of {len(pairs)} pairs written to {where}"
    if len(kept) and threshold is not None:
        line += f": scores of {threshold:.4f} or more"
    if len(kept) and estimate is not None:
        line += (
            f", estimated precision {estimate.precision(estimate.count(float(kept.score[-1]))):.3f}"
        )
    click.echo(line, err=True)
    if not len(kept):
        click.echo(f"warning: nothing was mined: {_why(pairs, wishes)}", err=True)


def table(pairs: Pairs, estimate: thresholds.Estimate | None) -> str:
    """Thresholds, the pairs that each would keep, and their estimated precision and recall."""
    if estimate is None:
        rows = ["threshold     kept"]
        total = len(pairs)
        for n in sorted({max(1, round(total * share)) for share in SHARES}):
            threshold = thresholds.rounded(float(pairs.score[n - 1]))
            rows.append(f"{threshold:9.4f} {pairs.count_at_least(threshold):8d}")
        rows.append("No threshold suits every corpus: read pairs around one before you trust it.")
        return "\n".join(rows)
    rows = ["threshold     kept  precision  recall (estimated)"]
    for row in estimate.table(SHOWN):
        rows.append(
            f"{row.threshold:9.4f} {row.kept:8d}      {row.precision:.3f}   {row.recall:.3f}"
        )
    rows.append(
        f"Estimated by {estimate.decoys} decoys, sentences mixed in among the targets that cannot "
        f"be translations ({estimate.matched} were matched). They tell of pairs that match by "
        "chance,\nnot of sentences that differ from a translation in one word. Recall counts what "
        "the search found."
    )
    return "\n".join(rows)


def _why(pairs: Pairs, wishes: Wishes) -> str:
    """The likeliest reason for an empty result."""
    for side in (pairs.source, pairs.target):
        name = ", ".join(source.path for source in side.sources)
        if not len(side):
            return f"{name} holds no sentence"
        if not side.distinct:
            return f"the model knows no piece of any sentence in {name}; wrong language?"
    if len(pairs) and wishes.threshold is not None:
        return f"the best score is {pairs.score[0]:.4f}, the threshold {wishes.threshold}"
    if len(pairs) and wishes.target_precision is not None:
        return f"no threshold has an estimated precision of {wishes.target_precision:g}"
    return "no candidates were found"
