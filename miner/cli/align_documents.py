"""``miner align-documents``: two collections of documents to pairs that translate each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from miner.alignment.settings import BeadSettings
from miner.cli import guard, options, sharding
from miner.cli.align import written
from miner.cli.options import say
from miner.cli.settings_options import Command, Settings, arg, opt
from miner.documents.layout import DocumentFormat
from miner.encoder.loading import USUAL, Loading
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.results import estimated
from miner.tasks.workers import Workers
from miner.text.formats import TABLES
from miner.text.parquet import Parquet
from miner.text_table import count_of

if TYPE_CHECKING:
    from miner.documents.align_documents import AlignedDocuments

_keep = Settings(Keep, "keep")


@click.command(cls=Command)
def align_documents(
    source: str = arg(),
    target: str = arg(),
    output: str = options.output(
        "Output file of pairs: TSV, or in the format of .jsonl or .parquet. .gz .bz2 .xz .zst "
        "compress."
    ),
    sentences: str | None = opt(
        "Align the sentences of the kept pairs, and write them to FILE like 'miner align --lines'.",
        "--then-sentences",
        metavar="FILE",
    ),
    beads: BeadSettings = Settings(BeadSettings, "beads")(),
    model: str = options.model,
    loading: Loading = options.loading(),
    second: str | None = options.second,
    second_pairs: int | None = options.second_pairs,
    layout: DocumentFormat = Settings(DocumentFormat, "layout")(),
    keep: Keep = _keep(
        "threshold",
        "target_precision",
        "top_n",
        "estimate",
        estimate={
            "help": "Estimate precision, which compares each document once more without its "
            "partner. Scores are then probabilities on this collection."
        },
    ),
    work: str | None = sharding.work(),
    workers: Workers = sharding.options,
    settings: SearchSettings = options.search("memory", "device", "threads"),
) -> None:
    """Find which documents of the collections SOURCE and TARGET translate each other.

    Each is a folder of text files (one document each, a sentence a line), a JSONL or Parquet file
    with a document a row, or a pattern of such files. Rows of the output have the score, both ids
    and, if there are any, both URLs. By default the pairs with an estimated precision of 0.95 are
    kept. Documents with a domain are paired within it.

    Examples:
      miner align-documents web.de.jsonl.zst web.en.jsonl.zst -o documents.tsv
      miner align-documents minutes/de minutes/en --threshold 0.5 -o documents.tsv
      miner align-documents pages/de pages/en --then-sentences pages.jsonl -o documents.tsv
      miner align-documents pages/de pages/en --then-sentences pages.jsonl \
        --second hf:encoders/LaBSE -o documents.tsv
      miner align-documents 'hplt/de/*.zst' 'hplt/en/*.zst' --format jsonl --by-host -o pairs.jsonl
    """
    from miner.cli.progress_bars import Progress
    from miner.documents.align_documents import align_documents as align
    from miner.mining.means import load_encoder

    if sentences is None and beads != BeadSettings():
        raise click.UsageError("--coarse, --split and --unaligned are for --then-sentences; add it")
    sides = sharding.expanded(source), sharding.expanded(target)
    if source == target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    named = {"-o": output, "--then-sentences": sentences}
    guard.check([*sides[0], *sides[1], model], {**named, "--work": work})
    guard.check_suffixes({"-o": output}, Parquet.suffixes)
    guard.check_suffixes({"--then-sentences": sentences}, TABLES)
    guard.check_writable(named.values())

    def write(aligned: AlignedDocuments) -> None:
        report.close()
        aligned.write(output)
        for note in aligned.notes:
            say(note)
        where = "standard output" if output == "-" else output
        matched = count_of(len(aligned.all_pairs), "pair")
        sure = estimated(aligned.precision)
        say(f"{len(aligned.pairs):,} of {matched} written to {where}{sure}")
        if sentences is not None and aligned.sentences is not None:
            aligned.sentences.write(sentences, lines=True)
            for doubt in aligned.sentences.warnings:
                say(f"warning: {doubt}")
            say(written(aligned.sentences, sentences))

    with Progress("documents") as report:
        align(
            *sides,
            keep=keep,
            then_sentences=None if sentences is None else beads,
            settings=settings,
            layout=layout,
            encoder=load_encoder(model, settings, USUAL if second else loading),
            second=None if second is None else load_encoder(second, settings, loading),
            second_pairs=second_pairs,
            work=work,
            beside=guard.beside(output),
            workers=workers,
            report=report,
            note=say,
            then=write,
        )
