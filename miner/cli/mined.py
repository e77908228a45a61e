"""Options and output that ``miner mine`` and ``miner search`` share."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import guard, loading_options, options, sharding

if TYPE_CHECKING:
    from miner.knn.search_checkpoint import Checkpoint
    from miner.knn.settings import SearchSettings
    from miner.mining.keep import Keep
    from miner.mining.mine import Mined


def say(text: str) -> None:
    """Print a line for the user, apart from the data."""
    click.echo(text, err=True)


def take_keep(given: dict[str, Any], **defaults: Any) -> Keep:
    """Take the options out of ``given`` that say how many pairs to keep."""
    import numpy as np

    from miner.errors import MismatchError, strictly
    from miner.index.vectors import open_vectors
    from miner.mining.keep import Keep
    from miner.text.corpus import Reader

    decoys, embeddings = given.pop("decoys"), given.pop("decoy_embeddings")
    vectors = None
    if embeddings is not None:
        if decoys is None:
            raise click.UsageError("--decoy-embeddings are the vectors of --decoys; give both")
        vectors = open_vectors(embeddings)
    if decoys is not None:
        reader = Reader(decoys)
        with strictly():
            blocks = list(reader)
        if vectors is not None and len(vectors) != reader.lines:
            raise MismatchError(
                f"{embeddings} has {len(vectors)} vectors, {decoys} {reader.lines} lines; there "
                "must be one for every line, empty lines included"
            )
        if vectors is not None:
            vectors = vectors[np.concatenate([np.empty(0, int), *(b.lines - 1 for b in blocks)])]
        decoys = [sentence for block in blocks for sentence in block.sentences]
    return Keep(
        decoy_vectors=vectors,
        report=given["page"] is not None,
        threshold=given.pop("threshold"),
        target_precision=given.pop("target_precision"),
        top_n=given.pop("top_n"),
        estimate=given.pop("estimating"),
        refit=given.pop("refit"),
        decoys=decoys,
        **defaults,
    )


def take_settings(given: dict[str, Any]) -> SearchSettings:
    """Take the options of a search out of ``given``."""
    from miner.knn.settings import SearchSettings

    k, rank, margin = (given.pop(name) for name in ("neighbors", "rank", "margin"))
    if margin is not None:
        if rank == "probability":
            raise click.UsageError("--margin ranks by margin; leave it out, or --rank")
        rank = "margin"
    languages = given.pop("source_lang"), given.pop("target_lang")
    names = ("retrieval", "duplicates", "memory", "engine", "exact", "device", "threads")
    others = {name: given.pop(name) for name in names}
    return SearchSettings(k=k, rank=rank, margin=margin or "ratio", languages=languages, **others)


mining_arguments = options.several(
    click.argument("source"),
    click.argument("target"),
    options.model,
    loading_options.loading,
    options.languages,
    options.keeping,
    options.estimating,
    click.option(
        "--work",
        metavar="DIR",
        help="Keep the two indexes in DIR/source and DIR/target, for 'miner search', and the "
        "neighbour lists in DIR/search.h5: a stopped search continues from there. With shards, the "
        "directory of all tasks' results, which all workers share, or s3://BUCKET/DIR (extra: s3).",
    ),
    sharding.options,
    options.factory,
    options.mining,
    options.machine,
    options.threads,
    options.reading,
    options.output,
)


@dataclass(frozen=True)
class Output:
    """Where the pairs and the report go, and in which form."""

    output: str
    page: str | None
    ids: bool
    bucc: bool

    @classmethod
    def take(cls, given: dict[str, Any]) -> Output:
        """Take the options out of ``given``, and refuse those that contradict each other."""
        taken = cls(**{name: given.pop(name) for name in ("output", "page", "ids", "bucc")})
        if taken.bucc and taken.output.endswith(".parquet"):
            raise click.UsageError("--bucc writes text; Parquet has all columns")
        guard.check_suffixes({"-o": taken.output}, (".parquet",))
        if taken.bucc:
            guard.check_written({"-o": taken.output}, "tsv")
        elif taken.output.endswith(".bucc") or ".bucc." in taken.output:
            raise click.UsageError(
                f"-o {taken.output}: scores and texts would be written there; give --bucc for "
                "pairs of ids, or name it .tsv"
            )
        return taken

    @property
    def is_file(self) -> bool:
        """True if the pairs go into a file, not to standard output, a device or a pipe."""
        place = Path(self.output)
        return self.output != "-" and (place.is_file() or not place.exists())

    @property
    def is_directory(self) -> bool:
        """True if the pairs go into a directory of compressed parts."""
        return self.output.endswith(("/", os.sep))

    def check(self) -> None:
        """Refuse, before any work, a place that cannot be written."""
        from miner.reports import search_report

        files = [self.page] if self.is_directory else [self.output, self.page]
        guard.check_writable([path for path in files if path is not None])
        if self.is_directory:
            from miner.mining.pair_files import check_place

            check_place(self.output)
        if self.page is not None:
            search_report.check(self.page)

    def write(self, mined: Mined, checkpoint: Checkpoint | None) -> None:
        """Write the pairs and the report, then say what was kept and why."""
        from miner.reports import search_report

        kept, pairs = mined.pairs, mined.all_pairs
        for note in mined.notes:
            say(note)
        if self.is_directory:
            from miner.mining.pair_files import write_parts

            command = shlex.join(["miner", *sys.argv[1:]])
            write_parts(mined, self.output, ids=self.ids, bucc=self.bucc, command=command)
        else:
            kept.write(self.output, ids=self.ids, bucc=self.bucc)
        if self.page is not None:
            applied = mined.threshold
            if mined.keep.top_n is not None:
                applied = float(kept.score[-1]) if len(kept) else float("inf")
            search_report.write(self.page, mined.search, mined.estimate, applied)
            say(f"report written to {self.page}")
        if checkpoint is not None:
            checkpoint.close()
        # The warning that nothing was mined is the last, and comes after the counts.
        for warning in mined.warnings[: len(mined.warnings) - (not len(kept))]:
            say(f"warning: {warning}")
        if len(pairs) and (mined.estimate is not None or not mined.keep.chosen):
            say(table(mined))
        where = "standard output" if self.output == "-" else self.output
        line = f"{len(kept)} of {len(pairs)} pairs written to {where}"
        if len(kept) and mined.threshold is not None:
            from miner.mining.precision import rounded

            line += f": scores of {rounded(mined.threshold):.6f} or more"
        if mined.precision is not None:
            line += f", estimated precision {mined.precision:.3f}"
        say(line)
        if not len(kept):
            say(f"warning: {mined.warnings[-1]}")


def table(mined: Mined) -> str:
    """Lay out thresholds, the pairs that each keeps, and their estimated precision and recall."""
    estimate = mined.estimate
    if estimate is None:
        rows = ["threshold     kept"]
        rows += [f"{row.threshold:9.6f} {row.kept:8d}" for row in mined.table()]
        rows.append("No threshold suits every corpus: read pairs around one before you trust it.")
        return "\n".join(rows)
    rows = ["threshold     kept  precision (90%)        recall (90%)"]
    for row in mined.table():
        assert row.precision is not None and row.recall is not None
        rows.append(
            f"{row.threshold:9.6f} {row.kept:8d}  {_share(row.precision, row.precision_interval)}"
            f"  {_share(row.recall, row.recall_interval)}".rstrip()
        )
    rows.append(
        f"Estimated with {estimate.decoys:,} decoys ({estimate.matched:,} matched"
        + (f", {estimate.dropped:,} others dropped" if estimate.dropped else "")
        + "); recall is relative to the pairs found."
    )
    near = "Near-copies are not covered"
    if estimate.near is not None and len(mined.pairs):
        share = estimate.near.kept(float(mined.pairs.score[-1]))
        count = len(estimate.near.score)
        near += f": of {count} pairs with one fact changed, {share:.0%} would be kept"
    rows.append(f"{near}.")
    return "\n".join(rows)


def _share(value: float, bounds: tuple[float, float] | None) -> str:
    """Format an estimate and its interval."""
    return f"{value:.3f}" + ("" if bounds is None else f" ({bounds[0]:.3f}-{bounds[1]:.3f})")
