"""``miner neighbors``: nearest sentences of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import options
from miner.cli.option_types import SENTENCE
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, arg, opt
from miner.encoder.loading import Loading
from miner.errors import CorpusError
from miner.option_values import SIDES
from miner.progress import Reporter
from miner.text.lines import display_name
from miner.text.output import one_line

if TYPE_CHECKING:
    from miner.knn.nearest_sentences import Block, Neighbor
    from miner.text.corpus import CorpusReader


@click.command(cls=Command)
@options.reading
def neighbors(
    corpus: str = arg(),
    sentences: tuple[str, ...] = arg(nargs=-1, required=True, metavar="SENTENCE...", type=SENTENCE),
    k: int = opt(
        "Number of neighbours to show for each SENTENCE.",
        "-k --neighbors",
        type=click.IntRange(1),
        default=10,
    ),
    side: str | None = opt(
        "Training column that CORPUS corresponds to, for a model with separate vocabularies "
        "[the index's column].",
        type=click.Choice(SIDES),
    ),
    query_side: str | None = opt(
        "Training column that the sentences correspond to [the column of CORPUS].",
        type=click.Choice(SIDES),
    ),
    model: str = options.model,
    loading: Loading = options.loading(),
    device: str = options.device,
    threads: int | None = options.threads,
    **reading: Any,
) -> None:
    """Show the sentences of CORPUS that are nearest to each SENTENCE, by cosine.

    CORPUS is a text file of any format, an index directory of the same model, or - for standard
    input. A single SENTENCE of - reads sentences from standard input, one a line; put -- before
    sentences that begin with a dash.

    Each sentence is followed by its neighbours, best first, with their cosine and line number in
    CORPUS (or id, if it has ids). Duplicates are shown once, with their number.

    Examples:
      miner neighbors news.en.gz "The train arrives at six." "He is ill."
      miner neighbors news.en.gz "Der Zug kommt um sechs an." -k 3 --model models/de-en
      miner neighbors work/en "Der Zug kommt um sechs an."
      head -20 news.de | miner neighbors de-en.test.en.xz - --format bucc
      miner neighbors news.en "Er ist krank." --model models/both --side target --query-side source
    """
    import numpy as np

    from miner.encoder.encoder import CHUNK
    from miner.encoder.open_encoder import open_encoder
    from miner.index.index import Index
    from miner.knn.nearest_sentences import index_blocks, nearest, text_blocks
    from miner.text.corpus import CorpusReader

    from_stdin = "-" in sentences
    if from_stdin and len(sentences) > 1:
        raise click.UsageError("- takes all sentences from standard input; give no others with it")
    if from_stdin and corpus == "-":
        raise click.UsageError("only one of CORPUS and SENTENCE can be standard input")
    index = Index.open(corpus) if Path(corpus).is_dir() else None
    if index is not None:
        if any(reading[name] for name in ("format", "column", "id_column", "header")):
            raise click.UsageError(
                f"{corpus} is an index; options of text files do not apply to it"
            )
        side = side or index.side
    encoder = open_encoder(model, threads, device, side, loading)
    queries = read_queries(reading["on_error"]) if from_stdin else list(map(one_line, sentences))
    vectors = encoder.on_side(query_side).encode(queries).astype(np.float16)

    reader = CorpusReader(corpus, block=CHUNK, **reading)
    if index is None:
        blocks, total = text_blocks(encoder, reader), None
    else:
        blocks, total = index_blocks(encoder, index), len(index)
    with Progress() as report:
        neighbors_of = nearest(vectors, counted(blocks, total, report), k)
    name = display_name(corpus)
    if total == 0 or (total is None and reader.lines == reader.empty + reader.undecodable):
        raise CorpusError(
            f"{name}: no sentence to compare with ({reader.empty} lines are empty, "
            f"{reader.undecodable} not UTF-8); check the corpus"
        )
    known = np.any(vectors, axis=1)
    for number, (query, near) in enumerate(zip(queries, neighbors_of, strict=True)):
        click.echo("\n".join([*([""] if number else []), query, *map(row_of, near)]))
        if not known[number]:
            say(f"{query!r}: the model knows no piece of it, so it has no neighbours")
    if np.any(known) and not any(neighbors_of):
        say(f"{name}: the model knows no piece of any of its sentences")
    note(reader)


def read_queries(on_error: str) -> list[str]:
    """Read sentences from standard input. Raises CorpusError if there are none."""
    from miner.text.corpus import CorpusReader

    reader = CorpusReader("-", format="plain", on_error=on_error)
    queries = [one_line(text) for block in reader for text in block.sentences]
    note(reader)
    if not queries:
        raise CorpusError("standard input: no sentence to look for; write one a line")
    return queries


def note(reader: CorpusReader) -> None:
    """Print the line numbers of lines that are not UTF-8."""
    for count, fate in (
        (reader.undecodable, "not UTF-8 and left out"),
        (reader.replaced, "with bytes replaced"),
    ):
        if count:
            say(f"{display_name(reader.origin)}: lines {fate}: {count}")


def counted(blocks: Iterable[Block], total: int | None, report: Reporter) -> Iterator[Block]:
    """Yield the blocks, with progress."""
    done = 0
    for block in blocks:
        yield block
        done += len(block[0])
        report("comparing", done, total)


def row_of(neighbor: Neighbor) -> str:
    """Format a neighbour as a line of the output."""
    cells = [f"{neighbor.cosine:.4f}", one_line(neighbor.name), neighbor.sentence]
    return "\t".join([*cells, *([f"{neighbor.copies} copies"] if neighbor.copies > 1 else [])])
