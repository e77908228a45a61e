"""``miner data``: list public data sets, download and convert them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Group, arg, opt
from miner.text_table import aligned, count_of

if TYPE_CHECKING:
    from miner.datasets import Dataset, File, Got

MEGABYTE = 1_000_000


@click.group(cls=Group)
def data() -> None:
    """List and download public data sets for evaluation and training.

    Examples:
      miner data list
      miner data get bucc2018 --pair de-en -o data
    """


@data.command("list")
def list_(
    name: str | None = arg(required=False),
) -> None:
    """Print a table of the known data sets, or all details of the set NAME.

    Nothing is downloaded. A size or checksum is 'unknown' where no source states it.

    Examples:
      miner data list
      miner data list bucc2018
    """
    from miner.datasets import CATALOG, find

    click.echo("\n".join(table(CATALOG.values()) if name is None else details(find(name))))


@data.command()
def get(
    names: tuple[str, ...] = arg(metavar="NAME...", nargs=-1, required=True),
    output: str = opt("Output directory.", "-o --output", required=True, metavar="DIR"),
    pairs: tuple[str, ...] = opt(
        "Only this language pair of each set that has several, e.g. de-en (for opusparcus a "
        "language); repeatable [all; large sets require a choice].",
        "--pair",
        metavar="PAIR",
    ),
    mirror: str | None = opt(
        "Mirror with the same paths: it replaces scheme and host of every address.",
        "--from",
        metavar="ADDRESS",
    ),
) -> None:
    """Download the data sets NAME... and convert them into the layout that is evaluated.

    Repeat the command to resume an interrupted download; complete files are not downloaded again.
    Downloads are kept in DIR/downloads, which may be deleted; DIR/SOURCES.json records address,
    licence and checksum of every file.

    Examples:
      miner data get bucc2018 --pair de-en -o data
      miner data get tatoeba --pair de-en --pair fr-en -o data
      miner data get sts2012 sts2013 sts2014 sts2015 sts2016 sts2017 stsb sick-r msrpc -o data
      miner data get opusparcus --pair de -o data
      miner data get tatoeba --from https://mirror.example.org/sets -o data
    """
    from miner.datasets import choose
    from miner.datasets import get as get_part

    for dataset, part in choose(names, pairs):
        with Progress() as report:
            got = get_part(
                dataset,
                part,
                output,
                mirror=mirror,
                showing=lambda name: Progress("bytes"),
                report=report,
            )
        click.echo("\n".join(summary(dataset, part, got)))


def table(datasets: Iterable[Dataset]) -> list[str]:
    """Return the lines of a table of all sets, and their notes."""
    heads = ("name", "content", "pairs", "size", "licence", "checksum")
    rows = [heads]
    notes = []
    for dataset in datasets:
        pairs = "-" if dataset.whole else " ".join(dataset.parts)
        if len(dataset.parts) > 6:
            pairs = f"{len(dataset.parts)} with en"
        files = dataset.files
        rows.append(
            (dataset.name, dataset.content, pairs, size(files), dataset.licence, checksums(files))
        )
        if dataset.note:
            notes.append(f"{dataset.name}: {dataset.note}")
    return [*aligned(rows, left=len(heads)), "", *notes, "", "Addresses: miner data list NAME"]


def details(dataset: Dataset) -> list[str]:
    """Return lines with all details of a set."""
    lines = [
        f"{dataset.name}: {dataset.content}",
        f"home      {dataset.home}",
        f"licence   {dataset.licence}",
        f"size      {size(dataset.files)}",
    ]
    if dataset.note:
        lines.append(f"note      {dataset.note}")
    for part, files in dataset.parts.items():
        lines += ["", "files" if dataset.whole else part]
        for file in files:
            known = "unknown" if file.size is None else f"{file.size:,}"
            lines += [
                f"  {file.address}",
                f"    bytes {known}, sha256 {file.sha256 or 'unknown'}",
            ]
    return lines


def size(files: Sequence[File]) -> str:
    """Return the sum of the known sizes; ">" marks a sum with unknown parts."""
    known = sum(file.size or 0 for file in files)
    if not known:
        return "unknown"
    prefix = ">" if any(file.size is None for file in files) else ""
    return f"{prefix}{known / MEGABYTE:.1f} MB"


def checksums(files: Sequence[File]) -> str:
    """Return how many of the checksums are known."""
    known = sum(file.sha256 is not None for file in files)
    if known in (0, len(files)):
        return "known" if known else "unknown"
    return f"{known} of {len(files)}"


def summary(dataset: Dataset, part: str, got: Got) -> list[str]:
    """Return lines about a part: each download with its checksum, each file with its rows."""
    title = dataset.name if dataset.whole else f"{dataset.name} {part}"
    lines = [f"{title}: licence {dataset.licence}" + ("" if got.new else ", already there")]
    for source in got.files:
        verified = "checksum verified"
        if not source["verified"]:
            verified = f"no checksum is known; SHA-256 {source['sha256']}"
        lines.append(f"  {source['address']}: {source['bytes']:,} bytes, {verified}")
    for path, rows in sorted(got.converted.written.items()):
        lines.append(f"  {path}: {count_of(rows, 'row')}")
        for reason, count in got.converted.left_out.get(path, {}).items():
            lines.append(f"    left out, {reason}: {count:,}")
    return lines
