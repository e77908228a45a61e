"""``miner align``: align the sentences of two documents, or of two sets of documents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from miner.alignment.settings import BeadSettings
from miner.cli import guard, options, sharding
from miner.cli.options import say
from miner.cli.settings_options import Command, Settings, arg, opt
from miner.encoder.loading import USUAL, Loading
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.results import estimated
from miner.tasks.workers import Workers
from miner.text.formats import TABLES
from miner.text_table import count_of

if TYPE_CHECKING:
    from miner.alignment.aligned import Aligned

_keep = Settings(Keep, "keep")


@click.command(cls=Command)
def align(
    source: str = arg(),
    target: str = arg(),
    file: str | None = arg(required=False, metavar="[FILE]"),
    output: str = options.output(
        "Rows in the format of the suffix, TSV by default: probability, source, target. Two "
        "files have one side each. .ladder has lines [0, 1]:[2] of line numbers, covering all "
        "lines. .gz .bz2 .xz .zst compress.",
        "FILE [FILE]",
    ),
    lines: bool = opt(
        "Add documents and line numbers, from 0: as TSV cells, or as a third file beside two "
        "files. Other formats always have them."
    ),
    page: str | None = opt(
        "Write an HTML page (extra: report): both documents side by side, with lines between "
        "them in the colour of their probability.",
        "--report",
        metavar="FILE",
    ),
    keep: Keep = _keep(
        "threshold",
        "target_precision",
        threshold={"help": "Keep beads of at least this probability."},
        target_precision={"help": "Keep as many beads as have this estimated precision."},
    ),
    pairs: str | None = opt(
        "TSV of document pairs, optionally after a score: files in SOURCE and TARGET, as "
        "written by 'miner align-documents'.",
        metavar="FILE",
    ),
    model: str = options.model,
    loading: Loading = options.loading(),
    second: str | None = options.second,
    second_pairs: int | None = options.second_pairs,
    beads: BeadSettings = Settings(BeadSettings, "beads")(),
    work: str | None = sharding.work(),
    workers: Workers = sharding.options,
    settings: SearchSettings = options.search("memory", "device", "threads"),
) -> None:
    """Align the sentences of the documents SOURCE and TARGET, in their order.

    Both have a sentence a line, or --split splits them. A bead joins up to six sentences with up to
    six others. SOURCE and TARGET may be folders or patterns, whose files are paired by their names
    up to the first dot. The probability of a bead needs no gold standard; its mean over the kept
    beads is their estimated precision. Without --threshold and --target-precision all beads are
    kept. -o FILE FILE writes a file for each side.

    Examples:
      miner align book.de book.fr -o book.tsv
      miner align book.de book.fr -o book.ladder
      miner align book.de book.fr --target-precision 0.95 -o clean.de clean.fr
      miner align book.de book.fr --report book.html -o book.tsv
      miner align book.de book.fr --second hf:encoders/LaBSE -o book.tsv
      miner align minutes/de minutes/en --lines -o minutes.tsv.gz
      miner align pages/de pages/en --pairs documents.tsv -o pages.jsonl
      miner align 'web/*.de' 'web/*.en' --workers 4 --backend processes --work work -o web.tmx
    """
    from miner.alignment.align import align as align_sentences
    from miner.alignment.aligned import LADDER
    from miner.cli.progress_bars import Progress
    from miner.mining.means import load_encoder
    from miner.reports import alignment_report

    if pairs is None:
        file_pairs, alone = _paired(_files(source), _files(target))
    else:
        file_pairs, alone = list(_listed(pairs, (source, target))), []
    for path in alone:
        say(f"{path}: has no partner of its name, and is left out")
    if not file_pairs:
        raise click.UsageError("no file of SOURCE has the name of one of TARGET")
    ladder = output.endswith(LADDER)
    if ladder and (len(file_pairs) > 1 or file):
        raise click.UsageError("a ladder has all lines of one pair of documents")
    if ladder and beads.split:
        raise click.UsageError(
            "a ladder has numbers of lines, and --split makes several sentences of one"
        )
    named = {"-o": output, "the second file of -o": file}
    outputs = {**named, "--report": page}
    guard.check(
        [pairs, *(path for pair in file_pairs for path in pair)], {**outputs, "--work": work}
    )
    if not ladder:
        guard.check_suffixes(named, TABLES if file is None else ())
    guard.check_writable(outputs.values())
    if page is not None:
        alignment_report.check(page)

    def write(alignment: Aligned) -> None:
        report.close()
        alignment.write(output, file, lines=lines)
        if page is not None:
            alignment_report.write(page, alignment)

    with Progress("documents") as report:
        alignment = align_sentences(
            *zip(*file_pairs, strict=True),
            keep=keep,
            beads=replace(beads, unaligned=beads.unaligned or ladder),
            encoder=load_encoder(model, settings, USUAL if second else loading),
            second=None if second is None else load_encoder(second, settings, loading),
            second_pairs=second_pairs,
            settings=settings,
            work=work,
            beside=guard.beside(output),
            workers=workers,
            report=report,
            note=say,
            then=write,
        )
    for line in alignment.warnings:
        say(f"warning: {line}")
    say(written(alignment, output))


def written(alignment: Aligned, output: str) -> str:
    """Summarise in one line the beads written, their precision, and the sentences left out."""
    where = "standard output" if output == "-" else output
    sure = estimated(alignment.precision)
    alone = "{:,} source and {:,} target sentences without a counterpart".format(*alignment.alone)
    return f"{count_of(len(alignment), 'bead')} written to {where}{sure}; {alone}"


def _listed(path: str, folders: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the files of each pair of documents in a list: two cells, or two after a score.

    Raises CorpusError.
    """
    from miner.errors import CorpusError
    from miner.text.lines import read_lines

    for number, line in enumerate(read_lines(path), 1):
        cells = line.decode("utf-8", "surrogateescape").split("\t")
        names = cells[1:3] if len(cells) > 2 else cells
        if len(names) < 2:
            raise CorpusError(f"{path}, line {number}: no tab; a line is source, tab, target")
        yield os.path.join(folders[0], names[0]), os.path.join(folders[1], names[1])


def _files(name: str) -> list[str]:
    """Return the files of a folder or of a pattern, or a single file."""
    if Path(name).is_dir():
        return [str(path) for path in sorted(Path(name).iterdir()) if path.is_file()]
    return sharding.expanded(name)


def _paired(source: list[str], target: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Pair files by their names up to the first dot, or the only two; return unpaired ones too."""
    if len(source) == len(target) == 1:
        return [(source[0], target[0])], []
    by_name = [
        {Path(path).name.split(".")[0]: path for path in paths} for paths in (source, target)
    ]
    file_pairs = [(by_name[0][name], by_name[1][name]) for name in by_name[0] if name in by_name[1]]
    paired = {path for pair in file_pairs for path in pair}
    return file_pairs, [path for path in (*source, *target) if path not in paired]
