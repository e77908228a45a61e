"""Options and output that ``miner mine`` and ``miner search`` share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import guard
from miner.cli.options import command_line, say
from miner.cli.settings_options import Settings
from miner.config_fields import no_option, option
from miner.mining.keep import Keep, KeepError
from miner.scoring.decontaminate_settings import Without
from miner.text.formats import TABLES
from miner.text_table import count_of

if TYPE_CHECKING:
    from miner.cli.progress_bars import Progress
    from miner.mining.result import Mined


def checked(
    keep: dict[str, Any],
    output: Output,
    file: str | None,
    work: str | None,
    without: Without,
    inputs: Iterable[str | None],
) -> tuple[Keep, Output]:
    """Return how many pairs to keep, and the outputs with a second ``file``; all can be written.

    Raises UsageError for outputs that would replace one of the ``inputs``.
    """
    output = output.with_target(file)
    keep_settings = read_keep(keep, output)
    files = (keep.get(name) for name in ("decoys", "decoy_vectors", "labels"))
    guard.check([*inputs, *files, *without.files], output.places)
    output.check(work, without)
    return keep_settings, output


def read_keep(values: dict[str, Any], output: Output) -> Keep:
    """Return how many pairs to keep, by options whose decoys and vectors are files."""
    import numpy as np

    from miner.errors import MismatchError, strictly
    from miner.index.vectors import open_vectors
    from miner.text.corpus import CorpusReader
    from miner.text.sheet import read_labels

    decoys, embeddings = values.get("decoys"), values.get("decoy_vectors")
    vectors = sentences = None
    if embeddings is not None:
        if decoys is None:
            raise KeepError("--decoy-embeddings are the vectors of --decoys; give both")
        vectors = open_vectors(embeddings)
    if decoys is not None:
        reader = CorpusReader(decoys)
        with strictly():
            blocks = list(reader)
        if vectors is not None and len(vectors) != reader.lines:
            raise MismatchError(
                f"{embeddings} has {len(vectors)} vectors, {decoys} {reader.lines} lines; there "
                "must be one for every line, empty lines included"
            )
        if vectors is not None:
            vectors = vectors[np.concatenate([np.empty(0, int), *(b.lines - 1 for b in blocks)])]
        sentences = [sentence for block in blocks for sentence in block.sentences]
    labels = None if values.get("labels") is None else read_labels(values["labels"])
    read = {
        "decoys": sentences,
        "decoy_vectors": vectors,
        "labels": labels,
        "report": output.page is not None,
    }
    return Keep(**{**values, **read})


@dataclass(frozen=True)
class Output:
    """Where the pairs and the report go, and in which form."""

    output: str = option(
        "-",
        "Output file of pairs [standard output]. .gz .bz2 .xz .zst compress; .jsonl has JSON "
        "objects, .tmx units, .parquet all columns; two files have one side each.",
        option="-o --output",
        metavar="FILE [FILE]",
        quiet=True,
    )
    target: str | None = no_option(None, "the argument FILE")
    rejected: str | None = option(
        None, "Pairs that --without excludes, with the file and line of each match.", metavar="FILE"
    )
    page: str | None = option(
        None, "Write an HTML report (extra: report).", option="--report", metavar="FILE"
    )
    ids: bool = option(False, "Write ids (line numbers if there are none) instead of text.")
    bucc: bool = option(False, "Write 'source id, tab, target id' without scores.")

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if self.bucc and self.output.endswith(tuple(TABLES)):
            raise click.UsageError("--bucc writes lines of ids; name the output .tsv")
        outputs = {name: path for name, path in self.places.items() if name != "--report"}
        guard.check_suffixes(outputs, TABLES if self.target is None else ())
        if self.bucc:
            guard.check_suffixes({"-o": self.output}, written="tsv")
        elif self.output.endswith(".bucc") or ".bucc." in self.output:
            raise click.UsageError(
                f"-o {self.output}: scores and texts would be written there; give --bucc for "
                "pairs of ids, or name it .tsv"
            )

    def with_target(self, target: str | None) -> Output:
        """Return these outputs with a file for each side. Raises UsageError."""
        if target is not None and (self.bucc or not self.is_file or self.is_directory):
            raise click.UsageError(f"{target}: with two files of -o, the first is a file of text")
        if target and os.path.exists(target) and not os.path.exists(self.output):
            raise click.UsageError(f"{target} would be replaced, as the second file of -o")
        return replace(self, target=target)

    @property
    def places(self) -> dict[str, str | None]:
        """Outputs by option."""
        pages = {"--rejected": self.rejected, "--report": self.page}
        return {"-o": self.output, "the second file of -o": self.target, **pages}

    @property
    def is_file(self) -> bool:
        """True if the pairs go into a file, not to standard output, a device or a pipe."""
        path = Path(self.output)
        return self.output != "-" and (path.is_file() or not path.exists())

    @property
    def beside(self) -> str | None:
        """The file beside which a stopped run leaves its results; None without one."""
        return None if self.is_directory else guard.beside(self.output)

    @property
    def is_directory(self) -> bool:
        """True if the pairs go into a directory of compressed parts."""
        return self.output.endswith(("/", os.sep))

    def check(self, work: str | None, without: Without) -> None:
        """Refuse, before any work, a place that cannot be written; it may be below ``work``."""
        from miner.errors import writing
        from miner.libraries import require
        from miner.reports import search_report
        from miner.text.artifacts import MANIFEST, replaceable
        from miner.text.remote import is_remote

        if self.rejected is not None and not without.files:
            raise click.UsageError("--rejected takes the pairs that --without leaves out; give it")
        if work is not None and not is_remote(work):
            with writing(work):
                Path(work).mkdir(parents=True, exist_ok=True)
        files = [self.target, self.rejected, self.page]
        files += [] if self.is_directory else [self.output]
        guard.check_writable(files)
        if self.is_directory:
            replaceable(self.output, MANIFEST)
        if self.page is not None:
            search_report.check(self.page)
        if self.output.endswith(".parquet"):
            require(["pyarrow"], f"{self.output}: writing Parquet", "parquet")

    def write(self, mined: Mined, progress: Progress) -> None:
        """End the bar, write the pairs and the report, then say how many were kept and why."""
        from miner.mining.pair_files import describe, write_parts
        from miner.mining.result import repeated_ids
        from miner.reports import search_report
        from miner.scoring.language_notes import mismatched
        from miner.text.write_bitext import beside, write_bitext

        progress.close()
        kept, pairs = mined.pairs, mined.all_pairs
        for note in mined.notes:
            say(note)
        command = command_line()
        if self.is_directory:
            write_parts(mined, self.output, ids=self.ids, bucc=self.bucc, command=command)
        else:
            mined.write(self.output, self.target, ids=self.ids, bucc=self.bucc)
        if self.target is not None:
            files = [self.output, self.target, beside(self.output, ".ids")]
            paths = files[: 3 if self.ids or kept.more else 2]
            manifest = beside(self.output, ".manifest.json")
            describe(mined, manifest, {Path(path): {} for path in paths}, command)
        if self.rejected is not None and mined.left_out is not None:
            codes = mined.search.languages[0].code, mined.search.languages[1].code
            write_bitext(mined.left_out.rows(), [self.rejected], codes)
        if self.ids or self.bucc:
            for index, rows in ((kept.source, kept.source_row), (kept.target, kept.target_row)):
                if warning := repeated_ids(index, rows):
                    say(f"warning: {warning}")
        if self.page is not None:
            search_report.write(self.page, mined)
            say(f"report written to {self.page}")
        # A warning that nothing was mined is printed last, after the counts.
        for warning in mined.warnings[mined.told : len(mined.warnings) - (not len(kept))]:
            say(f"warning: {warning}")
        fit = not mismatched(mined.search.languages)
        if len(pairs) and fit and (mined.estimate is not None or not mined.keep.chosen):
            say(table(mined))
        where = "standard output" if self.output == "-" else self.output
        where += f" and {self.target}" if self.target else ""
        line = f"{len(kept):,} of {count_of(len(pairs), 'pair')} written to {where}"
        if len(kept) and mined.applied is not None:
            from miner.precision.estimate import rounded

            best = "" if mined.keep.top_n is None else f"the best {len(kept)}, "
            line += f": {best}scores of {rounded(mined.applied):.6f} or more"
        if fit and mined.precision is not None:
            line += f", estimated precision {mined.precision:.3f}"
        say(line)
        if not len(kept):
            say(f"warning: {mined.warnings[-1]}")


# Options of all mining commands.
keeping = Settings(Keep, "keep", dict)()
output = Settings(Output, "output")()


def table(mined: Mined) -> str:
    """Lay out thresholds, the pairs that each keeps, and their estimated precision and recall."""
    estimate = mined.estimate
    if estimate is None:
        rows = ["threshold     kept"]
        rows += [f"{row.threshold:9.6f} {row.kept:8d}" for row in mined.table()]
        rows.append("No threshold suits every corpus: read pairs around one before you trust it.")
        return "\n".join(rows)
    rows = ["threshold     kept  precision (90% interval)  recall (90% interval)"]
    for row in mined.table():
        assert row.precision is not None
        recall = "–" if row.recall is None else _share(row.recall, row.recall_interval)
        rows.append(
            f"{row.threshold:9.6f} {row.kept:8d}  "
            f"{_share(row.precision, row.precision_interval):26}{recall}"
        )
    rows.append(
        f"Estimated with {estimate.decoys:,} decoys ({estimate.matched:,} matched"
        + (f", {estimate.dropped:,} others dropped" if estimate.dropped else "")
        + ")"
        + (f" and {count_of(estimate.labels, 'label')}" if estimate.labels else "")
        + f"; recall is {estimate.recall_of}."
    )
    if estimate.labels and estimate.near is None:
        return "\n".join(rows)
    near = "Not covered: pairs that differ in one number, name or negation."
    if estimate.near is not None and len(mined.pairs):
        share = estimate.near.kept(float(mined.pairs.score[-1]))
        kept = {0.0: "none", 1.0: "all"}.get(share, f"{share:.1%}")
        near += (
            f" As a test, one fact was changed in {len(estimate.near.score)} likely pairs: this "
            f"threshold would keep {kept} of them."
        )
    rows.append(f"{near} 'miner filter' finds some.")
    return "\n".join(rows)


def _share(value: float, bounds: tuple[float, float] | None) -> str:
    """Format an estimate and its interval."""
    from miner.precision.estimate import interval_text

    return f"{value:.3f}" + ("" if bounds is None else f" ({interval_text(bounds)})")
