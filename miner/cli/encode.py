"""``miner encode``: encode a corpus into a file of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import guard, options, sharding
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, arg, opt
from miner.encoder.loading import Loading
from miner.tasks.workers import Workers
from miner.text_table import count_of

if TYPE_CHECKING:
    from miner.index.vectors import Encoded


@click.command(cls=Command)
@options.reading
def encode(
    corpus: tuple[str, ...] = arg(nargs=-1, required=True),
    output: str = opt(
        ".npy, or .h5 (HDF5, dataset 'embeddings').",
        "-o --output",
        required=True,
        metavar="FILE",
    ),
    model: str = options.model,
    loading: Loading = options.loading(),
    side: str | None = options.side,
    dtype: str = opt(
        "Type of the vectors; an index keeps float16.",
        type=click.Choice(["float16", "float32"]),
        default="float16",
    ),
    work: str | None = sharding.work(),
    workers: Workers = sharding.with_threads,
    device: str = options.device,
    **reading: Any,
) -> None:
    """Encode CORPUS into a file of unit vectors, one per line.

    CORPUS is one file or several, or a pattern such as 'de/*.zst', plain or compressed, or - for
    standard input. Row i belongs to line i, not counting a header. Empty and skipped lines have
    rows of zeros. The file appears when everything is done.

    Examples:
      miner encode news.de -o news.de.npy
      miner encode part1.de.gz part2.de.gz --model models/de-en -o de.h5
      miner encode crawl.jsonl.zst --column text --dtype float32 -o crawl.h5
      miner encode 'de/*.zst' --work work/tasks --backend processes -o de.npy
      zcat news.de.gz | miner encode - -o news.de.npy
      miner index news.de --embeddings news.de.npy -o work/de
    """
    import numpy as np

    from miner.index.build import encode_files
    from miner.index.vectors import SUFFIXES

    if Path(output).suffix not in SUFFIXES:
        raise click.UsageError(f"-o {output}: its suffix must be one of {', '.join(SUFFIXES)}")
    corpus = tuple(path for pattern in corpus for path in sharding.expanded(pattern))
    guard.check([*corpus, model], {"-o": output})
    guard.check_writable([output])
    with (
        options.opened(model, workers.threads, device, side, loading) as encoder,
        Progress() as report,
    ):
        encoded = encode_files(
            encoder,
            corpus,
            output,
            dtype=np.dtype(dtype),
            work=work,
            workers=workers,
            report=report,
            note=options.say,
            **reading,
        )
    options.say(describe(encoded, encoder.dimension, output))


def describe(encoded: Encoded, dimension: int, name: str) -> str:
    """Describe the output in one line. Its counts cover every line of the input."""
    notes = {
        "empty": encoded.empty,
        "not UTF-8 and left out": encoded.undecodable,
        "with bytes replaced": encoded.replaced,
        "without a piece that the model knows": encoded.unknown,
    }
    parts = [f"{count_of(encoded.records, 'vector')} of {dimension} dimensions"]
    parts += [f"{count} {note}" for note, count in notes.items() if count]
    return f"{name}: {', '.join(parts)}"
