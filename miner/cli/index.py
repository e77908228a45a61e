"""``miner index``: encode a corpus into an index directory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miner.cli import guard, options, sharding
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, arg, opt
from miner.encoder.loading import Loading
from miner.tasks.workers import Workers
from miner.text.remote import is_remote
from miner.text_table import count_of

if TYPE_CHECKING:
    from miner.index.index import Index


@click.command(cls=Command)
@options.reading
def index(
    corpus: tuple[str, ...] = arg(nargs=-1, required=True),
    output: str = opt("Output index directory.", "-o --output", required=True, metavar="DIR"),
    model: str = options.model,
    loading: Loading = options.loading(),
    side: str | None = options.side,
    factory: str = options.factory,
    add: bool = opt("Append CORPUS to the existing index in DIR."),
    overwrite: bool = options.overwrite("an index"),
    embeddings: str | None = opt(
        "Vectors of another program, one per line: .npy, .h5, or raw float32 (float16: .f16).",
        metavar="FILE",
    ),
    dim: int | None = opt("Dimension of raw --embeddings.", type=click.IntRange(1)),
    work: str | None = sharding.work(),
    workers: Workers = sharding.with_threads,
    device: str = options.device,
    **reading: Any,
) -> None:
    """Encode the sentences of CORPUS into an index directory.

    CORPUS is one file or several, or a pattern such as 'de/*.zst', plain or compressed, or - for
    standard input. Empty lines are counted but not encoded, so that line numbers stay. The
    directory appears when everything is done. An older index there is kept unless --overwrite
    replaces it or --add appends to it.

    Examples:
      miner index news.de --model models/de-en -o work/de
      miner index part1.de.gz part2.de.gz -o work/de
      miner index de-en.training.de --format bucc -o work/de
      miner index crawl.jsonl.zst --column text -o work/crawl
      miner index more.de --add -o work/de
      miner index 'de/*.zst' --work work/tasks --backend processes -o work/de
      miner index news.de --model hf:encoders/LaBSE -o work/de-labse
      miner index news.de --embeddings laser.raw --dim 1024 -o work/de-laser
      miner index more.de --embeddings more.raw --dim 1024 --add -o work/de-laser
    """
    from miner.index.index import Index
    from miner.scoring.language_notes import SAMPLE, unread
    from miner.text.rows import spread_rows

    if embeddings and (len(corpus) != 1 or model != "default"):
        raise click.UsageError("--embeddings takes one CORPUS, and no --model")
    if add and overwrite:
        raise click.UsageError("--add appends to an index, --overwrite replaces it; give one")
    if embeddings and side:
        raise click.UsageError("--side needs a model, and --embeddings uses none")
    if dim and not embeddings:
        raise click.UsageError("--dim is the dimension of --embeddings; give --embeddings, too")
    corpus = tuple(path for pattern in corpus for path in sharding.expanded(pattern))
    guard.check([*corpus, embeddings, model], {"-o": output})
    if work is not None and (add or embeddings):
        raise click.UsageError("--work is for new indexes of text; leave out --add and the like")
    if not add:
        guard.check_directory(output, "an index", overwrite)
    if add and factory != "flat":
        raise click.UsageError("--add keeps the kind of index that is there; leave out --index")
    options.check_columns(corpus, reading["format"], reading["column"])
    files = [path if is_remote(path) else Path(path) for path in corpus]
    with ExitStack() as stack:
        report = stack.enter_context(Progress())
        if embeddings and add:
            built = Index.open(output).add_vectors(
                embeddings, corpus[0], dimension=dim, report=report, **reading
            )
        elif embeddings:
            built = Index.build_from_vectors(
                embeddings,
                corpus[0],
                output,
                dimension=dim,
                index=factory,
                report=report,
                **reading,
            )
        else:
            encoder = stack.enter_context(
                options.opened(model, workers.threads, device, side, loading)
            )
            old = 0
            if add:
                before = Index.open(output)
                old = len(before)
                built = before.add(encoder, files, report=report, **reading)
            else:
                built = Index.build(
                    encoder,
                    files,
                    output,
                    index=factory,
                    work=work,
                    workers=workers,
                    report=report,
                    note=options.say,
                    **reading,
                )
            rows = old + spread_rows(len(built) - old, SAMPLE)
            for doubt in unread(encoder, built.sentences(rows)):
                options.say(f"warning: {doubt}")
    options.say(describe(built, output))


def describe(built: Index, name: str) -> str:
    """Describe the input in one line. Its counts cover every line."""
    totals = {
        name: sum(getattr(source, name) for source in built.sources)
        for name in ("records", "empty", "undecodable", "replaced")
    }
    repeated = len(built) - built.different
    notes = {
        "empty": totals["empty"],
        "not UTF-8 and left out": totals["undecodable"],
        "with bytes replaced": totals["replaced"],
        "repeats of another": repeated,
        "without a piece that the model knows": built.different - built.distinct,
    }
    parts = [count_of(totals["records"], "line"), count_of(len(built), "sentence")]
    parts += [f"{count:,} {note}" for note, count in notes.items() if count]
    if not len(built):
        parts.append("nothing to search: the corpus has no sentence")
    return f"{name}: {', '.join(parts)}"
