"""``miner align``: two documents, or two sets of them, to pairs of sentences in their order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from miner.cli import guard, options, sharding
from miner.cli.options import say
from miner.cli.settings_options import Command, Settings
from miner.encoder.loading import Loading
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.tasks.workers import Workers

_search = Settings(SearchSettings, "settings")
_keep = Settings(Keep, "keep")


@click.command(cls=Command)
@click.argument("source")
@click.argument("target")
@click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    show_default="standard output",
    help="Pairs as TSV: probability, source, target. .ladder has lines [0, 1]:[2] of line numbers, "
    "unaligned lines included. .gz .bz2 .xz .zst compress.",
)
@click.option("--lines", is_flag=True, help="Add both documents and line numbers, from 0.")
@click.option("--unaligned", is_flag=True, help="Write sentences without a counterpart, too.")
@_keep(
    "threshold",
    "target_precision",
    threshold={"help": "Keep beads of at least this probability."},
    target_precision={"help": "Keep as many beads as have this estimated precision."},
)
@options.model
@options.loading()
@options.languages()
@click.option(
    "--coarse",
    is_flag=True,
    help="Compare by vectors and lengths alone: a tenth of the time, and less exact.",
)
@sharding.work()
@sharding.options
@_search("memory", "device", "threads")
def align(
    source: str,
    target: str,
    output: str,
    lines: bool,
    unaligned: bool,
    keep: Keep,
    model: str,
    loading: Loading,
    languages: tuple[str | None, str | None],
    coarse: bool,
    work: str | None,
    workers: Workers,
    settings: SearchSettings,
) -> None:
    """Align the sentences of the documents SOURCE and TARGET, in their order.

    Both have a sentence a line. Up to six sentences make a bead with up to six others. SOURCE and
    TARGET may be folders or patterns, whose files are paired by their names up to the first dot.
    The probability of a bead needs no gold standard; its mean over the beads kept is their
    estimated precision. Without --threshold and --target-precision all beads are kept.

    Examples:
      miner align book.de book.fr -o book.tsv
      miner align book.de book.fr -o book.ladder
      miner align minutes/de minutes/en --lines --target-precision 0.95 -o minutes.tsv.gz
      miner align 'web/*.de' 'web/*.en' --workers 4 --backend processes --work work -o web.tsv
    """
    from miner.alignment.align import Aligned
    from miner.alignment.align import align as align_sentences
    from miner.cli.progress_bars import Progress
    from miner.mining.mine import load_encoder

    both, alone = _paired(_files(source), _files(target))
    for path in alone:
        say(f"{path}: has no partner of its name, and is left out")
    if not both:
        raise click.UsageError("no file of SOURCE has the name of one of TARGET")
    ladder = output.endswith(".ladder")
    if ladder and (len(both) > 1 or keep.threshold is not None or keep.target_precision):
        raise click.UsageError("a ladder has all beads of one pair of documents")
    guard.check([path for pair in both for path in pair], {"-o": output, "--work": work})
    guard.check_writable([output])
    settings = replace(settings, languages=languages)

    def write(found: Aligned) -> None:
        report.close()
        found.write(output, lines=lines, unaligned=unaligned)

    with Progress("documents") as report:
        found = align_sentences(
            *zip(*both, strict=True),
            encoder=load_encoder(model, settings, loading),
            settings=settings,
            threshold=keep.threshold,
            target_precision=keep.target_precision,
            coarse=coarse,
            work=work,
            beside=None if output == "-" else output,
            workers=workers,
            report=report,
            note=say,
            then=write,
        )
    for line in found.notes:
        say(f"warning: {line}")
    where = "standard output" if output == "-" else output
    line = f"{len(found):,} beads written to {where}"
    if found.precision is not None:
        line += f", estimated precision {found.precision:.3f}"
    say(line)


def _files(name: str) -> list[str]:
    """List the files of a folder or of a pattern, or the one file."""
    if Path(name).is_dir():
        return [str(path) for path in sorted(Path(name).iterdir()) if path.is_file()]
    return sharding.expanded(name)


def _paired(source: list[str], target: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Pair files by their names up to the first dot, or the only two; return also those alone."""
    if len(source) == len(target) == 1:
        return [(source[0], target[0])], []
    by_name = [{Path(path).name.split(".")[0]: path for path in own} for own in (source, target)]
    both = [(by_name[0][name], by_name[1][name]) for name in by_name[0] if name in by_name[1]]
    paired = {path for pair in both for path in pair}
    return both, [path for path in (*source, *target) if path not in paired]
